// Losses of classes that are reduced: their sum, or their mean by weights, in an order that the
// shape alone fixes.
#pragma once

#include <algorithm>

#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/moments.cuh"
#include "kernels/cuda/team.cuh"

namespace dt::cuda {

constexpr int kSumThreads = 1024;

// What a reduced loss is made of: sums over the rows that count, of their losses and weights.
using LossSums = Pair<double>;

// Where a block leaves its sums: in the result, if it is the only one. T is the loss's type, V the
// divisor's.
template <class T, class V = T>
struct Reduced {
  T* y;
  V* divisor;         // may be null
  LossSums* partial;  // null: the result

  __device__ __forceinline__ void store(const LossSums& sums) const {
    if (partial != nullptr) {
      partial[blockIdx.x] = sums;
      return;
    }
    *y = static_cast<T>(static_cast<V>(divisor != nullptr ? sums.first / sums.second : sums.first));
    if (divisor != nullptr) *divisor = static_cast<V>(sums.second);
  }
};

template <class T, class V>
__global__ void __launch_bounds__(kSumThreads)
    add_sums(const LossSums* partial, int count, Reduced<T, V> to) {
  begin_kernel();
  const bool exists = static_cast<int>(threadIdx.x) < count;
  const LossSums mine = exists ? partial[threadIdx.x] : LossSums{0, 0};
  const LossSums sums = team_reduce<kSumThreads>(mine, LossSums::merge);
  if (threadIdx.x == 0) to.store(sums);
}

// A constant number for many rows, so that the bits of a result follow from the shape; one block
// serves what it can read in a few rounds, and saves a launch.
inline int64_t sum_blocks(int64_t rows) {
  constexpr int64_t kAlone = 8 * kSumThreads, kManyBlocks = 256;
  return rows <= kAlone ? 1 : std::min(kManyBlocks, divide_up(rows, kAlone));
}

// Runs sum(to), whose blocks leave their sums at `to`, and adds these up.
template <class T, class V, class Sum>
int32_t reduce_in_blocks(const dt_stream* stream, const Reduced<T, V>& result, LossSums* partial,
                         int64_t rows, const Sum& sum) {
  const int64_t blocks = sum_blocks(rows);
  Reduced<T, V> to = result;
  if (blocks > 1) to.partial = partial;
  const int32_t code = sum(static_cast<unsigned>(blocks), to);
  if (code != DT_KERNEL_OK || blocks == 1) return code;
  return launch(stream, add_sums<T, V>, 1, kSumThreads, 0, static_cast<const LossSums*>(partial),
                static_cast<int>(blocks), result);
}

}  // namespace dt::cuda
