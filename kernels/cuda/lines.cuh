// A tensor seen as lines along one dimension: where each line begins in every operand.
#pragma once

#include <stdint.h>

#include "kernels/abi.h"

namespace dt::cuda {

// The output and up to two inputs of an op along a dimension.
constexpr int kLineOperands = 3;

struct Lines {
  int64_t length = 1;                       // elements of a line
  int64_t step[kLineOperands] = {1, 1, 1};  // from one element of a line to the next
  int64_t count = 1;                        // lines
  int ndim = 0;                             // of the other dimensions; the last is the fastest
  int64_t sizes[DT_MAX_DIMS];
  int64_t strides[DT_MAX_DIMS][kLineOperands];

  bool is_dense() const { return step[0] == 1 && step[1] == 1 && step[2] == 1; }

#ifdef __CUDACC__
  __device__ __forceinline__ void at(int64_t line, int64_t (&offsets)[kLineOperands]) const {
#pragma unroll
    for (int k = 0; k < kLineOperands; ++k) offsets[k] = 0;
    for (int d = ndim - 1; d >= 0; --d) {
      const int64_t outer = d > 0 ? line / sizes[d] : 0, here = line - outer * sizes[d];
#pragma unroll
      for (int k = 0; k < kLineOperands; ++k) offsets[k] += here * strides[d][k];
      line = outer;
    }
  }
#endif
};

inline int64_t absolute(int64_t x) {
  return x < 0 ? -x : x;
}

// Adds a dimension so that the output's strides fall, next to the one that it continues if there is
// one.
inline void insert_line_dim(Lines* lines, int64_t size, const int64_t (&strides)[kLineOperands]) {
  int at = lines->ndim++;
  for (; at > 0 && absolute(lines->strides[at - 1][0]) < absolute(strides[0]); --at) {
    lines->sizes[at] = lines->sizes[at - 1];
    for (int k = 0; k < kLineOperands; ++k) lines->strides[at][k] = lines->strides[at - 1][k];
  }
  lines->sizes[at] = size;
  for (int k = 0; k < kLineOperands; ++k) lines->strides[at][k] = strides[k];
}

// Merges neighbouring dimensions that all operands walk as one.
inline void merge_line_dims(Lines* lines) {
  int kept = 0;
  for (int d = 1; d < lines->ndim; ++d) {
    bool continues = true;
    for (int k = 0; k < kLineOperands; ++k)
      continues &= lines->strides[kept][k] == lines->strides[d][k] * lines->sizes[d];
    const int64_t size = continues ? lines->sizes[kept] * lines->sizes[d] : lines->sizes[d];
    if (!continues) ++kept;
    lines->sizes[kept] = size;
    for (int k = 0; k < kLineOperands; ++k) lines->strides[kept][k] = lines->strides[d][k];
  }
  if (lines->ndim > 0) lines->ndim = kept + 1;
}

// The lines of `out`, `first` and `last`, which have the same sizes, along `dim`.
inline Lines make_lines(const dt_view& out, const dt_view& first, const dt_view& last,
                        int64_t dim) {
  Lines lines;
  for (int d = 0; d < out.ndim; ++d) {
    if (out.sizes[d] == 1) continue;
    const int64_t strides[kLineOperands] = {out.strides[d], first.strides[d], last.strides[d]};
    if (d == dim) {
      lines.length = out.sizes[d];
      for (int k = 0; k < kLineOperands; ++k) lines.step[k] = strides[k];
    } else {
      lines.count *= out.sizes[d];
      insert_line_dim(&lines, out.sizes[d], strides);
    }
  }
  merge_line_dims(&lines);
  return lines;
}

}  // namespace dt::cuda
