// Writing through indices. Where positions cannot meet, every element is written by itself
// (direct_writes.cuh). Where they can, it is found out which of them is the last one in a place, or
// they are sorted by destination first (sorted_writes.cuh).
#include <string.h>

#include <algorithm>
#include <type_traits>

#include "kernels/cuda/bucketed_sums.cuh"
#include "kernels/cuda/direct_writes.cuh"
#include "kernels/cuda/fixed_sums.cuh"
#include "kernels/cuda/index_move.h"
#include "kernels/cuda/may_vary.h"
#include "kernels/cuda/owned_sums.cuh"
#include "kernels/cuda/radix_sort.cuh"
#include "kernels/cuda/scratch.h"
#include "kernels/cuda/sorted_sums.cuh"
#include "kernels/cuda/split_plan.cuh"
#include "kernels/cuda/types.cuh"
#include "kernels/cuda/winning_writes.cuh"

namespace dt::cuda {
namespace {

// ---- with repeats: positions and slices

// Makes keys and positions.
template <int kSelectors, class Word>
__global__ void __launch_bounds__(kKeyThreads)
    make_pairs(Word* keys, Word* order, KeyMaker maker, Word count) {
  begin_kernel();
  const Word position = static_cast<Word>(blockIdx.x) * kKeyThreads + threadIdx.x;
  if (position >= count) return;
  keys[position] = maker.key<kSelectors>(position);
  order[position] = position;
}

// Makes keys and sorts them with their positions in one kernel: the place of a key is the number of
// keys before it, and so few are sooner counted than other kernels begin. A block has a warp's
// width of positions; its warps take chunks of all keys in turns.
constexpr int64_t kMostRanked = 4096;
constexpr int kRankThreads = 256, kRankWarps = kRankThreads / kWarp;

// How many of the keys of a chunk are below end_of(number of the key).
template <class EndOf>
__device__ __forceinline__ uint32_t keys_below(const uint32_t* chunk, const EndOf& end_of) {
  uint32_t below = 0;
#pragma unroll
  for (uint32_t i = 0; i < kWarp; i += 4) {
    const Packet<uint32_t, 4> four = load_packet<4>(chunk + i);
#pragma unroll
    for (uint32_t v = 0; v < 4; ++v) below += four.value[v] < end_of(i + v) ? 1 : 0;
  }
  return below;
}

template <int kSelectors>
__global__ void __launch_bounds__(kRankThreads)
    sort_by_rank(uint32_t* keys, uint32_t* order, Keys<kSelectors> key_of, uint32_t count) {
  begin_kernel();
  __shared__ alignas(kPacketBytes) uint32_t key[kMostRanked];
  __shared__ uint32_t ranks[kRankWarps][kWarp];
  const uint32_t lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  const uint32_t chunks = (count + kWarp - 1) / kWarp;
#pragma unroll 4
  for (uint32_t position = threadIdx.x; position < chunks * kWarp; position += kRankThreads)
    key[position] = position < count ? key_of(position) : ~uint32_t{0};
  __syncthreads();
  const uint32_t mine = key[blockIdx.x * kWarp + lane];
  uint32_t rank = 0;
  for (uint32_t chunk = warp; chunk < chunks; chunk += kRankWarps) {
    // Of equal keys that of the lower position comes first.
    const uint32_t end = mine + (chunk < blockIdx.x ? 1 : 0);
    if (chunk == blockIdx.x)
      rank +=
          keys_below(key + chunk * kWarp, [&](uint32_t i) { return mine + (i < lane ? 1 : 0); });
    else
      rank += keys_below(key + chunk * kWarp, [&](uint32_t) { return end; });
  }
  ranks[warp][lane] = rank;
  __syncthreads();
  const uint32_t position = blockIdx.x * kWarp + lane;
  if (warp > 0 || position >= count) return;
#pragma unroll
  for (int w = 1; w < kRankWarps; ++w) rank += ranks[w][lane];
  keys[rank] = mine;
  order[rank] = position;
}

// ---- y that is zero at first

// Makes a contiguous y zero; `bytes` is 0 if its elements count.
int32_t clear(const dt_stream* stream, void* y, int64_t bytes) {
  if (bytes == 0) return DT_KERNEL_OK;
  if (const cudaError_t error = set_device(stream->device))
    return check(error, "cudaSetDevice", stream->fault);
  return check(cudaMemsetAsync(y, 0, static_cast<size_t>(bytes), native_stream(stream)),
               "cudaMemsetAsync", stream->fault);
}

// Whether the slices of all keys, one after another, are y as a whole.
bool is_made_of_slices(const SplitPlan& split, int64_t y_bytes, int64_t element_bytes) {
  return split.unit == split.slice.count && split.lowest == 0 &&
         split.extent * split.slice.count * element_bytes == y_bytes;
}

// ---- with repeats: scratch memory

bool has_few_positions(const SplitPlan& split) {
  return split.is_small() && are_few_pairs(split.positions.count());
}

int32_t sort_few_positions(const dt_stream* stream, const calls::Call& call, const SplitPlan& split,
                           Scratch* scratch, SortedPositions<uint32_t>* sorted) {
  const auto count = static_cast<uint32_t>(split.positions.count());
  const FewPairs few(scratch, count, split.key_bits());
  const KeyMaker maker(split, Complaint(stream, call));
  *sorted = split.sorted(few.memory.keys, few.memory.order);
  if (count <= kMostRanked) {
    return visit_plan(split.positions, [&](auto selectors, auto) {
      constexpr int kSelectors = decltype(selectors)::value;
      return launch(stream, sort_by_rank<kSelectors>,
                    static_cast<unsigned>(divide_up(count, kWarp)), kRankThreads, 0,
                    few.memory.keys, few.memory.order, Keys<kSelectors>{maker}, count);
    });
  }
  return visit_plan(split.positions, [&](auto selectors, auto) {
    return sort_few(stream, few, count, Keys<decltype(selectors)::value>{maker});
  });
}

template <class Word>
int32_t sort_positions(const dt_stream* stream, const calls::Call& call, const SplitPlan& split,
                       Scratch* scratch, SortedPositions<Word>* sorted) {
  if constexpr (sizeof(Word) == sizeof(uint32_t)) {
    if (has_few_positions(split)) return sort_few_positions(stream, call, split, scratch, sorted);
  }
  SortBuffers<Word> buffers(scratch, split);
  const Word count = static_cast<Word>(split.positions.count());
  const KeyMaker maker(split, Complaint(stream, call));
  const int32_t code = visit_plan(split.positions, [&](auto selectors, auto) {
    return launch(stream, make_pairs<decltype(selectors)::value, Word>,
                  static_cast<unsigned>(divide_up(count, kKeyThreads)), kKeyThreads, 0,
                  buffers.keys.Current(), buffers.order.Current(), maker, count);
  });
  if (code != DT_KERNEL_OK) return code;
  return buffers.sort(stream, split, sorted);
}

// ---- with repeats: writing

// Packets and buckets are worth code of their own where gradients are added up.
template <class T>
constexpr bool kIsFloat = std::is_floating_point_v<Widened<T>>;
template <class T, class Word>
constexpr bool kHasPackets = kIsFloat<T> && sizeof(Word) == 4;

// Whether slices can be added up in packets.
template <class T>
bool has_packets(const SplitPlan& split, const void* plain, const void* indexed) {
  constexpr int kWidth = kPacketWidth<T>;
  const Slice& s = split.slice;
  bool packets = plain && s.ndim == 1 && s.plain[0] == 1 && s.indexed[0] == 1 &&
                 s.count % kWidth == 0 && split.unit % kWidth == 0 &&
                 is_aligned(plain, kPacketBytes) && is_aligned(indexed, kPacketBytes);
  for (int d = 0; d < split.positions.ndim; ++d) packets &= split.positions.plain[d] % kWidth == 0;
  return packets;
}

template <class T, class Word>
int32_t write_sorted(const dt_stream* stream, const SplitPlan& split, T* y, const Values<T>& values,
                     const SortedPositions<Word>& sorted) {
  const int64_t blocks = divide_up(split.positions.count() * split.slice.count, kWriteThreads);
  constexpr int64_t kMost = 1 << 20;
  return launch(stream, write_last<T, Word>, static_cast<unsigned>(blocks < kMost ? blocks : kMost),
                kWriteThreads, 0, y, values, sorted, split.positions, split.slice);
}

// ---- with repeats: few positions and destinations

bool can_own(const SplitPlan& split, int64_t element_bytes) {
  return split.is_small() && split.positions.selectors <= 2 &&
         OwnerShape::can(split.positions.count(), split.extent, split.slice.count * element_bytes);
}

template <class T, int kWidth, class Op>
int32_t add_owned(const dt_stream* stream, const calls::Call& call, const SplitPlan& split, T* y,
                  const Values<T>& values, const Op& op, bool fresh) {
  const OwnerShape shape(split.positions.count(), split.extent, split.slice.count, kWidth,
                         sizeof(T));
  const KeyMaker maker(split, Complaint(stream, call));
  const OwnedSums<T, kWidth, Op, Keys<2>> sums = {y,
                                                  values,
                                                  {maker},
                                                  split.slice,
                                                  FastDivide(static_cast<uint32_t>(shape.owners)),
                                                  static_cast<uint32_t>(split.positions.count()),
                                                  static_cast<uint32_t>(split.extent),
                                                  static_cast<uint32_t>(shape.owners),
                                                  static_cast<uint32_t>(shape.groups),
                                                  split.unit,
                                                  split.lowest * split.unit,
                                                  shape.parts,
                                                  shape.lanes,
                                                  fresh,
                                                  op};
  return launch(stream, sum_owned<OwnedSums<T, kWidth, Op, Keys<2>>>,
                static_cast<unsigned>(shape.blocks()), kOwnerThreads, 0, sums);
}

// ---- with repeats: about as many positions as destinations

bool can_fill_buckets(const SplitPlan& split, int64_t element_bytes) {
  return split.is_small() && split.positions.selectors <= 2 &&
         Buckets::serve(split.positions.count(), split.extent, split.slice.count * element_bytes);
}

Buckets buckets_of(Scratch* memory, const SplitPlan& split, int64_t element_bytes) {
  return Buckets(memory, split.positions.count(), split.extent, split.slice.count * element_bytes);
}

template <class T, int kWidth, class Op>
int32_t add_in_buckets(const dt_stream* stream, const calls::Call& call, const SplitPlan& split,
                       T* y, const Values<T>& values, const Op& op, bool fresh) {
  using Sums = BucketedSums<T, kWidth, Op>;
  Scratch memory(call.workspace);
  Sums sums = {y,
               values,
               {KeyMaker(split, Complaint(stream, call))},
               split.slice,
               buckets_of(&memory, split, sizeof(T)),
               split.unit,
               split.lowest * split.unit,
               split.slice.count / kWidth,
               1,
               fresh,
               op};
  while (sums.lanes < kWarp && sums.lanes * Parts<Sums>::kTogether < sums.parts) sums.lanes *= 2;
  return launch_together(stream, sum_in_buckets<Sums>,
                         multiprocessors(stream->device) * kBucketBlocks, kBucketThreads, sums);
}

// ---- with repeats: many single elements

// Whether sums of such elements can be whole numbers of 64 bits.
constexpr bool can_be_fixed(int64_t element_bytes, bool is_float) {
  constexpr int64_t kAtomic = sizeof(uint32_t);
  return is_float ? element_bytes <= int64_t{sizeof(float)} : element_bytes >= kAtomic;
}

// `clear_bytes`: see accumulate.
template <class T, class Op>
int32_t add_fixed(const dt_stream* stream, const calls::Call& call, const SplitPlan& split, T* y,
                  const Values<T>& values, const Op& op, int64_t clear_bytes) {
  const Terms<T, Op> terms(split, Complaint(stream, call), values, op);
  T* const lowest = y + split.lowest * split.unit;
  bool fresh = false;
  if constexpr (kIsFloat<T>) fresh = is_made_of_slices(split, clear_bytes, sizeof(T));
  if (!fresh) {
    if (const int32_t code = clear(stream, y, clear_bytes)) return code;
  }
  if constexpr (kIsFloat<T>) {
    Scratch memory(call.workspace);
    return add_floats(stream, lowest, terms, FixedBuffers(&memory, stream, split), fresh);
  } else {
    return add_integers(stream, lowest, terms);
  }
}

// ---- with repeats: few elements of each position, in any order

// Where it may vary, and no place has so many terms that their atomics, one after another, take
// longer than other ways. Narrow sums would stand still.
bool can_be_atomic(const dt_stream* stream, const SplitPlan& split, int64_t element_bytes,
                   bool is_float) {
  constexpr int64_t kLongestSlice = 4, kManyTerms = 1 << 19, kMostOfPlace = 64;
  const bool is_double = element_bytes == sizeof(double);
  const int64_t count = split.positions.count() * split.slice.count,
                places = split.extent * split.slice.count;
  return is_float && may_vary(stream) && (is_double || element_bytes == sizeof(float)) &&
         split.slice.count <= kLongestSlice && (is_double || count >= kManyTerms) &&
         count <= kMostOfPlace * places;
}

// ---- with repeats: the choice

// The ways to add up what is written through indices, the first that fits. Buckets are worth their
// code for floats only.
enum class Way { kAtomic, kOwned, kFixed, kBuckets, kSorted };

Way way_of(const dt_stream* stream, const SplitPlan& split, int64_t element_bytes, bool is_float) {
  if (can_be_atomic(stream, split, element_bytes, is_float)) return Way::kAtomic;
  if (can_own(split, element_bytes)) return Way::kOwned;
  const bool together = can_launch_together(stream->device);
  if (can_be_fixed(element_bytes, is_float) && can_add_fixed(split) && (together || !is_float))
    return Way::kFixed;
  return is_float && together && can_fill_buckets(split, element_bytes) ? Way::kBuckets
                                                                        : Way::kSorted;
}

// f(uint32_t()) or f(uint64_t()), whatever holds keys and positions.
template <class F>
int32_t visit_word(const SplitPlan& split, const F& f) {
  return split.is_small() ? f(uint32_t()) : f(uint64_t());
}

// ---- the two modes

template <class T>
int32_t assign(const dt_stream* stream, const calls::Call& call, const IndexPlan& plan, T* y,
               const Values<T>& values, bool is_direct) {
  if (is_direct) return write_directly(stream, call, plan, y, values, Assign());
  const SplitPlan split = split_plan(plan);
  if (can_pick_winners(split)) return assign_winners(stream, call, split, y, values);
  return visit_word(split, [&](auto word) {
    using Word = decltype(word);
    Scratch memory(call.workspace);
    SortedPositions<Word> sorted;
    const int32_t code = sort_positions(stream, call, split, &memory, &sorted);
    return code != DT_KERNEL_OK ? code : write_sorted(stream, split, y, values, sorted);
  });
}

// By blocks that own destinations, or in buckets.
template <class T, class Op>
int32_t accumulate_unsorted(const dt_stream* stream, const calls::Call& call,
                            const SplitPlan& split, Way way, T* y, const Values<T>& values,
                            const Op& op, int64_t clear_bytes) {
  const bool fresh = is_made_of_slices(split, clear_bytes, sizeof(T));
  if (!fresh) {
    if (const int32_t code = clear(stream, y, clear_bytes)) return code;
  }
  const bool is_owned = way == Way::kOwned;
  if constexpr (kIsFloat<T>) {
    constexpr int kWidth = kPacketWidth<T>;
    const bool packets = has_packets<T>(split, values.data, y);
    if (packets && is_owned) return add_owned<T, kWidth>(stream, call, split, y, values, op, fresh);
    if (packets) return add_in_buckets<T, kWidth>(stream, call, split, y, values, op, fresh);
    if (!is_owned) return add_in_buckets<T, 1>(stream, call, split, y, values, op, fresh);
  }
  return add_owned<T, 1>(stream, call, split, y, values, op, fresh);
}

// `clear_bytes`: the bytes of y if it is made zero first, else 0.
template <class T, class Op>
int32_t accumulate(const dt_stream* stream, const calls::Call& call, const IndexPlan& plan, T* y,
                   const Values<T>& values, const Op& op, int64_t clear_bytes) {
  const auto directly = [&](const auto& add) {
    const int32_t code = clear(stream, y, clear_bytes);
    return code != DT_KERNEL_OK ? code : write_directly(stream, call, plan, y, values, add);
  };
  if (plan.is_injective()) return directly(AddTo<Op>{op});
  const SplitPlan split = split_plan(plan);
  const Way way = way_of(stream, split, sizeof(T), kIsFloat<T>);
  if constexpr (std::is_floating_point_v<T>) {
    if (way == Way::kAtomic) return directly(AddAtomically<Op>{op});
  }
  if constexpr (can_be_fixed(sizeof(T), kIsFloat<T>)) {
    if (way == Way::kFixed) return add_fixed(stream, call, split, y, values, op, clear_bytes);
  }
  if (way != Way::kSorted)
    return accumulate_unsorted(stream, call, split, way, y, values, op, clear_bytes);
  return visit_word(split, [&](auto word) {
    using Word = decltype(word);
    Scratch memory(call.workspace);
    SortedPositions<Word> sorted;
    if (const int32_t code = sort_positions(stream, call, split, &memory, &sorted)) return code;
    bool packets = false;
    int64_t fresh = 0;
    if constexpr (kHasPackets<T, Word>) {
      packets = has_packets<T>(split, values.data, y);
      const bool worth_warps = split.slice.count >= kWarp / 2 * kPacketWidth<T>;
      if (packets && worth_warps && is_made_of_slices(split, clear_bytes, sizeof(T)))
        fresh = split.extent;
    }
    if (fresh == 0) {
      if (const int32_t code = clear(stream, y, clear_bytes)) return code;
    }
    if constexpr (kHasPackets<T, Word>) {
      if (packets)
        return add_sorted<T, kPacketWidth<T>>(stream, split, y, values, op, sorted, fresh, &memory);
    }
    return add_sorted<T, 1>(stream, split, y, values, op, sorted, 0, &memory);
  });
}

// ---- operands

// An immediate number as the bits of an element of y's dtype.
uint64_t bits_of(const dt_view& source, int32_t dtype) {
  uint64_t bits = 0;
  put_number(&bits, dtype, source);
  return bits;
}

template <class T>
Values<T> values_of(const dt_view& plain, const dt_view& indexed) {
  Values<T> values = {static_cast<const T*>(plain.data), T()};
  if (!plain.immediate) return values;
  const uint64_t bits = bits_of(plain, indexed.dtype);
  memcpy(&values.number, &bits, sizeof(T) < sizeof bits ? sizeof(T) : sizeof bits);
  values.data = nullptr;
  return values;
}

// Whether the plain operand is the same everywhere: then it does not matter who writes last.
bool is_constant(const IndexPlan& plan) {
  for (int d = 0; d < plan.ndim; ++d) {
    if (plan.plain[d] != 0) return false;
  }
  return true;
}

bool is_direct(const IndexPlan& plan, WriteMode mode) {
  return plan.is_injective() || (!mode.accumulate && (mode.apart || is_constant(plan)));
}

int32_t assign_any(const dt_stream* stream, const calls::Call& call, const IndexPlan& plan,
                   const dt_view& plain, const dt_view& indexed, bool direct) {
  using Wide = Packet<uint32_t, 4>;
  IndexPlan wide = plan;
  const bool is_wide = !plain.immediate && is_aligned(plain.data, kPacketBytes) &&
                       is_aligned(indexed.data, kPacketBytes) &&
                       widen(&wide, kPacketBytes / bytes_of(indexed.dtype));
  if (is_wide) {
    return assign(stream, call, wide, static_cast<Wide*>(indexed.data),
                  values_of<Wide>(plain, indexed), direct);
  }
  return visit_width(indexed.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    return assign(stream, call, plan, static_cast<T*>(indexed.data), values_of<T>(plain, indexed),
                  direct);
  });
}

// Integers wrap around: their arithmetic is unsigned.
int32_t accumulate_any(const dt_stream* stream, const calls::Call& call, const IndexPlan& plan,
                       const dt_view& plain, const dt_view& indexed, WriteMode mode) {
  const int64_t clear_bytes = mode.from_zero ? numel(indexed) * bytes_of(indexed.dtype) : 0;
  return visit_any(indexed.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    if constexpr (kIsBool<T>) {
      return accumulate(stream, call, plan, static_cast<uint8_t*>(indexed.data),
                        values_of<uint8_t>(plain, indexed), Union{mode.alpha != 0}, clear_bytes);
    } else {
      using U = WrapAround<T>;
      return accumulate(stream, call, plan, static_cast<U*>(indexed.data),
                        values_of<U>(plain, indexed), Sum<U>{number_as<U>(true, mode.alpha, 0)},
                        clear_bytes);
    }
  });
}

