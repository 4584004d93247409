// The checksum of zip files: CRC-32 with the polynomial of Ethernet.
#pragma once

#include <cstdint>

namespace dt {

// The checksum of what `crc` is the checksum of, followed by n more bytes; begin with 0.
uint32_t crc32(uint32_t crc, const void* data, int64_t n);

}  // namespace dt
