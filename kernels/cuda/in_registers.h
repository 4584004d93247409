// Small matrices in registers, a warp or a part of one for each: eigenvalues and singular values
// (jacobi.cu), LU factors (small_lu.cu).
#pragma once

#include "kernels/calls/factor.gen.h"

namespace dt::cuda {

template <class Call>
bool fits_registers(const Call&) {
  return false;
}
bool fits_registers(const calls::Eigh& call);
bool fits_registers(const calls::Svd& call);
bool fits_registers(const calls::LuFactor& call);

template <class Call>
int32_t solve_in_registers(const dt_stream*, const Call&) {
  return DT_KERNEL_UNSUPPORTED;
}
int32_t solve_in_registers(const dt_stream* stream, const calls::Eigh& call);
int32_t solve_in_registers(const dt_stream* stream, const calls::Svd& call);
int32_t solve_in_registers(const dt_stream* stream, const calls::LuFactor& call);

}  // namespace dt::cuda