// With an immediate operand the strides of the view mean nothing.
IndexPlan with_constant(IndexPlan plan) {
  for (int d = 0; d < plan.ndim; ++d) plan.plain[d] = 0;
  simplify(&plan);
  return plan;
}

}  // namespace

int32_t write_indexed(const dt_stream* stream, const calls::Call& call, const IndexPlan& plan,
                      const dt_view& plain, const dt_view& indexed, WriteMode mode) {
  const int64_t bytes = numel(indexed) * bytes_of(indexed.dtype);
  if (plan.count() == 0) return clear(stream, indexed.data, mode.from_zero ? bytes : 0);
  if (chooses_from_nothing(plan)) return complain_of_nothing(stream, call, plan);
  const IndexPlan here = plain.immediate ? with_constant(plan) : plan;
  if (mode.accumulate) return accumulate_any(stream, call, here, plain, indexed, mode);
  return assign_any(stream, call, here, plain, indexed, is_direct(here, mode));
}

int64_t write_indexed_workspace(const dt_stream* stream, const IndexPlan& plan,
                                const dt_view& plain, const dt_view& indexed, WriteMode mode) {
  const IndexPlan here = plain.immediate ? with_constant(plan) : plan;
  if (plan.count() == 0 || chooses_from_nothing(plan) || is_direct(here, mode)) return 0;
  // CUB asks about the current device. If there is none, the kernel says so.
  if (set_device(stream->device) != cudaSuccess) return 0;
  const SplitPlan split = split_plan(here);
  const int64_t bytes = bytes_of(indexed.dtype);
  const Way way =
      mode.accumulate ? way_of(stream, split, bytes, is_floating(indexed.dtype)) : Way::kSorted;
  if (way == Way::kOwned || way == Way::kAtomic) return 0;
  Scratch memory(nullptr);
  if (!mode.accumulate && can_pick_winners(split)) {
    memory.take<uint32_t>(split.extent);
    return memory.used();
  }
  if (way == Way::kBuckets) {
    buckets_of(&memory, split, bytes);
    return memory.used();
  }
  if (way == Way::kFixed) {
    if (is_floating(indexed.dtype)) FixedBuffers(&memory, stream, split);
    return memory.used();
  }
  visit_word(split, [&](auto word) {
    if (has_few_positions(split))
      FewPairs(&memory, split.positions.count(), split.key_bits());
    else
      SortBuffers<decltype(word)>(&memory, split);
    return DT_KERNEL_OK;
  });
  if (mode.accumulate) take_rests(&memory, split, bytes);
  return memory.used();
}

}  // namespace dt::cuda
