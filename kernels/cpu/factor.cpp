// Factorisations of matrices: the loops of an instruction set, lent to what is compiled once.
#include "kernels/factor_spectrum.h"

#include "kernels/cpu/factor_once.h"
#include "kernels/cpu/gemm.h"

namespace dt::cpu {
namespace {

double dot(const double* a, const double* b, int64_t n) {
  double sums[8] = {};
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    for (int j = 0; j < 8; ++j) sums[j] += a[i + j] * b[i + j];
  }
  for (; i < n; ++i) sums[0] += a[i] * b[i];
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

void add_scaled(double* __restrict y, double factor, const double* __restrict x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] += factor * x[i];
}

void rotate(double* __restrict x, double* __restrict y, double c, double s, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const double old = x[i];
    x[i] = c * old + s * y[i];
    y[i] = c * y[i] - s * old;
  }
}

Gemm<double> product(double* c, int64_t c_row, const double* a, int64_t a_row, const double* b,
                     int64_t b_row, int64_t m, int64_t n, int64_t k) {
  Gemm<double> g = {};
  g.batch = 1, g.m = m, g.n = n, g.k = k;
  g.a = {a, 0, a_row, 1};
  g.b = {b, 0, b_row, 1};
  g.c = {c, 0, c_row, 1};
  g.y = {c, 0, c_row, 1};
  g.alpha = -1, g.beta = 1;
  return g;
}

void subtract(const dt_stream* stream, double* c, int64_t c_row, const double* a, int64_t a_row,
              const double* b, int64_t b_row, int64_t m, int64_t n, int64_t k, void* workspace) {
  run_gemm(stream, product(c, c_row, a, a_row, b, b_row, m, n, k), workspace);
}

int64_t subtract_workspace(const dt_stream* stream, int64_t row, int64_t m, int64_t n, int64_t k) {
  return gemm_workspace(stream, product(nullptr, row, nullptr, row, nullptr, row, m, n, k));
}

constexpr factor::FastLoops kLoops = {dot, add_scaled, rotate, subtract, subtract_workspace};

}  // namespace

#define DT_FACTOR_KERNEL(NAME, CALL, PROBLEM)                                             \
  int32_t kernels::NAME(const dt_stream* stream, const calls::CALL& call) {               \
    return dt_factor_solve(factor::Kernel::NAME, stream, &call, call.workspace, &kLoops); \
  }                                                                                       \
  int64_t kernels::NAME##_workspace(const dt_stream* stream, const calls::CALL& call) {   \
    return dt_factor_workspace(factor::Kernel::NAME, stream, &call, &kLoops);             \
  }
DT_FACTOR_KERNELS(DT_FACTOR_KERNEL)
#undef DT_FACTOR_KERNEL

}  // namespace dt::cpu
