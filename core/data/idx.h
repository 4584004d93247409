// The IDX format of MNIST (http://yann.lecun.com/exdb/mnist): two zero bytes, an element type, the
// number of dimensions, the sizes as big-endian int32, then the elements, big-endian, row-major.
#pragma once

#include <string>

#include "core/tensor/tensor.h"

namespace dt {

// The file, plain or gzip, as a tensor of its shape. All element types of the format are read.
Tensor read_idx(const std::string& path);

}  // namespace dt
