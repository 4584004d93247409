#include "core/io/crc32.h"

#include <array>
#include <cstring>

namespace dt {
namespace {

constexpr int kSlices = 16;  // bytes that are looked up at once
using Tables = std::array<std::array<uint32_t, 256>, kSlices>;

// tables[k][b]: what byte b adds to the checksum when k more bytes follow it.
constexpr Tables make_tables() {
  Tables tables{};
  for (uint32_t b = 0; b < 256; ++b) {
    uint32_t c = b;
    for (int bit = 0; bit < 8; ++bit) c = c & 1 ? c >> 1 ^ 0xEDB88320u : c >> 1;
    tables[0][b] = c;
  }
  for (int k = 1; k < kSlices; ++k) {
    for (int b = 0; b < 256; ++b) {
      const uint32_t before = tables[k - 1][b];
      tables[k][b] = before >> 8 ^ tables[0][before & 0xFF];
    }
  }
  return tables;
}

constexpr Tables kTables = make_tables();

}  // namespace

uint32_t crc32(uint32_t crc, const void* data, int64_t n) {
  const auto* p = static_cast<const uint8_t*>(data);
  crc = ~crc;
  for (; n >= kSlices; n -= kSlices, p += kSlices) {
    uint32_t first;
    std::memcpy(&first, p, sizeof first);
    first ^= crc;
    crc = 0;
    for (int k = 0; k < 4; ++k) crc ^= kTables[kSlices - 1 - k][first >> 8 * k & 0xFF];
    for (int k = 4; k < kSlices; ++k) crc ^= kTables[kSlices - 1 - k][p[k]];
  }
  for (; n > 0; --n, ++p) crc = crc >> 8 ^ kTables[0][(crc ^ *p) & 0xFF];
  return ~crc;
}

}  // namespace dt
