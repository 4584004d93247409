// Reads files that may be gzip-compressed. zlib is opened when the first compressed file is.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/io/file.h"

namespace dt {

// A file read from its beginning to its end, decompressed if it begins with gzip's magic number.
class InputStream {
 public:
  explicit InputStream(const std::string& path);
  ~InputStream();
  InputStream(const InputStream&) = delete;

  // The next n bytes, fewer at the end. Memory grows with what is there, not with n: a reader may
  // ask for what a header claims.
  std::vector<uint8_t> read(int64_t n);

 private:
  int64_t read_some(void* to, int64_t n);

  std::string path_;
  InputFile file_;
  int64_t offset_ = 0;      // in a plain file
  void* zipped_ = nullptr;  // zlib's gzFile
};

}  // namespace dt
