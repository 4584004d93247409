// Writing slices to places that repeat, where the last position wins. Which one that is, is found
// without a sort: as the maximum of the numbers, from 1, of the positions that write to a place.
// The maxima of all places are scratch memory.
#pragma once

#include "kernels/cuda/radix_sort.cuh"
#include "kernels/cuda/split_plan.cuh"

namespace dt::cuda {

constexpr int kWinnerThreads = 256;
constexpr int kWinnersAtOnce = 4;          // of a thread
constexpr int64_t kPlacesPerPosition = 8;  // of more, sorting positions is less work

inline bool can_pick_winners(const SplitPlan& split) {
  const int64_t count = split.positions.count();
  return split.is_small() && split.positions.selectors <= 2 && !are_few_pairs(count) &&
         split.extent <= kPlacesPerPosition * count;
}

// Of a warp, one position tries to win each place. Later positions come first, and where places
// are crowded, those before them look whether they have lost: atomics of one place are done one
// after another. What they see may be old; it never says too much.
template <int kSelectors>
__global__ void __launch_bounds__(kWinnerThreads)
    pick_winners(uint32_t* winner, KeyMaker maker, uint32_t count) {
  begin_kernel();
  const uint32_t nowhere = static_cast<uint32_t>(maker.nowhere);
  const uint32_t first = blockIdx.x * (kWinnerThreads * kWinnersAtOnce) + threadIdx.x;
  uint32_t key[kWinnersAtOnce];
#pragma unroll
  for (int i = 0; i < kWinnersAtOnce; ++i) {
    const uint32_t number = first + static_cast<uint32_t>(i) * kWinnerThreads;
    const uint32_t position = count - 1 - min(number, count - 1);
    const uint32_t place = maker.key<kSelectors>(position);
    key[i] = number < count ? place : nowhere;
  }
#pragma unroll
  for (int i = 0; i < kWinnersAtOnce; ++i) {
    const unsigned rivals = __match_any_sync(0xffffffffu, key[i]);
    const bool is_crowded = __any_sync(0xffffffffu, (rivals & (rivals - 1)) != 0);
    const bool leads = __ffs(rivals) - 1 == static_cast<int>(threadIdx.x % kWarp);
    if (!leads || key[i] == nowhere) continue;
    const uint32_t number = count - first - static_cast<uint32_t>(i) * kWinnerThreads;
    uint32_t* const place = winner + key[i];
    if (!is_crowded || __ldca(place) < number) atomicMax(place, number);
  }
}

// The winners write their slices.
template <class T>
__global__ void __launch_bounds__(kWinnerThreads)
    write_winners(T* y, Values<T> values, const uint32_t* winner, IndexPlan positions, Slice slice,
                  int64_t unit, int64_t count) {
  begin_kernel();
  const int64_t first = int64_t{blockIdx.x} * (kWinnerThreads * kWinnersAtOnce) + threadIdx.x;
  uint32_t number[kWinnersAtOnce];
  int64_t to[kWinnersAtOnce];
  Packet<T, 1> value[kWinnersAtOnce];
#pragma unroll
  for (int i = 0; i < kWinnersAtOnce; ++i) {
    const int64_t at = first + int64_t{i} * kWinnerThreads;
    const int64_t key = slice.count == 1 ? at : at / slice.count;
    number[i] = at < count ? winner[key] : 0;
  }
#pragma unroll
  for (int i = 0; i < kWinnersAtOnce; ++i) {
    if (number[i] == 0) continue;
    const int64_t at = first + int64_t{i} * kWinnerThreads;
    const int64_t key = slice.count == 1 ? at : at / slice.count;
    int64_t from;
    slice.at(at - key * slice.count, &from, &to[i]);
    to[i] += key * unit;
    value[i] = values.template load<1>(from + positions.plain_at(number[i] - 1));
  }
#pragma unroll
  for (int i = 0; i < kWinnersAtOnce; ++i) {
    if (number[i] != 0) y[to[i]] = value[i].value[0];
  }
}

template <class T>
int32_t assign_winners(const dt_stream* stream, const calls::Call& call, const SplitPlan& split,
                       T* y, const Values<T>& values) {
  uint32_t* const winner = static_cast<uint32_t*>(call.workspace);
  const auto bytes = static_cast<size_t>(split.extent) * sizeof(uint32_t);
  if (const cudaError_t error = set_device(stream->device))
    return check(error, "cudaSetDevice", stream->fault);
  if (const cudaError_t error = cudaMemsetAsync(winner, 0, bytes, native_stream(stream)))
    return check(error, "cudaMemsetAsync", stream->fault);
  constexpr int64_t kShare = kWinnerThreads * kWinnersAtOnce;
  const int64_t count = split.positions.count(), all = split.extent * split.slice.count;
  const int32_t code = launch(
      stream, pick_winners<2>, static_cast<unsigned>(divide_up(count, kShare)), kWinnerThreads, 0,
      winner, KeyMaker(split, Complaint(stream, call)), static_cast<uint32_t>(count));
  if (code != DT_KERNEL_OK) return code;
  return launch(stream, write_winners<T>, static_cast<unsigned>(divide_up(all, kShare)),
                kWinnerThreads, 0, y + split.lowest * split.unit, values,
                static_cast<const uint32_t*>(winner), split.positions, split.slice, split.unit,
                all);
}

}  // namespace dt::cuda
