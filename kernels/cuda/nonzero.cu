// nonzero_count, and nonzero: the coordinates of the nonzero elements in row-major order.
//
// A warp has a chunk (kernels/nonzero.h) and walks it in segments of 16 words: bit i of a word says
// whether element i of 32 is nonzero. The lanes write the coordinates of a word's elements
// together, side by side, and no thread waits for another warp.
#include "kernels/calls/indexing.gen.h"
#include "kernels/cuda/offsets.cuh"
#include "kernels/cuda/packet.cuh"
#include "kernels/cuda/shuffle.cuh"
#include "kernels/cuda/team.cuh"
#include "kernels/dtype.h"
#include "kernels/nonzero.h"

namespace dt::cuda {
namespace {

constexpr int kWords = 16;  // of a segment
constexpr int64_t kSegment = kWords * kWarp;
constexpr int kCountThreads = 1024, kWriteThreads = 256;

template <class Index>
struct NonzeroCall {
  const void* x;
  uint64_t significant;  // bits of an element: those that are not all zero if the element is not
  int64_t n, per_chunk, chunks;
  int64_t *count, *places;  // places: of chunks; while they are counted, the counts
  int64_t* y;
  int32_t ndim;
  Index sizes[DT_MAX_DIMS];
  Offsets<1, Index> offsets;

  __device__ __forceinline__ void write_coordinates(int64_t place, int64_t i) const {
    int64_t* const to = y + place * ndim;
    Index rest = static_cast<Index>(i);
    for (int d = ndim - 1; d > 0; --d) {
      to[d] = static_cast<int64_t>(rest % sizes[d]);
      rest /= sizes[d];
    }
    to[0] = static_cast<int64_t>(rest);
  }
};

__device__ __forceinline__ int lane_number() {
  return static_cast<int>(threadIdx.x % kWarp);
}

// ---- segments

// Elements wherever they are: the lanes have one of each word.
template <class T, class Index>
struct Elements {
  static constexpr int kAtOnce = 1;  // segments
  using Call = NonzeroCall<Index>;
  T element[kWords], significant;
  uint32_t nonzero;  // bit w: the lane's element of word w is

  __device__ __forceinline__ void load(const Call& call, int64_t first) {
#pragma unroll
    for (int w = 0; w < kWords; ++w) {
      const int64_t i = first + w * kWarp + lane_number();
      int64_t offset[1] = {};
      if (i < call.n) call.offsets.at(static_cast<Index>(i), offset);
      element[w] = i < call.n ? static_cast<const T*>(call.x)[offset[0]] : T(0);
    }
    significant = static_cast<T>(call.significant);
  }
  __device__ __forceinline__ void look() {
    nonzero = 0;
#pragma unroll
    for (int w = 0; w < kWords; ++w)
      nonzero |= static_cast<uint32_t>((element[w] & significant) != 0) << w;
  }

  // Of those that the lane has loaded.
  __device__ __forceinline__ int count() const {
    return __popc(nonzero);
  }
  __device__ __forceinline__ uint32_t word(int w) const {
    return __ballot_sync(kAllLanes, (nonzero >> w & 1) != 0);
  }
};

// Bytes side by side, from a packet's boundary on: a lane loads half a word's in one access.
template <class Index>
struct Bytes {
  static constexpr int kAtOnce = 4;
  static_assert(kWords == kPacketBytes && NonzeroChunks::kGrain % (kAtOnce * kSegment) == 0);
  using Call = NonzeroCall<Index>;
  Packet<uint32_t, 4> packet = {};
  uint32_t bits;

  __device__ __forceinline__ void load(const Call& call, int64_t first) {
    const int64_t begin = first + lane_number() * kWords;
    const uint8_t* const x = static_cast<const uint8_t*>(call.x) + begin;
    if (begin + kWords <= call.n) {
      packet = load_packet<4>(reinterpret_cast<const uint32_t*>(x));
    } else {
#pragma unroll
      for (int i = 0; i < kWords; ++i) {
        if (begin + i < call.n) packet.value[i / 4] |= uint32_t{x[i]} << i % 4 * 8;
      }
    }
  }
  __device__ __forceinline__ void look() {
    bits = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) bits |= nonzero_bytes(packet.value[i]) << 4 * i;
  }

