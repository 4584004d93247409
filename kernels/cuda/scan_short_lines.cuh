// Many short lines of neighbours that lie one behind the other: a block brings some of them into
// its shared memory in the order of memory, a thread scans a line there, and the block writes them
// back. So warps read and write without gaps, however long lines are and wherever they begin.
#pragma once

#include "kernels/cuda/scan_tile.cuh"

namespace dt::cuda {
namespace {

constexpr int64_t kLongestShortLine = 64;
constexpr int64_t kShortLineBytes = 32 << 10;  // of a block: seven have room beside each other

template <class Fold, class Source>
constexpr bool kHasShortLines =
    std::is_arithmetic_v<typename Fold::Value> && !std::is_same_v<Source, Any>;

// Lines of a block, and how far apart they are in shared memory: threads that go through lines an
// odd distance apart meet in no bank.
struct ShortLines {
  uint32_t length, lines, pitch;
  FastDivide by_length;

  ShortLines(int64_t length, int64_t element_bytes)
      : length(static_cast<uint32_t>(length)),
        pitch(static_cast<uint32_t>(length | 1)),
        by_length(static_cast<uint32_t>(length)) {
    const int64_t fit = kShortLineBytes / (pitch * element_bytes);
    lines = static_cast<uint32_t>(std::min(fit, int64_t{kThreads}));
  }
  int64_t elements() const { return int64_t{lines} * pitch; }
  // Where the element is that comes `i` elements behind the block's first one.
  __device__ __forceinline__ uint32_t at(uint32_t i) const {
    return i + by_length.divide(i) * (pitch - length);
  }
};

template <class Fold, class Source>
__global__ void __launch_bounds__(kThreads)
    scan_short_lines(const __grid_constant__ ScanCall call, ShortLines shape) {
  begin_kernel();
  using Sum = typename Fold::Value;
  using Result = Written<Source>;
  extern __shared__ char memory[];
  Result* const tile = reinterpret_cast<Result*>(memory);
  const uint32_t first = blockIdx.x * shape.lines, lines = min(shape.lines, call.count - first);
  const int64_t begin = int64_t{first} * shape.length;
  const uint32_t elements = lines * shape.length;
  const Source* const x = static_cast<const Source*>(call.x) + begin;
  Result* const y = static_cast<Result*>(call.y) + begin;
#pragma unroll 8
  for (uint32_t i = threadIdx.x; i < elements; i += kThreads)
    tile[shape.at(i)] = static_cast<Result>(x[i]);
  __syncthreads();
  if (threadIdx.x < lines) {
    Result* const line = tile + threadIdx.x * shape.pitch;
    Sum sum = Fold::nothing();
#pragma unroll 4
    for (uint32_t i = 0; i < shape.length; ++i) {
      sum = Fold::join(sum, static_cast<Sum>(line[i]));
      line[i] = static_cast<Result>(sum);
    }
  }
  __syncthreads();
#pragma unroll 8
  for (uint32_t i = threadIdx.x; i < elements; i += kThreads) y[i] = tile[shape.at(i)];
}

template <class Fold, class Source>
int32_t run_short_lines(const dt_stream* stream, const ScanCall& call) {
  const ShortLines shape(call.length, sizeof(Written<Source>));
  return launch(stream, scan_short_lines<Fold, Source>,
                static_cast<unsigned>(divide_up(call.count, shape.lines)), dim3(kThreads),
                static_cast<size_t>(shape.elements()) * sizeof(Written<Source>), call, shape);
}

}  // namespace
}  // namespace dt::cuda
