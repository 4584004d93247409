#include "core/data/idx.h"

#include <cstring>

#include "core/io/gzip.h"

namespace dt {
namespace {

constexpr int64_t kMaxBytes = int64_t{1} << 36;

DType dtype_of_code(uint8_t code, const std::string& path) {
  switch (code) {
    case 0x08:
      return kDTypeOf<uint8_t>;
    case 0x09:
      return kDTypeOf<int8_t>;
    case 0x0B:
      return kDTypeOf<int16_t>;
    case 0x0C:
      return kDTypeOf<int32_t>;
    case 0x0D:
      return kDTypeOf<float>;
    case 0x0E:
      return kDTypeOf<double>;
    default:
      fail(Code::kIo, "'", path, "' has IDX element type ", int(code), ", which is not supported");
  }
}

int64_t big_endian32(const uint8_t* p) {
  return int64_t{p[0]} << 24 | int64_t{p[1]} << 16 | int64_t{p[2]} << 8 | int64_t{p[3]};
}

void copy_big_endian(uint8_t* to, const uint8_t* from, int64_t n, int width) {
  if (width == 1) {
    std::memcpy(to, from, static_cast<size_t>(n));
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    for (int b = 0; b < width; ++b) to[i * width + b] = from[i * width + width - 1 - b];
  }
}

}  // namespace

Tensor read_idx(const std::string& path) {
  InputStream file(path);
  const std::vector<uint8_t> magic = file.read(4);
  DT_CHECK(magic.size() == 4 && magic[0] == 0 && magic[1] == 0, kIo, "'", path, "' is no IDX file");
  const DType dtype = dtype_of_code(magic[2], path);
  const int ndim = magic[3];
  const std::vector<uint8_t> shape = file.read(4 * ndim);
  DT_CHECK(ndim <= DT_MAX_DIMS && shape.size() == size_t(4 * ndim), kIo, "'", path,
           "' is no IDX file: it claims ", ndim, " dimensions and has the sizes of ",
           shape.size() / 4);
  Dims sizes;
  int64_t bytes = info(dtype).bytes;
  for (int d = 0; d < ndim; ++d) {
    sizes.push_back(big_endian32(&shape[4 * d]));
    const bool overflow = __builtin_mul_overflow(bytes, sizes[d], &bytes);
    DT_CHECK(!overflow && bytes <= kMaxBytes, kIo, "'", path, "' claims an impossible shape ",
             sizes);
  }
  const std::vector<uint8_t> content = file.read(bytes + 1);  // one more, to see that there is none
  const auto found = static_cast<int64_t>(content.size());
  DT_CHECK(found == bytes, kIo, "'", path, "' should have ", bytes,
           " bytes of elements for its shape ", sizes, ", but has ",
           found > bytes ? text("more") : text(found));
  const Tensor x = make_empty(sizes, dtype, kCpu);
  copy_big_endian(x.data_as<uint8_t>(), content.data(), x.numel(), info(dtype).bytes);
  return x;
}

}  // namespace dt
