// y = activation(alpha * a @ b + beta * c), as the ways to compute it see it.
#pragma once

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

}  // namespace dt::cuda
