// The factorisations of kernels/factor.h are compiled once, for any processor: what an instruction
// set lends them are the loops in which the time goes.
#pragma once

#include "kernels/abi.h"

namespace dt::factor {

struct FastLoops {
  double (*dot)(const double* a, const double* b, int64_t n);
  void (*add_scaled)(double* y, double factor, const double* x, int64_t n);  // y += factor * x
  // (x, y) = (c x + s y, c y - s x)
  void (*rotate)(double* x, double* y, double c, double s, int64_t n);
  // c -= a @ b, of matrices whose rows lie c_row, a_row, b_row apart.
  void (*subtract)(const dt_stream* stream, double* c, int64_t c_row, const double* a,
                   int64_t a_row, const double* b, int64_t b_row, int64_t m, int64_t n, int64_t k,
                   void* workspace);
  int64_t (*subtract_workspace)(const dt_stream* stream, int64_t row, int64_t m, int64_t n,
                                int64_t k);
};

// In the order of DT_FACTOR_KERNELS.
enum class Kernel : int32_t {
#define DT_FACTOR_KERNEL(NAME, CALL, PROBLEM) NAME,
  DT_FACTOR_KERNELS(DT_FACTOR_KERNEL)
#undef DT_FACTOR_KERNEL
};

}  // namespace dt::factor

// `call` is of the kernel's type in kernels/calls/factor.gen.h.
extern "C" {
int32_t dt_factor_solve(dt::factor::Kernel kernel, const dt_stream* stream, const void* call,
                        void* workspace, const dt::factor::FastLoops* loops);
int64_t dt_factor_workspace(dt::factor::Kernel kernel, const dt_stream* stream, const void* call,
                            const dt::factor::FastLoops* loops);
}
