// Many short lines of neighbours that lie one behind the other: a block brings some of them into
// its shared memory in the order of memory, a thread scans a line there, and the block writes them
// back. So warps read and write without gaps, however long lines are and wherever they begin.
#pragma once

#include "kernels/cuda/scan_tile.cuh"

namespace dt::cuda {
namespace {

constexpr int64_t kShortLineBytes = 32 << 10;  // of a block; six have room together

// Few threads of a block have longer lines, and a line that is a whole tile is sooner scanned
// there.
inline bool is_short_line(int64_t length, int64_t element_bytes) {
  constexpr int64_t kMostElements = 256, kMostBytes = 1 << 10;
  return length <= kMostElements && length * element_bytes <= kMostBytes && length != kTile<8>;
}

template <class Fold, class Source>
constexpr bool kHasShortLines =
    std::is_arithmetic_v<typename Fold::Value> && !std::is_same_v<Source, Any>;

// Lines of a block, a whole number of packets, and how far apart they are in shared memory: threads
// that go through lines an odd distance apart meet in no bank.
struct ShortLines {
  uint32_t length, lines, pitch;
  FastDivide by_length;
  bool has_packets;

  ShortLines(const ScanCall& call, int64_t element_bytes)
      : length(static_cast<uint32_t>(call.length)),
        pitch(length | 1),
        by_length(length),
        has_packets(is_aligned(call.x, kPacketBytes) && is_aligned(call.y, kPacketBytes)) {
    const int64_t fit = kShortLineBytes / (pitch * element_bytes);
    lines = static_cast<uint32_t>(std::min(fit, int64_t{kThreads}) / kPacketBytes * kPacketBytes);
  }
  int64_t elements() const { return int64_t{lines} * pitch; }
};

// The places in shared memory of elements that follow each other, from the block's i-th one on.
struct ShortWalk {
  const ShortLines& shape;
  uint32_t at, left;  // left: of the line

  __device__ __forceinline__ ShortWalk(const ShortLines& s, uint32_t i) : shape(s) {
    const uint32_t line = shape.by_length.divide(i);
    at = i + line * (shape.pitch - shape.length);
    left = (line + 1) * shape.length - i;
  }
  __device__ __forceinline__ uint32_t next() {
    const uint32_t here = at;
    const bool ends = --left == 0;
    at += ends ? 1 + shape.pitch - shape.length : 1;
    left = ends ? shape.length : left;
    return here;
  }
};

// f(i, the width of a packet or 1) for stretches of elements.
template <int kWidth, class F>
__device__ __forceinline__ void each_packet(uint32_t elements, bool has_packets, const F& f) {
  const uint32_t whole = has_packets ? elements / kWidth * kWidth : 0;
#pragma unroll 4
  for (uint32_t i = threadIdx.x * kWidth; i < whole; i += kThreads * kWidth)
    f(i, std::integral_constant<int, kWidth>());
  for (uint32_t i = whole + threadIdx.x; i < elements; i += kThreads)
    f(i, std::integral_constant<int, 1>());
}

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
  constexpr int kWidth = kChunkWidth<Source, Result>;
  each_packet<kWidth>(elements, shape.has_packets, [&](uint32_t i, auto width) {
    constexpr int kCount = decltype(width)::value;
    const auto packet = load_packet<kCount>(x + i);
    ShortWalk walk(shape, i);
#pragma unroll
    for (int v = 0; v < kCount; ++v) tile[walk.next()] = static_cast<Result>(packet.value[v]);
  });
  __syncthreads();
  if (threadIdx.x < lines) {
    Result* const line = tile + threadIdx.x * shape.pitch;
    Sum sum = Fold::identity();
#pragma unroll 4
    for (uint32_t i = 0; i < shape.length; ++i) {
      sum = Fold::combine(sum, static_cast<Sum>(line[i]));
      line[i] = static_cast<Result>(sum);
    }
  }
  __syncthreads();
  each_packet<kWidth>(elements, shape.has_packets, [&](uint32_t i, auto width) {
    constexpr int kCount = decltype(width)::value;
    Packet<Result, kCount> packet;
    ShortWalk walk(shape, i);
#pragma unroll
    for (int v = 0; v < kCount; ++v) packet.value[v] = tile[walk.next()];
    store_packet(y + i, packet);
  });
}

template <class Fold, class Source>
int32_t run_short_lines(const dt_stream* stream, const ScanCall& call) {
  const ShortLines shape(call, sizeof(Written<Source>));
  return launch(stream, scan_short_lines<Fold, Source>,
                static_cast<unsigned>(divide_up(call.count, shape.lines)), dim3(kThreads),
                static_cast<size_t>(shape.elements()) * sizeof(Written<Source>), call, shape);
}

}  // namespace
}  // namespace dt::cuda
