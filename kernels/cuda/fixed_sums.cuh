// Sums of single elements through indices that repeat, of many, without a sort: whole numbers have
// the same sum in every order, so atomics may add them up.
//
// Integers are such numbers. Floats become them (fixed point): a term is a number of units, where a
// unit is so far below the largest term of all that no sum needs more than 64 bits. What lies below
// a unit is kept, too, in the units of a second sum; few terms have a share in that. So nothing is
// lost, unless terms are too far apart for both, or not finite. Then each place has a unit of its
// own, by its own largest term, and one sum:
//
//              bits of a sum
//   high    |carries|24 of the largest term| below |
//   low                                            |carries| further |
//
// The carries are log2 of the number of terms; where that is 2^20, 17 bits remain below the largest
// term, and 39 further ones. One by one, floats would keep none.
//
// Atomics of one place are done one after another. So neighbours of a warp with the same place are
// added up first, and where there are few places, blocks have several copies of the sums.
#pragma once

#include <math_constants.h>

#include <algorithm>
#include <type_traits>

#include "kernels/cuda/scratch.h"
#include "kernels/cuda/split_plan.cuh"
#include "kernels/cuda/together.cuh"

namespace dt::cuda {

constexpr int kFixedThreads = 512, kFixedBlocks = 2;  // of a multiprocessor
constexpr int kIntegerThreads = 256;
constexpr int kFixedAtOnce = 4;  // terms or places of a thread

// ---- terms: the elements of all slices

template <class T>
struct Term {
  uint32_t place;  // the destination's element, counted from the lowest key's first
  T value;         // weighted
};

template <class T, class Op>
struct Terms {
  Values<T> values;
  KeyMaker maker;
  Slice slice;
  FastDivide by_slice;
  Op op;
  uint32_t count, places;  // nothing is added at a place that is not below `places`
  int64_t unit;            // from one key to the next
  bool is_line;            // one index after another, each for one element

  Terms(const SplitPlan& split, const Complaint& complaint, const Values<T>& values, const Op& op)
      : values(values),
        maker(split, complaint),
        slice(split.slice),
        by_slice(static_cast<uint32_t>(split.slice.count)),
        op(op),
        count(static_cast<uint32_t>(split.positions.count() * split.slice.count)),
        places(static_cast<uint32_t>(split.extent * split.slice.count)),
        unit(split.unit),
        is_line(split.slice.count == 1 && maker.positions.ndim == 1 &&
                maker.positions.selectors == 1) {}

#ifdef __CUDACC__
  __device__ __forceinline__ Term<T> at(uint32_t number) const {
    if (number >= count) return {places, T()};
    const uint32_t position = position_of(number);
    const uint32_t element = number - position * static_cast<uint32_t>(slice.count);
    int64_t plain, offset;
    const bool is_right = find(position, &plain, &offset);
    const auto key = static_cast<uint32_t>(offset - maker.lowest);
    const uint32_t place = key * static_cast<uint32_t>(slice.count) + element;
    return {is_right ? place : places, value(plain, element)};
  }
  // The value alone, for which no index is read.
  __device__ __forceinline__ T value_at(uint32_t number) const {
    const uint32_t position = position_of(number);
    return value(maker.positions.plain_at(position),
                 number - position * static_cast<uint32_t>(slice.count));
  }
  // Where a place is, counted from that of the lowest key.
  __device__ __forceinline__ int64_t offset_of(uint32_t place) const {
    const uint32_t key = position_of(place);
    int64_t from, to = 0;
    if (slice.count > 1) slice.at(place - key * static_cast<uint32_t>(slice.count), &from, &to);
    return key * unit + to;
  }