  __device__ __forceinline__ int count() const {
    return __popc(bits);
  }
  __device__ __forceinline__ uint32_t word(int w) const {
    return __shfl_sync(kAllLanes, bits, 2 * w) | __shfl_sync(kAllLanes, bits, 2 * w + 1) << 16;
  }

 private:
  // A bit for each byte: the product brings bits 0, 8, 16 and 24 together at the top.
  static __device__ __forceinline__ uint32_t nonzero_bytes(uint32_t x) {
    return (__vsetne4(x, 0) * 0x01020408u) >> 24;
  }
};

// Calls body(segment, its first element) for the segments of a chunk. kAtOnce of them are loaded
// before the first is looked at.
template <class Segment, class Body>
__device__ __forceinline__ void for_each_segment(const typename Segment::Call& call, int64_t chunk,
                                                 const Body& body) {
  const int64_t begin = chunk * call.per_chunk, end = min(call.n, begin + call.per_chunk);
  for (int64_t first = begin; first < end; first += Segment::kAtOnce * kSegment) {
    Segment segments[Segment::kAtOnce];
#pragma unroll
    for (int s = 0; s < Segment::kAtOnce; ++s) segments[s].load(call, first + s * kSegment);
#pragma unroll
    for (int s = 0; s < Segment::kAtOnce; ++s) {
      segments[s].look();
      body(segments[s], first + s * kSegment);
    }
  }
}

// ---- kernels

// Turns the counts of chunks into places, in place, and adds them up. A whole block does it.
__device__ __forceinline__ void place_chunks(int64_t* places, int64_t chunks, int64_t* count) {
  constexpr int kEach = NonzeroChunks::kMost / kCountThreads;
  __shared__ int64_t of_warp[kCountThreads / kWarp];
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int64_t first = int64_t{threadIdx.x} * kEach;
  int64_t counts[kEach], sum = 0;
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    counts[i] = first + i < chunks ? places[first + i] : 0;
    sum += counts[i];
  }
  const int64_t up_to = inclusive_over_lanes(sum);
  if (lane_number() == kWarp - 1) of_warp[warp] = up_to;
  __syncthreads();
  int64_t place = up_to - sum;
  for (int w = 0; w < warp; ++w) place += of_warp[w];
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    if (first + i < chunks) places[first + i] = place;
    place += counts[i];
  }
  if (threadIdx.x == kCountThreads - 1) *count = place;
}

template <class Segment>
__global__ void __launch_bounds__(kCountThreads)
    count_chunks(const __grid_constant__ typename Segment::Call call) {
  begin_kernel();
  const int64_t chunk = int64_t{blockIdx.x} * (kCountThreads / kWarp) + threadIdx.x / kWarp;
  int64_t count = 0;
  for_each_segment<Segment>(call, chunk, [&](const Segment& s, int64_t) { count += s.count(); });
  count = lanes_reduce<kWarp>(count, [](int64_t a, int64_t b) { return a + b; });
  if (lane_number() == 0 && chunk < call.chunks) call.places[chunk] = count;
  if (gridDim.x > 1) return;  // another kernel adds up the blocks'
  __syncthreads();
  place_chunks(call.places, call.chunks, call.count);
}

__global__ void __launch_bounds__(kCountThreads)
    add_counts(int64_t* places, int64_t chunks, int64_t* count) {
  begin_kernel();
  place_chunks(places, chunks, count);
}

template <class Segment>
__global__ void __launch_bounds__(kWriteThreads)
    write_chunks(const __grid_constant__ typename Segment::Call call) {
  begin_kernel();
  const int64_t chunk = int64_t{blockIdx.x} * (kWriteThreads / kWarp) + threadIdx.x / kWarp;
  if (chunk >= call.chunks) return;
  const uint32_t lower_lanes = (uint32_t{1} << lane_number()) - 1;
  int64_t place = call.places[chunk];
  for_each_segment<Segment>(call, chunk, [&](const Segment& segment, int64_t first) {
#pragma unroll 2
    for (int w = 0; w < kWords; ++w) {
      const uint32_t word = segment.word(w);
      if (word >> lane_number() & 1)
        call.write_coordinates(place + __popc(word & lower_lanes),
                               first + w * kWarp + lane_number());
      place += __popc(word);
    }
  });
}

