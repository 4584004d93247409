#include "core/io/npy.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "core/io/crc32.h"
#include "core/io/elements.h"
#include "core/io/json.h"
#include "core/io/zip.h"

namespace dt {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr int64_t kElementsAlignment = 64;
constexpr int64_t kMaxNpyHeader = 10 << 20;  // NumPy's own limit is lower
constexpr std::string_view kEnding = ".npy";

// NumPy's letter for a dtype: "f4" is float32.
std::string code_of(DType t) {
  DT_CHECK(info(t).dlpack_code != 4, kNotImplemented, "NumPy has no dtype ", t);
  const char kind = is_bool(t) ? 'b' : is_floating(t) ? 'f' : info(t).dlpack_code == 1 ? 'u' : 'i';
  return text(kind, info(t).bytes);
}

std::string header_of(const Tensor& x) {
  std::string shape = "(";
  for (int d = 0; d < x.ndim(); ++d) append(shape, text(d ? ", " : "", x.size(d)));
  if (x.ndim() == 1) shape += ',';
  const char order = x.item_bytes() == 1 ? '|' : '<';
  std::string header = text("{'descr': '", order, code_of(x.dtype()),
                            "', 'fortran_order': False, 'shape': ", shape, "), }");
  constexpr int64_t kBefore = 10;  // the magic number, the version and the header's length
  const auto n = static_cast<int64_t>(header.size());
  header.append(
      static_cast<size_t>((2 * kElementsAlignment - (kBefore + n + 1) % kElementsAlignment) %
                          kElementsAlignment),
      ' ');
  header += '\n';
  const auto length = static_cast<uint16_t>(header.size());
  std::string start(kMagic);
  start += std::string("\1\0", 2);
  start.append(reinterpret_cast<const char*>(&length), sizeof length);
  return start + header;
}

// What a header says.
struct Header {
  std::string descr;
  std::optional<bool> fortran_order;
  std::optional<Dims> shape;
  int64_t data_at = 0;
};

// The part of Python that headers are written in: a dict of strings, truth values and tuples.
class HeaderReader {
 public:
  HeaderReader(std::string_view text, const std::string& what) : text_(text), what_(what) {}

  Header read() {
    Header h;
    expect('{');
    while (!accept('}')) {
      const std::string key = string();
      expect(':');
      if (key == "descr") {
        h.descr = string();
      } else if (key == "fortran_order") {
        h.fortran_order = truth();
      } else if (key == "shape") {
        h.shape = shape();
      } else {
        refuse();
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    peek();
    if (at_ < text_.size() || h.descr.empty() || !h.shape || !h.fortran_order) refuse();
    return h;
  }

 private:
  [[noreturn]] void refuse() const {
    fail(Code::kIo, what_, " has a header that is not NumPy's (at byte ", at_, ")");
  }
  char peek() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char c) {
    if (peek() != c || at_ >= text_.size()) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) refuse();
  }
  std::string string() {
    // A list here is the dtype of a structured array.
    DT_CHECK(peek() != '[', kNotImplemented, what_, " has elements of several parts");
    const char quote = accept('"') ? '"' : '\'';
    if (quote == '\'') expect('\'');
    const size_t end = text_.find(quote, at_);
    if (end == std::string_view::npos) refuse();
    std::string s(text_.substr(at_, end - at_));
    at_ = end + 1;
    return s;
  }
  bool truth() {
    peek();
    for (const std::string_view word : {"True", "False"}) {
      if (text_.substr(at_, word.size()) != word) continue;
      at_ += word.size();
      return word == "True";
    }
    refuse();
  }
  int64_t integer() {
    if (peek() < '0' || peek() > '9') refuse();
    int64_t value = 0;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
      if (__builtin_mul_overflow(value, 10, &value) ||
          __builtin_add_overflow(value, text_[at_] - '0', &value))
        refuse();
    }
    accept('L');  // Python 2's long
    return value;
  }
  Dims shape() {
    Dims sizes;
    expect('(');
    while (!accept(')')) {
      sizes.push_back(integer());
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return sizes;
  }

  std::string_view text_;
  const std::string& what_;
  size_t at_ = 0;
};

Header read_header(Input& file, const std::string& what) {
  constexpr int64_t kStart = 8;
  const std::string start = file.read_text(0, std::min(file.size(), kStart));
  DT_CHECK(start.size() == kStart && start.compare(0, kMagic.size(), kMagic) == 0, kIo, what,
           " is no .npy file");
  const int major = start[6];
  DT_CHECK(major >= 1 && major <= 3, kIo, what, " is an .npy file of version ", major);
  uint32_t length = 0;
  const int64_t length_bytes = major == 1 ? 2 : 4;
  file.read(kStart, &length, length_bytes);
  DT_CHECK(length <= kMaxNpyHeader, kIo, what, " has a header of ", length, " bytes");
  const std::string words = file.read_text(kStart + length_bytes, length);
  Header h = HeaderReader(words, what).read();
  h.data_at = kStart + length_bytes + length;
  return h;
}

DType dtype_of(const Header& h, const std::string& what) {
  std::string_view code = h.descr;
  if (std::string_view("<>=|").find(code[0]) != std::string_view::npos) code.remove_prefix(1);
  DT_CHECK(code.substr(0, 1) != "O", kValueError, what,
           ": Object arrays cannot be loaded when allow_pickle=False");
  for (int i = 1; i < kDTypeCount; ++i) {
    const auto t = static_cast<DType>(i);
    if (info(t).dlpack_code != 4 && code == code_of(t)) return t;
  }
  fail(Code::kNotImplemented, what, " has dtype ", h.descr, ", which is not supported");
}

void swap_bytes(const Tensor& x) {
  auto* p = x.data_as<uint8_t>();
  const int64_t width = x.item_bytes();
  for (int64_t i = 0; i < x.numel(); ++i) std::reverse(p + i * width, p + (i + 1) * width);
}

Dims fortran_strides(const Dims& sizes) {
  Dims strides = sizes;
  int64_t step = 1;
  for (int d = 0; d < sizes.size(); ++d) {
    strides[d] = step;
    step *= std::max<int64_t>(sizes[d], 1);
  }
  return strides;
}

Tensor read_array(Input& file, const std::string& what) {
  const Header h = read_header(file, what);
  const DType dtype = dtype_of(h, what);
  int64_t bytes = 0;
  const bool overflow = __builtin_mul_overflow(count_elements(*h.shape), info(dtype).bytes, &bytes);
  DT_CHECK(!overflow && bytes == file.size() - h.data_at, kIo, what, " should have elements of ",
           dtype, " for the shape ", *h.shape, ", but has ", file.size() - h.data_at, " bytes");
  const Tensor x = *h.fortran_order && bytes > 0
                       ? make_empty_strided(*h.shape, fortran_strides(*h.shape), dtype, kCpu)
                       : make_empty(*h.shape, dtype, kCpu);
  file.read(h.data_at, x.data(), bytes);
  if (h.descr[0] == '>') swap_bytes(x);
  check_bools(x, what);
  return x;
}

}  // namespace