 private:
  __device__ __forceinline__ uint32_t position_of(uint32_t number) const {
    return slice.count == 1 ? number : by_slice.divide(number);
  }
  __device__ __forceinline__ bool find(uint32_t position, int64_t* plain, int64_t* offset) const {
    const IndexPlan& p = maker.positions;
    if (!is_line) return p.at<2>(position, maker.complaint, plain, offset);
    *plain = position * p.plain[0];
    *offset = position * p.indexed[0];
    return p.choose(0, p.selector[0].data[position * p.selector[0].strides[0]], maker.complaint,
                    offset);
  }
  __device__ __forceinline__ T value(int64_t plain, uint32_t element) const {
    int64_t from = 0, to;
    if (slice.count > 1) slice.at(element, &from, &to);
    return op.weigh(values.template load<1>(plain + from).value[0]);
  }
#endif
};

#ifdef __CUDACC__

// Adds an amount of each lane to the sum at its place. Neighbours with the same place, which there
// are many of where indices are sorted, are added up first: atomics of one place follow each other.
template <class Word, class At>
__device__ __forceinline__ void add_amounts(uint32_t place, Word amount, bool has_place,
                                            const At& at) {
  const unsigned all = 0xffffffffu, lane = threadIdx.x % kWarp;
  const uint32_t before = __shfl_up_sync(all, place, 1);
  const bool is_first = lane == 0 || before != place;
  const unsigned firsts = __ballot_sync(all, is_first);
  if (firsts != all) {
    const unsigned later = firsts & (lane == kWarp - 1 ? 0 : all << (lane + 1));
    const unsigned end = later ? static_cast<unsigned>(__ffs(static_cast<int>(later))) - 1 : kWarp;
#pragma unroll
    for (unsigned step = 1; step < kWarp; step *= 2) {
      const Word other = __shfl_down_sync(all, amount, step);
      if (lane + step < end) amount += other;
    }
  }
  if (has_place && is_first && amount != 0) atomicAdd(at(place), amount);
}

// ---- integers

// The type of the same width that atomicAdd takes.
template <class T>
using AtomicWord = std::conditional_t<sizeof(T) == 8, unsigned long long, unsigned>;

template <class T, class Op>
__global__ void __launch_bounds__(kIntegerThreads) add_integers(T* y, Terms<T, Op> terms) {
  begin_kernel();
  using Word = AtomicWord<T>;
  const uint32_t first = blockIdx.x * (kFixedAtOnce * kIntegerThreads) + threadIdx.x;
  Term<T> term[kFixedAtOnce];
#pragma unroll
  for (int i = 0; i < kFixedAtOnce; ++i) term[i] = terms.at(first + i * kIntegerThreads);
#pragma unroll
  for (int i = 0; i < kFixedAtOnce; ++i) {
    add_amounts(
        term[i].place, static_cast<Word>(term[i].value), term[i].place < terms.places,
        [&](uint32_t place) { return reinterpret_cast<Word*>(y + terms.offset_of(place)); });
  }
}

// ---- floats

using Sum64 = unsigned long long;

constexpr int kMantissaBits = 24;
constexpr uint32_t kNotFinite = 255;  // an exponent
// What is not finite is noted in place of a sum.
constexpr Sum64 kHasInf = 1, kHasMinusInf = 2, kHasNan = 4;

// The biased exponent; zero and the numbers below the normal ones have that of the smallest normal.
__device__ __forceinline__ uint32_t exponent_of(float x) {
  return max(__float_as_uint(x) >> 23 & 255u, 1u);
}
__device__ __forceinline__ bool is_minus_zero(float x) {
  return __float_as_uint(x) == 0x80000000u;
}
__device__ __forceinline__ double power_of_two(int exponent) {
  return __hiloint2double((1023 + exponent) << 20, 0);
}

// The exponents of terms that are not 0.
struct ExponentRange {
  uint32_t least, most;

  static __device__ __forceinline__ ExponentRange nothing() { return {kNotFinite, 0}; }
  __device__ __forceinline__ void add(float x) {
    if (x == 0) return;  // NaN is not
    least = min(least, exponent_of(x));
    most = max(most, exponent_of(x));
  }
  __device__ __forceinline__ void add(const ExponentRange& other) {
    least = min(least, other.least);
    most = max(most, other.most);
  }
  // The range of all threads of the block.
  __device__ __forceinline__ ExponentRange of_block() const {
    __shared__ ExponentRange of_warp[kFixedThreads / kWarp];
    const ExponentRange mine = {__reduce_min_sync(0xffffffffu, least),
                                __reduce_max_sync(0xffffffffu, most)};
    if (threadIdx.x % kWarp == 0) of_warp[threadIdx.x / kWarp] = mine;
    __syncthreads();
    ExponentRange all = nothing();
    for (const ExponentRange& range : of_warp) all.add(range);
    return all;
  }
};

template <class T, class Op>
struct FixedSums {
  using Value = T;

