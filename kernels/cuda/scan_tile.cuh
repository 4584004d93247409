// What a thread of a scan holds: how elements are joined, loaded and stored, and its share of a
// tile of a line (scan.cu).
#pragma once

#include <algorithm>
#include <type_traits>

#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/offsets.cuh"
#include "kernels/cuda/packet.cuh"
#include "kernels/cuda/scan_lanes.cuh"
#include "kernels/cuda/types.cuh"
#include "kernels/math.h"

namespace dt::cuda {
namespace {

constexpr int kSubtiles = 4;  // of kWidth elements per thread, in flight together
// Neighbouring elements that a thread scans by itself, in lines that teams share. What a thread
// shuffles is for all of them.
constexpr int kRowWidth = 4;
// The same in chunks of lines: an access of 16 bytes, so that a warp's are without gaps. (Of twice
// as many, each access reached half of every sector only.)
template <class Element, class Result>
constexpr int kChunkWidth = kPacketBytes / std::max(sizeof(Element), sizeof(Result));

// ---- what a scan does with an element: joins it to those before. Chunks are joined in the same
// way.

template <class T>
struct Addition {
  using Value = T;
  static __device__ __forceinline__ T identity() { return T(0); }
  static __device__ __forceinline__ T combine(T before, T x) { return before + x; }
};

template <class T>
struct Multiplication {
  using Value = T;
  static __device__ __forceinline__ T identity() { return T(1); }
  static __device__ __forceinline__ T combine(T before, T x) { return before * x; }
};

template <class Fold>
constexpr bool kIsAddition = false;
template <class T>
constexpr bool kIsAddition<Addition<T>> = true;

struct LogOfSum {
  using Value = double;
  static __device__ __forceinline__ double identity() { return -math::kInfinity; }
  static __device__ __noinline__ double combine(double before, double x) {
    const double larger = math::maximum(before, x), smaller = math::minimum(before, x);
    if (larger == smaller && math::isinf(larger)) return larger;
    return larger + math::log1p(math::exp(smaller - larger));
  }
};

// The logarithm of a sum of exponentials as `top` + log(`sum`), where `sum` is at least 1: a join
// costs one exponential, and a logarithm is taken of results alone. Its error in float is that of
// the exponentials of what is near the top, whatever the top is.
struct LogOf {
  float top, sum;

  LogOf() = default;
  __device__ __forceinline__ LogOf(float log, float times) : top(log), sum(times) {}
  template <class T>
  __device__ __forceinline__ explicit LogOf(T log) : top(static_cast<float>(log)), sum(1) {}
  __device__ __forceinline__ explicit operator float() const { return top + math::log(sum); }
};

struct LogOfFloats {
  using Value = LogOf;
  static __device__ __forceinline__ LogOf identity() { return {-math::kInfinity, 0}; }
  static __device__ __forceinline__ LogOf combine(const LogOf& before, const LogOf& x) {
    const bool is_later = x.top > before.top || x.top != x.top;  // NaN stays
    const LogOf large = is_later ? x : before, small = is_later ? before : x;
    const float distance = small.top == large.top ? 0 : small.top - large.top;
    return {large.top, large.sum + small.sum * math::exp(distance)};
  }
};

struct ScanCall {
  void* y;
  const void* x;
  int32_t y_dtype, x_dtype;
  Offsets<2, uint32_t> lines;  // of y and x
  uint32_t count;              // lines
  int64_t length, y_stride, x_stride;
  int64_t chunk_length;  // elements, of lines side by side
  // What chunks give; or null. [chunks][lines] of lines side by side, else [lines][chunks].
  void* totals;
  uint32_t chunks;
  int64_t chunk_tiles;  // of lines of neighbours
};

// ---- elements: of a C++ type, or of any dtype (Any) one by one. Integers are added up in 64 bits.

template <class Source>
struct WrittenAs {
  using Type = Source;
};
template <>
struct WrittenAs<int32_t> {
  using Type = uint64_t;
};
template <>
struct WrittenAs<uint8_t> {
  using Type = uint64_t;
};
template <class Source>
using Written = typename WrittenAs<Source>::Type;

// Loads in flight of a thread that has a line to itself.
template <class Source>
constexpr int kBatch = std::is_same_v<Source, Any> ? 4 : 8;

template <class Fold, class Source>
struct Elements {
  using Sum = typename Fold::Value;
  using Result = std::conditional_t<std::is_same_v<Source, Any>, Sum, Written<Source>>;
  using Element = std::conditional_t<std::is_same_v<Source, Any>, Sum, Source>;  // as it is loaded

