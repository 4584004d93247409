// What the kernels over rows share: optional operands, runs of any stride, and the choice of the
// floating type.
#pragma once

#include "kernels/cpu/common.h"

namespace dt::cpu {
namespace {

// An optional input, or null.
template <class T>
const T* optional_input(const dt_call* call, int which) {
  return which < call->n_in && call->in[which].dtype != 0 ? data<const T>(call->in[which])
                                                          : nullptr;
}

// An optional output, or null if it is not wanted.
template <class T>
T* optional_output(const dt_call* call, int which) {
  return which < call->n_out && call->out[which].dtype != 0 ? data<T>(call->out[which]) : nullptr;
}

inline bool wants(const dt_call* call, int which) {
  return which < call->n_out && call->out[which].dtype != 0;
}

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

// Runs Kernel for the floating type of the first input.
template <class Kernel>
int32_t run_floating(const dt_stream* stream, const dt_call* call) {
  switch (call->in[0].dtype) {
    case DT_FLOAT32:
      return Kernel::template run<float>(stream, call);
    case DT_FLOAT64:
      return Kernel::template run<double>(stream, call);
    default:
      return DT_KERNEL_UNSUPPORTED;
  }
}

}  // namespace
}  // namespace dt::cpu
