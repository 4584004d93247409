#include "core/io/gzip.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/io/zlib.h"

namespace dt {

InputStream::InputStream(const std::string& path) : path_(path), file_(path) {
  uint8_t magic[2] = {};
  if (file_.size() >= 2) file_.read(0, magic, 2);
  if (magic[0] != 0x1F || magic[1] != 0x8B) return;
  zipped_ = zlib().open(path.c_str(), "rb");
  DT_CHECK(zipped_, kIo, "cannot open '", path, "'");
}

InputStream::~InputStream() {
  if (zipped_) zlib().close(zipped_);
}

int64_t InputStream::read_some(void* to, int64_t n) {
  if (!zipped_) {
    n = std::min(n, file_.size() - offset_);
    file_.read(offset_, to, n);
    offset_ += n;
    return n;
  }
  const int got = zlib().read(zipped_, to, static_cast<unsigned>(n));
  int error = 0;
  if (got <= 0) zlib().error(zipped_, &error);  // also says that the end came too early
  DT_CHECK(got >= 0 && error == 0, kIo, "'", path_, "' is a damaged gzip file");
  return got;
}

std::vector<uint8_t> InputStream::read(int64_t n) {
  constexpr int64_t kChunk = 1 << 20;
  std::vector<uint8_t> content;
  int64_t size = 0;
  while (size < n) {
    const int64_t wanted = std::min(kChunk, n - size);
    content.resize(static_cast<size_t>(size + wanted));
    const int64_t got = read_some(content.data() + size, wanted);
    size += got;
    content.resize(static_cast<size_t>(size));
    if (got == 0) break;
  }
  return content;
}

}  // namespace dt
