#include "core/io/zlib.h"

#include <dlfcn.h>

#include <algorithm>
#include <climits>

#include "core/base/error.h"

namespace dt {

// As zlib.h has had it since 1995; inflateInit2_ checks the size.
struct ZStream {
  const uint8_t* next_in = nullptr;
  unsigned avail_in = 0;
  unsigned long total_in = 0;
  uint8_t* next_out = nullptr;
  unsigned avail_out = 0;
  unsigned long total_out = 0;
  const char* message = nullptr;
  void* state = nullptr;
  void* (*allocate)(void*, unsigned, unsigned) = nullptr;
  void (*release)(void*, void*) = nullptr;
  void* opaque = nullptr;
  int data_type = 0;
  unsigned long adler = 0, reserved = 0;
};

Zlib::Zlib() {
  void* library = dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    missing = dlerror();
    return;
  }
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    if (!function) missing = text("libz.so.1 lacks ", name);
  };
  find(open, "gzopen");
  find(read, "gzread");
  find(close, "gzclose");
  find(error, "gzerror");
  find(inflate_init, "inflateInit2_");
  find(inflate, "inflate");
  find(inflate_end, "inflateEnd");
}

const Zlib& zlib() {
  static const Zlib& z = *new Zlib;
  DT_CHECK(z.missing.empty(), kIo, "compressed files need zlib: ", z.missing);
  return z;
}

bool inflate(const void* from, int64_t from_n, void* to, int64_t to_n) {
  constexpr int kRaw = -15, kNoFlush = 0, kOk = 0, kStreamEnd = 1;
  const Zlib& z = zlib();
  ZStream s;
  DT_CHECK(z.inflate_init(&s, kRaw, "1.2.0", sizeof s) == kOk, kIo, "zlib does not begin");
  s.next_in = static_cast<const uint8_t*>(from);
  s.next_out = static_cast<uint8_t*>(to);
  const auto piece = [](int64_t n) { return static_cast<unsigned>(std::min<int64_t>(n, INT_MAX)); };
  int result = kOk;
  while (result == kOk) {
    s.avail_in = piece(from_n);
    s.avail_out = piece(to_n);
    const unsigned in = s.avail_in, out = s.avail_out;
    result = z.inflate(&s, kNoFlush);
    from_n -= in - s.avail_in;
    to_n -= out - s.avail_out;
    if (in == s.avail_in && out == s.avail_out) break;
  }
  z.inflate_end(&s);
  return result == kStreamEnd && from_n == 0 && to_n == 0;
}

}  // namespace dt
