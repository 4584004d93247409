// Copies of few bytes, which a call of memcpy would take longer for.
#pragma once

#include "kernels/cpu/lanes.h"

namespace dt::cpu {
namespace {

constexpr int64_t kShortCopyBytes = 8192;

// By steps of which the last two may overlap.
template <int kStep>
inline void copy_overlapping(char* y, const char* x, int64_t bytes) {
  for (int64_t i = 0; i + kStep < bytes; i += kStep) __builtin_memcpy(y + i, x + i, kStep);
  __builtin_memcpy(y + bytes - kStep, x + bytes - kStep, kStep);
}

// y may be x.
template <class T>
inline void copy_run(T* y, const T* x, int64_t n) {
  const int64_t bytes = n * static_cast<int64_t>(sizeof(T));
  char* const to = reinterpret_cast<char*>(y);
  const char* const from = reinterpret_cast<const char*>(x);
  if (bytes > kShortCopyBytes) {
    __builtin_memmove(to, from, static_cast<size_t>(bytes));
  } else if (bytes >= kVectorBytes) {
    copy_overlapping<kVectorBytes>(to, from, bytes);
  } else if (bytes >= 16) {
    copy_overlapping<16>(to, from, bytes);
  } else if (bytes >= 8) {
    copy_overlapping<8>(to, from, bytes);
  } else if (bytes >= 4) {
    copy_overlapping<4>(to, from, bytes);
  } else if (n > 0) {
    y[0] = x[0], y[n / 2] = x[n / 2], y[n - 1] = x[n - 1];  // at most three
  }
}

}  // namespace
}  // namespace dt::cpu
