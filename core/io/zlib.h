// The part of zlib that is needed. It is opened at run time, so that the library depends on nothing
// for those who read no compressed files.
#pragma once

#include <cstdint>
#include <string>

namespace dt {

struct ZStream;  // zlib's z_stream

struct Zlib {
  void* (*open)(const char* path, const char* mode) = nullptr;
  int (*read)(void* file, void* buffer, unsigned length) = nullptr;
  int (*close)(void* file) = nullptr;
  const char* (*error)(void* file, int* code) = nullptr;
  int (*inflate_init)(ZStream* stream, int window_bits, const char* version, int size) = nullptr;
  int (*inflate)(ZStream* stream, int flush) = nullptr;
  int (*inflate_end)(ZStream* stream) = nullptr;
  std::string missing;

  Zlib();
};

// Fails where zlib is not installed.
const Zlib& zlib();

// Decompresses a whole run of the deflate method. False if it is damaged or does not give `to_n`
// bytes.
bool inflate(const void* from, int64_t from_n, void* to, int64_t to_n);

}  // namespace dt
