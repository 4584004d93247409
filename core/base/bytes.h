// A borrowed run of bytes: the parameter type for blobs.
#pragma once

#include <cstdint>

namespace dt {

struct Bytes {
  const void* data = nullptr;
  int64_t size = 0;
};

}  // namespace dt