void save_npy(const std::string& path, const Tensor& given) {
  const Tensor x = plain(given.detach());
  const std::string header = header_of(x);
  AtomicFile file(path);
  file.write(header.data(), static_cast<int64_t>(header.size()));
  file.write(x.data(), bytes_of(x));
  file.commit();
}

Tensor load_npy(const std::string& path) {
  InputFile file(path);
  return read_array(file, file.name());
}

void save_npz(const std::string& path, const std::vector<std::string>& names, TensorList tensors) {
  DT_CHECK(static_cast<int64_t>(names.size()) == tensors.size(), kValueError, "got ", names.size(),
           " names and ", tensors.size(), " tensors");
  AtomicFile file(path);
  ZipWriter zip(file);
  std::set<std::string> seen;
  for (size_t i = 0; i < names.size(); ++i) {
    DT_CHECK(seen.insert(names[i]).second, kValueError, "the name '", names[i], "' appears twice");
    DT_CHECK(is_utf8(names[i]), kValueError, "the name of a tensor is no text in UTF-8");
    const Tensor x = plain(tensors[static_cast<int64_t>(i)].detach());
    const std::string header = header_of(x);
    const auto header_bytes = static_cast<int64_t>(header.size());
    const uint32_t crc = crc32(crc32(0, header.data(), header_bytes), x.data(), bytes_of(x));
    zip.begin(text(names[i], kEnding), header_bytes + bytes_of(x), crc);
    zip.write(header.data(), header_bytes);
    zip.write(x.data(), bytes_of(x));
  }
  zip.finish();
  file.commit();
}

std::tuple<std::vector<std::string>, std::vector<Tensor>> load_npz(
    const std::string& path, const std::optional<std::vector<std::string>>& only) {
  InputFile file(path);
  const ZipReader zip(file);
  std::vector<std::string> names;
  if (only) names = *only;
  for (const ZipRecord& r : zip.records()) {
    const size_t n = r.name.size() - std::min(r.name.size(), kEnding.size());
    const bool is_array = r.name.compare(n, std::string::npos, kEnding) == 0;
    if (!only) names.push_back(is_array ? r.name.substr(0, n) : r.name);
  }
  std::vector<Tensor> tensors;
  for (const std::string& name : names) {
    const ZipRecord* r = zip.find(text(name, kEnding));
    if (!r) r = zip.find(name);
    DT_CHECK(r, kIndexError, file.name(), " does not contain array '", name, "'");
    const std::string content = zip.read_text(*r);
    InputMemory memory({content.data(), r->size});
    tensors.push_back(read_array(memory, text("'", name, "' of ", file.name())));
  }
  return {std::move(names), std::move(tensors)};
}

}  // namespace dt