  T* y;
  Terms<T, Op> terms;
  int below, further;     // bits: see the picture
  bool fresh;             // whether places are all of y, which was not written before
  uint32_t copies;        // of sums, a power of two
  ExponentRange* ranges;  // of each block
  // [copies][places]. Where each place has its own unit there is no low sum, but the exponent of
  // its largest term, or 0 where no term was.
  Sum64 *high, *low;

  __device__ __forceinline__ uint32_t* largest() const { return reinterpret_cast<uint32_t*>(low); }
  // log2 of how many units of a sum are 1, if the largest term has this exponent.
  __device__ __forceinline__ int units(uint32_t exponent) const {
    return 126 + kMantissaBits + below - static_cast<int>(exponent);
  }
  __device__ __forceinline__ T* at(uint32_t place) const { return y + terms.offset_of(place); }
  // Where this block adds.
  __device__ __forceinline__ Sum64* copy_of(Sum64* sums) const {
    return sums + (blockIdx.x & (copies - 1)) * terms.places;
  }
  // What the copies have at a place, merged by the lanes of a warp if there are several.
  template <int kLanes, class Merge>
  __device__ __forceinline__ Sum64 merged(const Sum64* sums, uint32_t place,
                                          const Merge& merge) const {
    if constexpr (kLanes == 1) return __ldcg(sums + place);
    Sum64 all = 0;
    for (uint32_t i = threadIdx.x % kLanes; i < copies; i += kLanes)
      all = merge(all, __ldcg(sums + i * terms.places + place));
#pragma unroll
    for (int step = kLanes / 2; step > 0; step /= 2)
      all = merge(all, __shfl_xor_sync(0xffffffffu, all, step));
    return all;
  }
  template <int kLanes>
  __device__ __forceinline__ double added(const Sum64* sums, uint32_t place) const {
    const auto add = [](Sum64 a, Sum64 b) { return a + b; };
    return static_cast<double>(static_cast<long long>(merged<kLanes>(sums, place, add)));
  }
};

__device__ __forceinline__ uint32_t thread_of_grid() {
  return blockIdx.x * kFixedThreads + threadIdx.x;
}
__device__ __forceinline__ uint32_t threads_of_grid() {
  return gridDim.x * kFixedThreads;
}

// The terms of a thread, some at a time. If that is all of them they stay in its registers.
template <class T, class Op>
struct OwnTerms {
  const Terms<T, Op>& terms;
  Term<T> term[kFixedAtOnce];
  bool are_all;

