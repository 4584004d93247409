// Products of a vector and a matrix, which cost what reading the matrix costs.
#pragma once

#include "kernels/abi.h"
#include "kernels/cuda/matmul.h"

namespace dt::cuda {

// Whether one operand is a single row or column of a floating type that floats calculate, the
// other's memory is made of whole packets, and there are outputs for many multiprocessors.
bool is_vector_product(const dt_stream* stream, const MatrixProduct& p);

int32_t multiply_vector(const dt_stream* stream, const MatrixProduct& p);

}  // namespace dt::cuda
