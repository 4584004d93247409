#include "core/io/gzip.h"

#include <dlfcn.h>

#include <algorithm>

#include "core/base/error.h"

namespace dt {
namespace {

// The part of zlib's gzFile interface (zlib.h) that is needed. It is opened at run time so that the
// library depends on nothing for those who read no compressed files.
struct Zlib {
  void* (*open)(const char* path, const char* mode) = nullptr;
  int (*read)(void* file, void* buffer, unsigned length) = nullptr;
  int (*close)(void* file) = nullptr;
  const char* (*error)(void* file, int* code) = nullptr;
  std::string missing;

  Zlib() {
    void* library = dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      missing = dlerror();
      return;
    }
    open = reinterpret_cast<decltype(open)>(dlsym(library, "gzopen"));
    read = reinterpret_cast<decltype(read)>(dlsym(library, "gzread"));
    close = reinterpret_cast<decltype(close)>(dlsym(library, "gzclose"));
    error = reinterpret_cast<decltype(error)>(dlsym(library, "gzerror"));
    if (!open || !read || !close || !error) missing = "libz.so.1 lacks one of the gz functions";
  }
};

const Zlib& zlib() {
  static const Zlib& z = *new Zlib;
  DT_CHECK(z.missing.empty(), kIo, "gzip files need zlib: ", z.missing);
  return z;
}

}  // namespace

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
