// What stands where an element of a remapped dimension has none of the input: as kernels and core
// have it.
#pragma once

#include <stdint.h>

namespace dt {

// Zeros and the modes of padding; nearest is resizing, where every element has one.
enum class RemapMode : int64_t { kZeros, kReflect, kReplicate, kCircular, kNearest };

}  // namespace dt
