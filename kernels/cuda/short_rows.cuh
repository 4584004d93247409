// Short rows that begin anywhere, one after another in every operand. A block takes some of them
// through shared memory: between there and the tensors elements move in packets, whatever a row is.
#pragma once

#include "kernels/cuda/rows.cuh"
#include "kernels/cuda/team.cuh"

namespace dt::cuda {

constexpr int kShortThreads = 256;
constexpr int kShortKept = 8;         // elements of a row that a thread has
constexpr int kLongestShortRow = 64;  // longer ones are mostly whole packets
constexpr int kTilePackets = 4;       // that a thread moves

template <class T>
constexpr int kTileElements = kShortThreads* kTilePackets* kPacketWidth<T>;

// A row as one of the group of threads that share it sees it.
struct ShortRow {
  int number;  // among the block's rows
  int first;   // element, among the block's
  int length;  // 0 for a group that has no row
  int lane, lanes;

  // Calls use(k, place, column) for the elements of this thread, which are `lanes` apart. k is
  // known when the code is compiled.
  template <class Use>
  __device__ __forceinline__ void for_each(const Use& use) const {
#pragma unroll
    for (int k = 0; k < kShortKept; ++k) {
      const int column = k * lanes + lane;
      if (column >= length) break;
      use(k, first + column, column);
    }
  }

  // Merges the values of the group. Every thread of the block must call it.
  template <class T, class Merge>
  __device__ __forceinline__ T reduce(T value, const Merge& merge) const {
    for (int step = 1; step < lanes; step *= 2) value = merge(value, exchange(value, step));
    return value;
  }
  template <class T>
  __device__ __forceinline__ T sum(T value) const {
    return reduce(value, [](T a, T b) { return a + b; });
  }
};

// The rows of a call, and of a block.
struct ShortRows {
  int64_t count;
  int length;
  int of_block;  // rows
  int lanes;     // threads to a row

  // Blocks take a multiple of all packets' widths of rows: if the first of them begins at a
  // boundary, all do.
  ShortRows(int64_t rows, int64_t n, int tile_elements)
      : count(rows), length(static_cast<int>(n)), lanes(1) {
    while (lanes * kShortKept < length) lanes *= 2;
    const int at_once = kShortThreads / lanes, fitting = (tile_elements - kPacketBytes) / length;
    of_block = fitting / at_once * at_once;
    if (of_block == 0) of_block = fitting / kPacketBytes * kPacketBytes;
  }

  dim3 grid() const { return dim3(static_cast<unsigned>(divide_up(count, of_block))); }

#ifdef __CUDACC__
  __device__ __forceinline__ int64_t first_row() const {
    return int64_t{blockIdx.x} * of_block;
  }
  // How many elements this block has.
  __device__ __forceinline__ int elements() const {
    const int64_t left = count - first_row();
    return static_cast<int>(left < of_block ? left : of_block) * length;
  }

  // Calls use(row) for the rows of this thread's group; of all threads as often.
  template <class Use>
  __device__ __forceinline__ void for_each(const Use& use) const {
    const int end = elements(), thread = static_cast<int>(threadIdx.x);
    for (int group = 0; group < of_block; group += kShortThreads / lanes) {
      const int number = group + thread / lanes, first = number * length;
      use(ShortRow{number, first, first < end ? length : 0, thread % lanes, lanes});
    }
  }
#endif
};

// The elements of a block's rows in shared memory, about the boundary as they are in the tensor.
template <class T>
struct SharedRows {
  static constexpr int kWidth = kPacketWidth<T>;
  struct alignas(kPacketBytes) Space {
    T element[kTileElements<T>];
  };
  T* element;
  int shift;

#ifdef __CUDACC__
  __device__ __forceinline__ SharedRows(Space& space, const ShortRows& rows, const T* tensor) {
    const T* from = tensor + rows.first_row() * rows.length;
    shift = shift_of(from);
    element = space.element + shift;
    const int packets = (shift + rows.elements() + kWidth - 1) / kWidth;
    Packet<T, kWidth> part[kTilePackets];
    // A packet that holds an element lies in the same 16 bytes as it, so that it may be read whole.
#pragma unroll
    for (int k = 0; k < kTilePackets; ++k) {
      const int packet = k * kShortThreads + static_cast<int>(threadIdx.x);
      if (packet < packets) part[k] = load_packet<kWidth>(packet_at<kWidth>(from - shift, packet));
    }
#pragma unroll
    for (int k = 0; k < kTilePackets; ++k) {
      const int packet = k * kShortThreads + static_cast<int>(threadIdx.x);
      if (packet < packets) store_packet(packet_at<kWidth>(space.element, packet), part[k]);
    }
  }

  __device__ __forceinline__ void store(const ShortRows& rows, T* tensor) const {
    T* const to = tensor + rows.first_row() * rows.length;
    const bool is_alike = shift_of(to) == shift;
    const int end = shift + rows.elements();
#pragma unroll
    for (int k = 0; k < kTilePackets; ++k) {
      const int at = (k * kShortThreads + static_cast<int>(threadIdx.x)) * kWidth;
      if (is_alike && at >= shift && at + kWidth <= end) {
        store_packet(to - shift + at, load_packet<kWidth>(element - shift + at));
        continue;
      }
#pragma unroll
      for (int v = 0; v < kWidth; ++v) {
        if (at + v >= shift && at + v < end) to[at + v - shift] = element[at + v - shift];
      }
    }
  }

 private:
  static __device__ __forceinline__ int shift_of(const T* p) {
    return static_cast<int>(reinterpret_cast<uintptr_t>(p) / sizeof(T) % kWidth);
  }
#endif
};

}  // namespace dt::cuda
