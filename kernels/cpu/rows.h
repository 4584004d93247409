// What the kernels over rows share: runs of any stride.
#pragma once

#include "kernels/cpu/common.h"

namespace dt::cpu {
namespace {

// A run of n elements: where it is if it is dense, else a copy.
template <class T>
const T* read_run(const T* p, int64_t stride, int64_t n, T* copy) {
  if (stride == 1) return p;
  for (int64_t i = 0; i < n; ++i) copy[i] = p[i * stride];
  return copy;
}

// Lets compute(run) write a run of n <= kLongest elements, in place if it is dense.
template <int64_t kLongest, class T, class Compute>
void write_run(T* p, int64_t stride, int64_t n, const Compute& compute) {
  if (stride == 1) return compute(p);
  T run[kLongest];
  compute(run);
  for (int64_t i = 0; i < n; ++i) p[i * stride] = run[i];
}

}  // namespace
}  // namespace dt::cpu
