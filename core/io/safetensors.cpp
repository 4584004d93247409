#include "core/io/safetensors.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <string_view>

#include "core/io/elements.h"
#include "core/io/file.h"
#include "core/io/json.h"
#include "core/ops/creation.gen.h"
#include "core/runtime/context.h"

namespace dt {
namespace {

constexpr int64_t kMaxHeader = 100 << 20;  // the reference implementation's limit
constexpr int64_t kHeaderAlignment = 8;

struct Entry {
  std::string name;
  std::string dtype;
  Dims sizes;
  int64_t begin = -1, end = -1;  // in the data
};

void append_entry(std::string& header, const std::string& name, const Tensor& x, int64_t begin) {
  std::string shape = text(x.sizes());
  shape.erase(std::remove(shape.begin(), shape.end(), ' '), shape.end());
  append(header, text(header.size() > 1 ? "," : "", json_quote(name), ":{\"dtype\":\"",
                      info(x.dtype()).safetensors, "\",\"shape\":", shape, ",\"data_offsets\":[",
                      begin, ",", begin + bytes_of(x), "]}"));
}

Dims read_shape(JsonReader& json) {
  Dims sizes;
  json.expect('[');
  if (json.accept(']')) return sizes;
  do {
    sizes.push_back(json.integer());
  } while (json.accept(','));
  json.expect(']');
  return sizes;
}

Entry read_entry(JsonReader& json, std::string name) {
  Entry e;
  e.name = std::move(name);
  bool has_shape = false;
  json.expect('{');
  do {
    const std::string key = json.string();
    json.expect(':');
    if (key == "dtype") {
      e.dtype = json.string();
    } else if (key == "shape") {
      e.sizes = read_shape(json);
      has_shape = true;
    } else if (key == "data_offsets") {
      json.expect('[');
      e.begin = json.integer();
      json.expect(',');
      e.end = json.integer();
      json.expect(']');
    } else {
      fail(Code::kIo, "tensor '", e.name, "' has an unknown field '", key, "'");
    }
  } while (json.accept(','));
  json.expect('}');
  DT_CHECK(!e.dtype.empty() && has_shape && e.begin >= 0, kIo, "tensor '", e.name,
           "' lacks its dtype, shape or data_offsets");
  return e;
}

void skip_metadata(JsonReader& json) {
  json.expect('{');
  if (json.accept('}')) return;
  do {
    json.string();
    json.expect(':');
    json.string();
  } while (json.accept(','));
  json.expect('}');
}

std::vector<Entry> read_header(std::string_view text_of_header) {
  JsonReader json(text_of_header);
  std::vector<Entry> entries;
  std::set<std::string> seen;
  json.expect('{');
  if (!json.accept('}')) {
    do {
      std::string name = json.string();
      json.expect(':');
      DT_CHECK(seen.insert(name).second, kIo, "the name '", name, "' appears twice");
      check_name(name);
      if (name == "__metadata__")
        skip_metadata(json);
      else
        entries.push_back(read_entry(json, std::move(name)));
    } while (json.accept(','));
    json.expect('}');
  }
  json.end();
  return entries;
}

DType dtype_named(const Entry& e) {
  for (int i = 1; i < kDTypeCount; ++i) {
    if (e.dtype == kDTypes[i].safetensors) return static_cast<DType>(i);
  }
  fail(Code::kNotImplemented, "tensor '", e.name, "' has dtype ", e.dtype,
       ", which is not supported");
}

// The byte ranges must fit the shapes and cover the data without gaps or overlaps.
void check_entries(const std::vector<Entry>& entries, int64_t data_bytes) {
  std::vector<const Entry*> by_place;
  for (const Entry& e : entries) by_place.push_back(&e);
  std::sort(by_place.begin(), by_place.end(), [](const Entry* a, const Entry* b) {
    return std::pair(a->begin, a->end) < std::pair(b->begin, b->end);
  });
  int64_t next = 0;
  for (const Entry* e : by_place) {
    int64_t bytes;
    const bool overflow =
        __builtin_mul_overflow(count_elements(e->sizes), info(dtype_named(*e)).bytes, &bytes);
    DT_CHECK(e->begin == next && e->end >= e->begin && e->end <= data_bytes, kIo, "tensor '",
             e->name, "' claims bytes ", e->begin, " to ", e->end, " of ", data_bytes,
             ", but the next free byte is ", next);
    DT_CHECK(!overflow && e->end - e->begin == bytes, kIo, "tensor '", e->name, "' has ",
             e->end - e->begin, " bytes, which does not fit its shape ", e->sizes, " of ",
             e->dtype);
    next = e->end;
  }
  DT_CHECK(next == data_bytes, kIo, "the file has ", data_bytes - next,
           " bytes that belong to no tensor");
}

struct Contents {
  std::vector<Entry> entries;
  int64_t data_at = 0;  // where the first tensor's bytes are
};

Contents read_contents(Input& file) {
  uint64_t length = 0;
  file.read(0, &length, sizeof length);
  const int64_t room = file.size() - static_cast<int64_t>(sizeof length);
  DT_CHECK(length <= static_cast<uint64_t>(kMaxHeader) && static_cast<int64_t>(length) <= room, kIo,
           file.name(), " is no safetensors file: its header would have ", length, " bytes of ",
           room);
  const std::string header = file.read_text(sizeof length, static_cast<int64_t>(length));
  Contents contents{read_header(header), static_cast<int64_t>(sizeof length + length)};
  check_entries(contents.entries, room - static_cast<int64_t>(length));
  return contents;
}

std::vector<std::string> names_of(const std::vector<Entry>& entries) {
  std::vector<std::string> names;
  for (const Entry& e : entries) names.push_back(e.name);
  return names;
}

// The entries of these names, in their order.
std::vector<Entry> chosen(const std::vector<Entry>& entries, const std::vector<std::string>& names,
                          const std::string& what) {
  std::map<std::string_view, const Entry*> by_name;
  for (const Entry& e : entries) by_name[e.name] = &e;
  std::vector<Entry> out;
  for (const std::string& name : names) {
    const auto found = by_name.find(name);
    DT_CHECK(found != by_name.end(), kIndexError, what, " does not contain tensor '", name, "'");
    out.push_back(*found->second);
  }
  return out;
}

std::vector<Tensor> read_tensors(Input& file, const std::vector<Entry>& entries, int64_t data_at,
                                 const Progress& progress) {
  int64_t total = 0;
  for (const Entry& e : entries) total += e.end - e.begin;
  Meter meter(progress, total);
  std::vector<Tensor> tensors;
  for (const Entry& e : entries) {
    const Tensor x = make_empty(e.sizes, dtype_named(e), kCpu);
    meter.run(e.end - e.begin, [&](int64_t at, int64_t n) {
      file.read(data_at + e.begin + at, static_cast<char*>(x.data()) + at, n);
    });
    check_bools(x, e.name);
    tensors.push_back(x);
  }
  return tensors;
}

// Widest elements first, so that each tensor is aligned; then by name, so that equal content makes
// equal files.
std::vector<size_t> order_in_file(const std::vector<std::string>& names, TensorList tensors) {
  std::vector<size_t> order(names.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const int64_t wa = tensors[a].item_bytes(), wb = tensors[b].item_bytes();
    return wa != wb ? wa > wb : names[a] < names[b];
  });
  return order;
}

}  // namespace

