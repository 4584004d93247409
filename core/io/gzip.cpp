#include "core/io/gzip.h"

#include <dlfcn.h>

#include "core/base/error.h"
#include "core/io/file.h"

namespace dt {
namespace {

// The part of zlib's gzFile interface (zlib.h) that is needed. It is opened at run time so that the
// library depends on nothing for those who read no compressed files.
struct Zlib {
  void* (*open)(const char* path, const char* mode) = nullptr;
  int (*read)(void* file, void* buffer, unsigned length) = nullptr;
  int (*close)(void* file) = nullptr;
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
    if (!open || !read || !close) missing = "libz.so.1 lacks gzopen, gzread or gzclose";
  }
};

const Zlib& zlib() {
  static const Zlib& z = *new Zlib;
  DT_CHECK(z.missing.empty(), kIo, "gzip files need zlib: ", z.missing);
  return z;
}

std::vector<uint8_t> inflate_file(const std::string& path, int64_t limit) {
  const Zlib& z = zlib();
  void* file = z.open(path.c_str(), "rb");
  DT_CHECK(file, kIo, "cannot open '", path, "'");
  struct Closer {
    const Zlib& z;
    void* file;
    ~Closer() { z.close(file); }
  } closer{z, file};
  std::vector<uint8_t> content;
  constexpr unsigned kChunk = 1 << 18;
  for (;;) {
    const size_t before = content.size();
    content.resize(before + kChunk);
    const int got = z.read(file, content.data() + before, kChunk);
    DT_CHECK(got >= 0, kIo, "'", path, "' is a damaged gzip file");
    content.resize(before + static_cast<size_t>(got));
    DT_CHECK(static_cast<int64_t>(content.size()) <= limit, kIo, "'", path, "' has more than ",
             limit, " bytes");
    if (got == 0) return content;
  }
}

}  // namespace

std::vector<uint8_t> read_maybe_gzip(const std::string& path, int64_t limit) {
  InputFile file(path);
  uint8_t magic[2] = {};
  if (file.size() >= 2) file.read(0, magic, 2);
  if (magic[0] == 0x1F && magic[1] == 0x8B) return inflate_file(path, limit);
  DT_CHECK(file.size() <= limit, kIo, "'", path, "' has more than ", limit, " bytes");
  std::vector<uint8_t> content(static_cast<size_t>(file.size()));
  file.read(0, content.data(), file.size());
  return content;
}

}  // namespace dt
