// Reads a file that may be gzip-compressed. zlib is opened when the first compressed file is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dt {

// The file's content, decompressed if it begins with gzip's magic number. At most `limit` bytes.
std::vector<uint8_t> read_maybe_gzip(const std::string& path, int64_t limit);

}  // namespace dt
