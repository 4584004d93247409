// y = activation(alpha * a @ b + beta * c), as the ways to compute it see it.
#pragma once

#include "kernels/abi.h"
#include "kernels/dtype.h"

namespace dt::cuda {

// A batch of matrices. Strides count elements; those of dimensions of size 1 mean nothing.
struct Matrix {
  void* data;
  int64_t batch, row, col;
};

struct MatrixProduct {
  int32_t dtype;
  int64_t batch, m, n, k;
  double alpha, beta;
  Matrix a, b, y;
  Matrix c;        // data is null if there is nothing to add
  int activation;  // DT_ACTIVATE_
};

// Does the product in the way that suits it, for kernels that consist of several. float16 and
// bfloat16: DT_KERNEL_UNSUPPORTED where the product is to be widened.
int32_t multiply(const dt_stream* stream, const MatrixProduct& product, void* workspace);
// Bytes of scratch memory for that.
int64_t multiply_workspace(const dt_stream* stream, const MatrixProduct& product);

}  // namespace dt::cuda