  static __device__ __forceinline__ Element load(const ScanCall& call, int64_t offset) {
    if constexpr (std::is_same_v<Source, Any>)
      return load_as<Sum>(call.x, call.x_dtype, offset);
    else
      return static_cast<const Source*>(call.x)[offset];
  }
  static __device__ __forceinline__ void store(const ScanCall& call, int64_t offset, Sum value) {
    if constexpr (std::is_same_v<Source, Any>)
      store_as(call.y, call.y_dtype, offset, value);
    else
      static_cast<Written<Source>*>(call.y)[offset] = static_cast<Written<Source>>(value);
  }
};

// A line that is walked in packets of kWidth elements. It may begin between two of them: places are
// counted from the last boundary before y's first element, which has place `lead`. x is read in
// packets, too, if its boundaries are at the same places.
template <class Fold, class Source, int kWidth>
class Line {
 public:
  using Sum = typename Fold::Value;
  using Element = typename Elements<Fold, Source>::Element;

  // A line that does not exist has no elements.
  __device__ __forceinline__ Line(const ScanCall& call, uint32_t number)
      : call_(call), length_(number < call.count ? call.length : 0) {
    int64_t offset[2];
    call.lines.at(number < call.count ? number : 0, offset);
    y_ = offset[0], x_ = offset[1];
    if constexpr (!std::is_same_v<Source, Any>) {
      if (call.y_stride == 1)
        lead_ = misalignment(static_cast<const Written<Source>*>(call.y) + y_);
      packets_of_y_ = call.y_stride == 1;
      packets_of_x_ =
          call.x_stride == 1 && misalignment(static_cast<const Source*>(call.x) + x_) == lead_;
    }
  }

  // Places of the line's elements are below it.
  __device__ __forceinline__ int64_t end() const { return lead_ + length_; }

  // Whether places [begin, begin + count), which begin at a boundary, are packets of x and of y.
  __device__ __forceinline__ bool has_packets(int64_t begin, int64_t count) const {
    return packets_of_x_ && packets_of_y_ && begin >= lead_ && begin + count <= end();
  }
  // Such packets without a question, so that many are in flight together.
  __device__ __forceinline__ void load_packet_at(int64_t place, Element (&element)[kWidth]) const {
    if constexpr (!std::is_same_v<Source, Any>) {
      const auto packet =
          load_packet<kWidth>(static_cast<const Source*>(call_.x) + x_ + (place - lead_));
#pragma unroll
      for (int i = 0; i < kWidth; ++i) element[i] = packet.value[i];
    }
  }
  __device__ __forceinline__ void store_packet_at(int64_t place, const Sum (&value)[kWidth]) const {
    if constexpr (!std::is_same_v<Source, Any>) {
      Packet<Written<Source>, kWidth> packet;
#pragma unroll
      for (int i = 0; i < kWidth; ++i) packet.value[i] = static_cast<Written<Source>>(value[i]);
      store_packet(static_cast<Written<Source>*>(call_.y) + y_ + (place - lead_), packet);
    }
  }

  // The elements at places [place, place + kWidth), which begin at a boundary. What is not in the
  // line counts as nothing. They are left as they are: a conversion here, between jumps, would wait
  // for its element before the next ones are asked for.
  __device__ __forceinline__ void load(int64_t place, Element (&element)[kWidth]) const {
    const int64_t first = place - lead_;
    if constexpr (!std::is_same_v<Source, Any>) {
      if (packets_of_x_ && is_whole(first)) return load_packet_at(place, element);
    }
#pragma unroll
    for (int i = 0; i < kWidth; ++i)
      element[i] = contains(first + i)
                       ? Elements<Fold, Source>::load(call_, x_ + (first + i) * call_.x_stride)
                       : static_cast<Element>(Fold::identity());
  }

  // Those of a thread's share of a tile; `is_whole`: what has_packets() says of the tile.
  template <int64_t kStep>
  __device__ __forceinline__ void load_tile(int64_t first, bool is_whole,
                                            Packet<Element, kWidth> (&element)[kSubtiles]) const {
    if (is_whole) {
#pragma unroll
      for (int s = 0; s < kSubtiles; ++s) load_packet_at(first + s * kStep, element[s].value);
    } else {
#pragma unroll
      for (int s = 0; s < kSubtiles; ++s) load(first + s * kStep, element[s].value);
    }
  }

  __device__ __forceinline__ void store(int64_t place, const Sum (&value)[kWidth]) const {
    const int64_t first = place - lead_;
    if constexpr (!std::is_same_v<Source, Any>) {
      if (packets_of_y_ && is_whole(first)) return store_packet_at(place, value);
    }
#pragma unroll
    for (int i = 0; i < kWidth; ++i) {
      if (contains(first + i))
        Elements<Fold, Source>::store(call_, y_ + (first + i) * call_.y_stride, value[i]);
    }
  }