  __device__ __forceinline__ explicit OwnTerms(const Terms<T, Op>& t)
      : terms(t), are_all(t.count <= threads_of_grid() * kFixedAtOnce) {
    if (are_all) load(thread_of_grid());
  }
  __device__ __forceinline__ void load(uint32_t first) {
#pragma unroll
    for (int i = 0; i < kFixedAtOnce; ++i) term[i] = terms.at(first + i * threads_of_grid());
  }
  // f(term), of all threads of a warp at once.
  template <class F>
  __device__ __forceinline__ void each(const F& f) {
    const uint32_t step = threads_of_grid() * kFixedAtOnce;
    for (uint32_t begin = 0; begin < terms.count; begin += step) {
      if (!are_all) load(begin + thread_of_grid());
#pragma unroll
      for (int i = 0; i < kFixedAtOnce; ++i) f(term[i]);
    }
  }
  __device__ __forceinline__ ExponentRange range() const {
    ExponentRange range = ExponentRange::nothing();
    if (are_all) {
#pragma unroll
      for (int i = 0; i < kFixedAtOnce; ++i) range.add(static_cast<float>(term[i].value));
      return range;
    }
#pragma unroll kFixedAtOnce
    for (uint32_t i = thread_of_grid(); i < terms.count; i += threads_of_grid())
      range.add(static_cast<float>(terms.value_at(i)));
    return range;
  }
};

// ---- one unit for all places

template <class Sums>
__device__ __forceinline__ void add_at_once(const Sums& sums, uint32_t place, float x,
                                            uint32_t most) {
  const int span = sums.below + sums.further;
  const uint32_t bits = __float_as_uint(x);
  const bool is_normal = (bits >> 23 & 255u) != 0, has_place = place < sums.terms.places;
  long long mantissa = (bits & 0x7fffffu) | (is_normal ? 0x800000u : 0u);
  if (bits >> 31) mantissa = -mantissa;
  // How far the mantissa is to be shifted to count in units of the low sum.
  const int shift =
      x == 0 ? span : static_cast<int>(exponent_of(x)) + span - static_cast<int>(most);
  const bool has_low = shift < sums.further;
  const long long shifted = mantissa << (has_low ? shift : shift - sums.further);
  const Sum64 mask = (Sum64{1} << sums.further) - 1;
  add_amounts(place, static_cast<Sum64>(has_low ? shifted >> sums.further : shifted), has_place,
              [&](uint32_t p) { return sums.copy_of(sums.high) + p; });
  if (__any_sync(0xffffffffu, has_low)) {
    add_amounts(place, has_low ? static_cast<Sum64>(shifted) & mask : 0, has_place,
                [&](uint32_t p) { return sums.copy_of(sums.low) + p; });
  }
  // What a place sums up to may be 0 and is not written then, but -0 + 0 is 0. Terms that cancel
  // leave -0: to look at y for each of them would cost more.
  if (bits == 0 && has_place && !sums.fresh) {
    if (is_minus_zero(static_cast<float>(*sums.at(place)))) *sums.at(place) = {};
  }
}

template <int kLanes, class Sums>
__device__ __forceinline__ double total_at_once(const Sums& sums, uint32_t place, uint32_t most) {
  const double low = sums.template added<kLanes>(sums.low, place) * power_of_two(-sums.further);
  return (sums.template added<kLanes>(sums.high, place) + low) * power_of_two(-sums.units(most));
}

// ---- a unit for each place

template <class Sums>
__device__ __forceinline__ void find_largest(const Sums& sums, uint32_t place, float x) {
  if (place >= sums.terms.places || is_minus_zero(x)) return;
  uint32_t* const largest = sums.largest() + place;
  // What is seen may be old; it is never too much.
  if (__ldca(largest) < exponent_of(x)) atomicMax(largest, exponent_of(x));
}

template <class Sums>
__device__ __forceinline__ void add_by_place(const Sums& sums, uint32_t place, float x) {
  const uint32_t largest = place < sums.terms.places ? __ldcg(sums.largest() + place) : 0;
  Sum64 amount = 0;
  if (largest == kNotFinite) {
    const Sum64 what = isnan(x) ? kHasNan : x > 0 ? kHasInf : kHasMinusInf;
    if (exponent_of(x) == kNotFinite) atomicOr(sums.copy_of(sums.high) + place, what);
  } else {
    const double units = static_cast<double>(x) * power_of_two(sums.units(largest));
    amount = static_cast<Sum64>(__double2ll_rn(units));
  }
  add_amounts(place, amount, largest != 0, [&](uint32_t p) { return sums.copy_of(sums.high) + p; });
}

template <int kLanes, class Sums>
__device__ __forceinline__ double total_by_place(const Sums& sums, uint32_t place,
                                                 uint32_t largest) {
  if (largest != kNotFinite)
    return sums.template added<kLanes>(sums.high, place) * power_of_two(-sums.units(largest));
  const Sum64 what =
      sums.template merged<kLanes>(sums.high, place, [](Sum64 a, Sum64 b) { return a | b; });
  return what == kHasInf ? CUDART_INF : what == kHasMinusInf ? -CUDART_INF : CUDART_NAN;
}

// ---- both

// Writes the places' totals, each by as many threads as merge its copies. `largest` is the exponent
// of the largest term of all, or 0 where each place has its own.
template <int kLanes, class Sums>
__device__ __forceinline__ void finish_places(const Sums& sums, uint32_t largest) {
  const uint32_t first = thread_of_grid() / kLanes, step = threads_of_grid() / kLanes;
#pragma unroll kFixedAtOnce
  for (uint32_t place = first; place < sums.terms.places; place += step) {
    const uint32_t of_place = largest == 0 ? __ldcg(sums.largest() + place) : 0;
    double total = 0;
    if (largest != 0)
      total = total_at_once<kLanes>(sums, place, largest);
    else if (of_place != 0)
      total = total_by_place<kLanes>(sums, place, of_place);
    const bool has_changed = total != 0 || of_place != 0;
    if ((!has_changed && !sums.fresh) || threadIdx.x % kLanes != 0) continue;
    if (!sums.fresh) total += static_cast<double>(static_cast<float>(*sums.at(place)));
    *sums.at(place) = static_cast<typename Sums::Value>(static_cast<float>(total));
  }
}

template <class Sums>
__device__ __forceinline__ void finish(const Sums& sums, uint32_t largest) {
  if (sums.copies == 1)
    finish_places<1>(sums, largest);
  else
    finish_places<kWarp>(sums, largest);
}

template <class T, class Op>
__global__ void __launch_bounds__(kFixedThreads, kFixedBlocks) sum_fixed(FixedSums<T, Op> sums) {
  begin_kernel();
  const auto grid = cooperative_groups::this_grid();
  for (uint32_t i = thread_of_grid(); i < sums.terms.places * sums.copies; i += threads_of_grid())
    sums.high[i] = 0, __stcs(sums.low + i, Sum64{0});  // which is seldom needed again
  OwnTerms<T, Op> own(sums.terms);
  const ExponentRange of_block = own.range().of_block();
  if (threadIdx.x == 0) sums.ranges[blockIdx.x] = of_block;
  grid.sync();
  ExponentRange range = ExponentRange::nothing();
  for (uint32_t i = threadIdx.x; i < gridDim.x; i += kFixedThreads) range.add(sums.ranges[i]);
  range = range.of_block();
  const uint32_t most = max(range.most, 1u),
                 span = static_cast<uint32_t>(sums.below + sums.further);
  if (most != kNotFinite && (range.most == 0 || most - range.least <= span)) {
    own.each(
        [&](const Term<T>& t) { add_at_once(sums, t.place, static_cast<float>(t.value), most); });
    grid.sync();
    finish(sums, most);
  } else {
    own.each([&](const Term<T>& t) { find_largest(sums, t.place, static_cast<float>(t.value)); });
    grid.sync();
    own.each([&](const Term<T>& t) { add_by_place(sums, t.place, static_cast<float>(t.value)); });
    grid.sync();
    finish(sums, 0);
  }
}

// ---- on the host

// Slices are better read as packets, in sorted order, unless all terms fit into the registers of a
// grid. So are terms that are fewer than places whose sums do not fit into the second cache.
inline bool can_add_fixed(const SplitPlan& split) {
  constexpr int64_t kLongestSlice = 16, kFewTerms = 1 << 19, kFewPlaces = 1 << 22;
  const int64_t count = split.positions.count() * split.slice.count,
                places = split.extent * split.slice.count,
                longest = count <= kFewTerms ? kLongestSlice : 2,
                most = places <= kFewPlaces ? 4 * count : count;
  return split.positions.selectors <= 2 && split.slice.count <= longest && count <= kMaxIndex32 &&
         places <= most && places < kMaxIndex32;
}

struct FixedBuffers {
  ExponentRange* ranges;
  Sum64 *high, *low;
  uint32_t copies = 1;