void save_safetensors(const std::string& path, const std::vector<std::string>& names,
                      TensorList given, const Progress& progress) {
  DT_CHECK(static_cast<int64_t>(names.size()) == given.size(), kValueError, "got ", names.size(),
           " names and ", given.size(), " tensors");
  // The progress function may give a tensor other data, which the header would not describe.
  std::vector<Tensor> tensors;
  for (const Tensor& x : given) tensors.push_back(x.detach());
  const std::vector<size_t> order = order_in_file(names, tensors);
  std::string header = "{";
  std::set<std::string> seen;
  int64_t offset = 0;
  for (size_t i : order) {
    DT_CHECK(seen.insert(names[i]).second, kValueError, "the name '", names[i], "' appears twice");
    DT_CHECK(is_utf8(names[i]), kValueError, "the name of a tensor is no text in UTF-8");
    DT_CHECK(names[i] != "__metadata__", kValueError,
             "'__metadata__' cannot be the name of a tensor");
    append_entry(header, names[i], tensors[i], offset);
    offset += bytes_of(tensors[i]);
  }
  header += '}';
  header.append((kHeaderAlignment - header.size() % kHeaderAlignment) % kHeaderAlignment, ' ');
  const uint64_t length = header.size();

  AtomicFile file(path);
  file.write(&length, sizeof length);
  file.write(header.data(), static_cast<int64_t>(header.size()));
  Meter meter(progress, offset);
  for (size_t i : order) {
    const Tensor x = plain(tensors[i]);
    meter.run(bytes_of(x), [&](int64_t at, int64_t n) {
      file.write(static_cast<const char*>(x.data()) + at, n);
    });
  }
  file.commit();
}

std::tuple<std::vector<std::string>, std::vector<Tensor>> load_safetensors(
    const std::string& path, const std::optional<std::vector<std::string>>& only,
    const Progress& progress) {
  InputFile file(path);
  Contents contents = read_contents(file);
  if (only) contents.entries = chosen(contents.entries, *only, file.name());
  return {names_of(contents.entries),
          read_tensors(file, contents.entries, contents.data_at, progress)};
}

std::vector<std::string> safetensors_names(const std::string& path) {
  InputFile file(path);
  return names_of(read_contents(file).entries);
}

std::tuple<std::vector<std::string>, std::vector<Tensor>> load_safetensors_bytes(Bytes data) {
  InputMemory memory(data);
  const Contents contents = read_contents(memory);
  return {names_of(contents.entries),
          read_tensors(memory, contents.entries, contents.data_at, nullptr)};
}

}  // namespace dt
