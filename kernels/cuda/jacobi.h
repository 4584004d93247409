// Eigenvalues and singular values of small matrices, a warp or a part of one for each.
#pragma once

#include "kernels/calls/factor.gen.h"

namespace dt::cuda {

// Whether this is a call for jacobi: eigenvalues or singular values, and small matrices.
template <class Call>
bool takes_jacobi(const Call&) {
  return false;
}
bool takes_jacobi(const calls::Eigh& call);
bool takes_jacobi(const calls::Svd& call);

template <class Call>
int32_t jacobi(const dt_stream*, const Call&) {
  return DT_KERNEL_UNSUPPORTED;
}
int32_t jacobi(const dt_stream* stream, const calls::Eigh& call);
int32_t jacobi(const dt_stream* stream, const calls::Svd& call);

}  // namespace dt::cuda