  FixedBuffers(Scratch* memory, const dt_stream* stream, const SplitPlan& split) {
    constexpr int64_t kManySums = 8192, kMostCopies = 64;
    const int64_t places = split.extent * split.slice.count;
    while (copies < kMostCopies && 2 * copies * places <= kManySums) copies *= 2;
    ranges = memory->take<ExponentRange>(multiprocessors(stream->device) * kFixedBlocks);
    high = memory->take<Sum64>(copies * places);
    low = memory->take<Sum64>(copies * places);
  }
};

template <class T, class Op>
int32_t add_integers(const dt_stream* stream, T* y, const Terms<T, Op>& terms) {
  const int64_t blocks = divide_up(terms.count, kIntegerThreads * kFixedAtOnce);
  return launch(stream, add_integers<T, Op>, static_cast<unsigned>(blocks), kIntegerThreads, 0, y,
                terms);
}

template <class T, class Op>
int32_t add_floats(const dt_stream* stream, T* y, const Terms<T, Op>& terms,
                   const FixedBuffers& buffers, bool fresh) {
  constexpr int kSumBits = 62, kMostFurther = 63 - kMantissaBits;
  int carries = 0;
  while (terms.count >> carries != 0) ++carries;
  const FixedSums<T, Op> sums = {y,
                                 terms,
                                 kSumBits - kMantissaBits - carries,
                                 std::min(kSumBits - carries, kMostFurther),
                                 fresh,
                                 buffers.copies,
                                 buffers.ranges,
                                 buffers.high,
                                 buffers.low};
  return launch_together(stream, sum_fixed<T, Op>, multiprocessors(stream->device) * kFixedBlocks,
                         kFixedThreads, sums);
}

#endif

}  // namespace dt::cuda