// ---- the ops

template <class Index>
NonzeroCall<Index> make_call(const dt_view& x, const dt_view& places, const NonzeroChunks& c) {
  NonzeroCall<Index> kernel;
  kernel.x = x.data;
  kernel.significant = ~uint64_t{0};
  if (is_floating(x.dtype)) kernel.significant = (uint64_t{1} << (8 * bytes_of(x.dtype) - 1)) - 1;
  kernel.n = c.elements, kernel.per_chunk = c.per_chunk, kernel.chunks = c.chunks;
  kernel.count = nullptr, kernel.places = static_cast<int64_t*>(places.data);
  kernel.y = nullptr;
  kernel.ndim = x.ndim;
  Axes<1> axes;
  for (int d = 0; d < x.ndim; ++d) {
    kernel.sizes[d] = static_cast<Index>(x.sizes[d]);
    axes.insert(axes.n, x.sizes[d], {x.strides[d]});
  }
  axes.coalesce();
  // The sizes of an empty x cannot be divided by, and nobody will.
  if (c.elements > 0) kernel.offsets = Offsets<1, Index>(axes);
  return kernel;
}

template <class Index>
bool is_in_packets(const NonzeroCall<Index>& kernel, const dt_view& x) {
  return bytes_of(x.dtype) == 1 && kernel.offsets.ndim == 1 && kernel.offsets.strides[0][0] == 1 &&
         is_aligned(x.data, kPacketBytes);
}

template <class T>
struct SegmentType {
  using type = T;
};

// body(call, the type of its segments)
template <class Index, class Body>
int32_t with_segments(const dt_view& x, const dt_view& places, const NonzeroChunks& c,
                      const Body& body) {
  auto kernel = make_call<Index>(x, places, c);
  if (is_in_packets(kernel, x)) return body(kernel, SegmentType<Bytes<Index>>());
  return visit_width(x.dtype, [&](auto type) {
    return body(kernel, SegmentType<Elements<typename decltype(type)::type, Index>>());
  });
}

template <class Body>
int32_t with_call(const dt_view& x, const dt_view& places, const NonzeroChunks& c,
                  const Body& body) {
  if (c.elements <= kMaxIndex32) return with_segments<uint32_t>(x, places, c, body);
  return with_segments<uint64_t>(x, places, c, body);
}

// Blocks whose warps have a chunk each.
dim3 blocks_of(const NonzeroChunks& c, int threads) {
  return dim3(static_cast<unsigned>(divide_up(c.chunks, threads / kWarp)));
}

}  // namespace

int32_t kernels::nonzero_count(const dt_stream* stream, const calls::NonzeroCount& call) {
  const NonzeroChunks c(numel(call.x));
  const dim3 blocks = blocks_of(c, kCountThreads);
  return with_call(call.x, call.places, c, [&](auto& kernel, auto segment) {
    kernel.count = static_cast<int64_t*>(call.count.data);
    const int32_t code = launch(stream, count_chunks<typename decltype(segment)::type>, blocks,
                                dim3(kCountThreads), 0, kernel);
    if (code != DT_KERNEL_OK || blocks.x == 1) return code;
    return launch(stream, add_counts, dim3(1), dim3(kCountThreads), 0, kernel.places, c.chunks,
                  kernel.count);
  });
}

int32_t kernels::nonzero(const dt_stream* stream, const calls::Nonzero& call) {
  const NonzeroChunks c(numel(call.x));
  if (call.x.ndim == 0 || numel(call.y) == 0) return DT_KERNEL_OK;
  return with_call(call.x, call.places, c, [&](auto& kernel, auto segment) {
    kernel.y = static_cast<int64_t*>(call.y.data);
    return launch(stream, write_chunks<typename decltype(segment)::type>,
                  blocks_of(c, kWriteThreads), dim3(kWriteThreads), 0, kernel);
  });
}

}  // namespace dt::cuda