 private:
  template <class T>
  static __device__ __forceinline__ int misalignment(const T* p) {
    return static_cast<int>(reinterpret_cast<uintptr_t>(p) % kPacketBytes / sizeof(T));
  }
  __device__ __forceinline__ bool contains(int64_t i) const {
    return i >= 0 && i < length_;
  }
  __device__ __forceinline__ bool is_whole(int64_t first) const {
    return first >= 0 && first + kWidth <= length_;
  }

  const ScanCall& call_;
  int64_t length_, y_, x_;
  int lead_ = 0;
  bool packets_of_y_ = false, packets_of_x_ = false;
};

// ---- lines of neighbours

// A tile is kSubtiles times kWidth elements for each of the kTeam threads that share a line.
template <int kTeam, int kWidth = kRowWidth>
constexpr int64_t kTile = int64_t{kSubtiles} * kWidth* kTeam;

// A thread's share of a tile: kWidth elements of each subtile. Parts of a tile follow each other
// subtile by subtile, warp by warp.
template <class Fold, class Source, int kTeam, int kWidth>
class TileShare {
 public:
  using Sum = typename Fold::Value;
  using OfLine = Line<Fold, Source, kWidth>;
  using Part = Packet<typename OfLine::Element, kWidth>;
  Sum total;  // of the tile

  // `tile`: the place of its first element; `shared`: a number for each part.
  __device__ __forceinline__ TileShare(const OfLine& line, int64_t tile, Sum* shared)
      : first_(tile + threadIdx.x % kTeam * kWidth),
        is_whole_(line.has_packets(tile, kTile<kTeam, kWidth>)) {
    line.template load_tile<kStep>(first_, is_whole_, element_);
#pragma unroll
    for (int s = 0; s < kSubtiles; ++s) {
      Sum sum = static_cast<Sum>(element_[s].value[0]);
#pragma unroll
      for (int i = 1; i < kWidth; ++i)
        sum = Fold::combine(sum, static_cast<Sum>(element_[s].value[i]));
      prefix_[s] = inclusive<Fold, kLanes>(sum);
    }
    combine_parts(shared);
  }

  // `carry`: what all before the tile gives.
  __device__ __forceinline__ void store(const OfLine& line, Sum carry) {
#pragma unroll
    for (int s = 0; s < kSubtiles; ++s) {
      const Sum before = Fold::combine(carry, prefix_[s]);
      Sum sum = static_cast<Sum>(element_[s].value[0]),
          value[kWidth] = {Fold::combine(before, sum)};
#pragma unroll
      for (int i = 1; i < kWidth; ++i) {
        sum = Fold::combine(sum, static_cast<Sum>(element_[s].value[i]));
        value[i] = Fold::combine(before, sum);
      }
      if (is_whole_)
        line.store_packet_at(first_ + s * kStep, value);
      else
        line.store(first_ + s * kStep, value);
    }
  }

 private:
  static constexpr int kStep = kTeam * kWidth;  // from one subtile to the next
  static constexpr int kLanes = kTeam < kWarp ? kTeam : kWarp;

  // Turns what the lanes up to this one give into what everything in the tile before it gives.
  __device__ __forceinline__ void combine_parts(Sum* shared) {
    if constexpr (kTeam <= kWarp) {
      total = Fold::identity();
#pragma unroll
      for (int s = 0; s < kSubtiles; ++s) {
        const Sum part = shuffle<kLanes>(prefix_[s], kLanes - 1);
        prefix_[s] = Fold::combine(total, exclusive<Fold, kLanes>(prefix_[s]));
        total = Fold::combine(total, part);
      }
    } else {
      constexpr int kWarps = kTeam / kWarp;
      static_assert(kSubtiles * kWarps == kWarp, "a warp scans the sums of all parts");
      const int lane = lane_number(), warp = threadIdx.x / kWarp % kWarps;
#pragma unroll
      for (int s = 0; s < kSubtiles; ++s) {
        if (lane == kWarp - 1) shared[s * kWarps + warp] = prefix_[s];
        prefix_[s] = exclusive<Fold>(prefix_[s]);
      }
      __syncthreads();
      const Sum parts = inclusive<Fold>(shared[lane]);
      const Sum parts_before = exclusive<Fold>(parts);
#pragma unroll
      for (int s = 0; s < kSubtiles; ++s)
        prefix_[s] = Fold::combine(shuffle<kWarp>(parts_before, s * kWarps + warp), prefix_[s]);
      total = shuffle<kWarp>(parts, kWarp - 1);
    }
  }

  const int64_t first_;  // the place of the thread's first element
  const bool is_whole_;  // nothing but packets
  Part element_[kSubtiles];
  Sum prefix_[kSubtiles];
};

}  // namespace
}  // namespace dt::cuda
