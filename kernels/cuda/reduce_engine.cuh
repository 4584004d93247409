// The engine of all reductions: an operation says how states combine, a plan (reduce_plan.cuh) who
// reduces what.
//
// An operation has
//   Value        what an element is loaded as
//   Accumulator  what the threads of a block add elements to, kChains of them to hide the latency
//                of add; threads join theirs, so it should be small (a multiple of 4 bytes)
//   Partial      what blocks and pieces hand on (a multiple of 4 bytes)
//   kHasPivot    whether add and close want the first of the elements that a block adds up
//   start, add(accumulator, value, position, pivot), join(first, second), close(accumulator,
//   stretch), identity, merge(first, second), store
// Positions count from the first of a block's elements. The order in which states are combined
// follows from the shape alone, so results repeat bit for bit.
#pragma once

#include <type_traits>

#include "kernels/cuda/packet.cuh"
#include "kernels/cuda/reduce_plan.cuh"
#include "kernels/cuda/short_rows.cuh"
#include "kernels/cuda/types.cuh"

namespace dt::cuda {
namespace {

// The elements of an output that a block adds up.
template <class Value>
struct Stretch {
  Value pivot;    // the first, where the operation asks for it
  int64_t first;  // position
  uint32_t count;
};

// ---- loading. A source is a C++ type or AnyNarrow, a narrow float, both read in packets; or
// Single, a C++ type read one by one, for what is not dense; or Any: any dtype, one by one.

struct AnyNarrow {};

// kWidth: elements of a load. kUnroll: loads of a row in flight. kLots: loads side by side that a
// thread has of a row of columns, kUnroll / kLots rows in flight.
template <class Source>
struct SourceTraits {
  static constexpr int kWidth = kPacketWidth<Source>, kUnroll = 4, kLots = 1;
};
template <>
struct SourceTraits<Any> {
  static constexpr int kWidth = 1, kUnroll = 4, kLots = 1;
};
template <class T>
struct SourceTraits<Single<T>> {
  static constexpr int kWidth = 1, kUnroll = 8, kLots = 4;
};
template <>
struct SourceTraits<AnyNarrow> {
  static constexpr int kWidth = kPacketBytes / 2, kUnroll = 4, kLots = 1;
};
// What a source is in registers until it is added: packets of wider numbers would take more of
// them.
template <class Source, class Value>
struct SourceElement {
  using type = Source;
};
template <class T, class Value>
struct SourceElement<Single<T>, Value> {
  using type = T;
};
template <class Value>
struct SourceElement<Any, Value> {
  using type = Value;
};
template <class Value>
struct SourceElement<AnyNarrow, Value> {
  using type = Bits<2>;
};

// The elements of a load.
template <class Source, class Value>
struct Elements {
  static constexpr int kWidth = SourceTraits<Source>::kWidth;
  using Element = typename SourceElement<Source, Value>::type;
  Packet<Element, kWidth> packet;

  // How far behind a boundary of packets element x is.
  static __device__ __forceinline__ uint32_t shift_of(const ReduceCall& call, int64_t x) {
    if constexpr (kWidth == 1) return 0;
    return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(call.x) / sizeof(Element) +
                                 static_cast<uint64_t>(x)) %
           kWidth;
  }

  __device__ __forceinline__ void load(const ReduceCall& call, int64_t offset) {
    if constexpr (kWidth == 1)
      packet.value[0] = one(call, offset);
    else
      packet = load_packet<kWidth>(static_cast<const Element*>(call.x) + offset);
  }

  static __device__ __forceinline__ Element one(const ReduceCall& call, int64_t offset) {
    if constexpr (std::is_same_v<Source, Any>)
      return load_as<Value>(call.x, call.x_dtype, offset);
    else
      return static_cast<const Element*>(call.x)[offset];
  }

  static __device__ __forceinline__ Value value_of(const ReduceCall& call, Element element) {
    if constexpr (std::is_same_v<Source, AnyNarrow>)
      return static_cast<Value>(widened<float>(element, call.x_dtype));
    else
      return static_cast<Value>(element);
  }
  __device__ __forceinline__ Value at(const ReduceCall& call, int i) const {
    return value_of(call, packet.value[i]);
  }
};

// ---- combining

// Any trivial type whose size is a multiple of 4 bytes.
template <class Partial>
__device__ __forceinline__ Partial shuffle_down(const Partial& mine, int distance) {
  static_assert(sizeof(Partial) % 4 == 0, "shuffles move words");
  uint32_t words[sizeof(Partial) / 4];
  __builtin_memcpy(words, &mine, sizeof(Partial));
#pragma unroll
  for (uint32_t& word : words) word = __shfl_down_sync(0xffffffffu, word, distance);
  Partial other;
  __builtin_memcpy(&other, words, sizeof(Partial));
  return other;
}

// Joins the accumulators of `lanes` neighbouring threads, a power of two up to a warp or all of the
// block; the first of them gets the result. Every thread of the block must call it.
template <class Op>
__device__ __forceinline__ typename Op::Accumulator join_lanes(const Op& op,
                                                               typename Op::Accumulator mine,
                                                               int lanes) {
  for (int step = (lanes < kWarp ? lanes : kWarp) / 2; step > 0; step /= 2)
    mine = op.join(mine, shuffle_down(mine, step));
  if (lanes <= kWarp) return mine;
  constexpr int kWarps = kReduceThreads / kWarp;
  __shared__ typename Op::Accumulator of_warp[kWarps];
  if (threadIdx.x % kWarp == 0) of_warp[threadIdx.x / kWarp] = mine;
  __syncthreads();
  if (threadIdx.x < kWarp) {
    mine = threadIdx.x < kWarps ? of_warp[threadIdx.x] : op.start();
#pragma unroll
    for (int step = kWarps / 2; step > 0; step /= 2) mine = op.join(mine, shuffle_down(mine, step));
  }
  return mine;
}

// Merges the states of the threads that have the same position among `columns` threads side by
// side; those of the first row get the result. Every thread of the block must call it, once.
template <class State, int kStates, class Merge>
__device__ __forceinline__ void merge_rows(State (&states)[kStates], int columns,
                                           const Merge& merge) {
  __shared__ State of_thread[kStates][kReduceThreads];
  for (int half = kReduceThreads / 2; half >= columns; half /= 2) {
    const int thread = static_cast<int>(threadIdx.x);
    if (thread >= half && thread < 2 * half) {
#pragma unroll
      for (int i = 0; i < kStates; ++i) of_thread[i][thread] = states[i];
    }
    __syncthreads();  // each thread writes once: nobody waits for who reads
    if (thread < half) {
#pragma unroll
      for (int i = 0; i < kStates; ++i) states[i] = merge(states[i], of_thread[i][thread + half]);
    }
  }
}

// Hands on a piece's state, or stores the result if there is only one piece.
template <class Op>
__device__ __forceinline__ void put(const ReduceCall& call, const Op& op, uint32_t output,
                                    const typename Op::Partial& state) {
  if (call.partial) {
    const uint64_t slot = call.first_slot + blockIdx.y;
    static_cast<typename Op::Partial*>(call.partial)[slot * call.outputs + output] = state;
    return;
  }
  int64_t offset[3];
  call.kept.at(output, offset);
  op.store(call.result, offset[1], offset[2], state);
}

// ---- rows: neighbouring threads read neighbouring elements of one output
//
// A row begins wherever it begins: packets are counted from the boundary at or before its first
// element, and what a packet holds outside of the row is passed over. A packet that holds an
// element lies in the same 16 bytes as it, so that it may be read whole.

// Adds up elements [begin, end) of an output, of which this thread takes every lanes-th packet.
// `begin` is a multiple of a packet.
template <class Op, class Source>
__device__ __forceinline__ typename Op::Accumulator reduce_row(const ReduceCall& call, const Op& op,
                                                               int64_t x, uint32_t begin,
                                                               uint32_t end,
                                                               typename Op::Value pivot) {
  using Load = Elements<Source, typename Op::Value>;
  constexpr int kChains = Op::kChains, kUnroll = SourceTraits<Source>::kUnroll;
  const uint32_t step = call.lanes * Load::kWidth, shift = Load::shift_of(call, x),
                 count = end - begin;
  typename Op::Accumulator accumulator[kChains];
#pragma unroll
  for (int c = 0; c < kChains; ++c) accumulator[c] = op.start();
  // Element i of the packet at r is element r + i - shift of the row.
  for (uint32_t r = begin + threadIdx.x % call.lanes * Load::kWidth; r < end + shift;
       r += kUnroll * step) {
    Load loads[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      if (r + u * step >= end + shift) continue;
      int64_t offset[1];
      call.reduced.at(r + u * step, offset);
      loads[u].load(call, x + offset[0] - shift);
    }
    const auto add = [&](int u, bool is_whole) {
#pragma unroll
      for (int i = 0; i < Load::kWidth; ++i) {
        const uint32_t position = r + u * step + i - shift - begin;
        if (is_whole || position < count)
          op.add(accumulator[u % kChains], loads[u].at(call, i), position, pivot);
      }
    };
    // Of a row that is not much longer than a round, all but two of the packets are whole.
    if (r >= begin + shift && r + (kUnroll - 1) * step + Load::kWidth <= end + shift) {
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) add(u, true);
    } else {
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        const uint32_t at = r + u * step;
        if (at >= end + shift) break;
        if (at >= begin + shift && at + Load::kWidth <= end + shift)
          add(u, true);
        else
          add(u, false);
      }
    }
  }
#pragma unroll
  for (int c = 1; c < kChains; ++c) accumulator[0] = op.join(accumulator[0], accumulator[c]);
  return accumulator[0];
}

// blockIdx.x: a group of outputs; blockIdx.y: a chunk of their elements.
template <class Op, class Source>
__global__ void __launch_bounds__(kReduceThreads)
    row_kernel(const __grid_constant__ ReduceCall call, const __grid_constant__ Op op) {
  begin_kernel();
  using Value = typename Op::Value;
  const uint32_t output = blockIdx.x * (kReduceThreads / call.lanes) + threadIdx.x / call.lanes;
  const uint32_t begin = blockIdx.y * call.chunk_length;
  const uint32_t end = min(call.length, begin + call.chunk_length);
  Stretch<Value> stretch = {Value(), call.first_position + begin, end - begin};
  typename Op::Accumulator mine = op.start();
  if (output < call.outputs) {
    int64_t kept[3], first[1];
    call.kept.at(output, kept);
    call.reduced.at(begin, first);
    using Load = Elements<Source, Value>;
    if constexpr (Op::kHasPivot)
      stretch.pivot = Load::value_of(call, Load::one(call, kept[0] + first[0]));
    mine = reduce_row<Op, Source>(call, op, kept[0], begin, end, stretch.pivot);
  }
  mine = join_lanes(op, mine, call.lanes);
  if (output < call.outputs && threadIdx.x % call.lanes == 0)
    put(call, op, output, op.close(mine, stretch));
}

// ---- columns: neighbouring threads have neighbouring outputs

// A thread has kLots loads of a row, lanes apart, so that those of a warp lie together.
template <class Op, class Source>
__global__ void __launch_bounds__(kReduceThreads)
    column_kernel(const __grid_constant__ ReduceCall call, const __grid_constant__ Op op) {
  begin_kernel();
  using Value = typename Op::Value;
  using Load = Elements<Source, Value>;
  constexpr int kWidth = Load::kWidth, kLots = SourceTraits<Source>::kLots,
                kUnroll = SourceTraits<Source>::kUnroll / (kLots > 1 ? 2 : 1);
  const uint32_t column = threadIdx.x % call.lanes, row = threadIdx.x / call.lanes;
  const uint32_t rows = kReduceThreads / call.lanes;
  const uint32_t begin = blockIdx.y * call.chunk_length;
  const uint32_t end = min(call.length, begin + call.chunk_length);
  const auto output = [&](int lot) {
    return ((blockIdx.x * kLots + lot) * call.lanes + column) * kWidth;
  };
  const auto offset_of = [&](uint32_t at) {
    int64_t offset[1];
    call.reduced.at(at, offset);
    return offset[0];
  };

  int64_t place[kLots];
  Stretch<Value> stretch[kLots * kWidth];
  typename Op::Accumulator accumulator[kLots * kWidth];
#pragma unroll
  for (int l = 0; l < kLots; ++l) {
    int64_t kept[3];
    // Threads beyond the last output read it, too, and store nothing.
    call.kept.at(min(output(l), call.outputs - kWidth), kept);
    place[l] = kept[0];
    Load pivot = {};
    if constexpr (Op::kHasPivot) pivot.load(call, place[l] + offset_of(begin));
#pragma unroll
    for (int i = 0; i < kWidth; ++i) {
      stretch[l * kWidth + i] = {pivot.at(call, i), call.first_position + begin, end - begin};
      accumulator[l * kWidth + i] = op.start();
    }
  }
  const auto round = [&](uint32_t r, bool is_whole) {
    Load loads[kUnroll][kLots];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      if (!is_whole && r + u * rows >= end) continue;
      const int64_t offset = offset_of(r + u * rows);
#pragma unroll
      for (int l = 0; l < kLots; ++l) loads[u][l].load(call, place[l] + offset);
    }
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      if (!is_whole && r + u * rows >= end) continue;
#pragma unroll
      for (int l = 0; l < kLots; ++l) {
#pragma unroll
        for (int i = 0; i < kWidth; ++i) {
          op.add(accumulator[l * kWidth + i], loads[u][l].at(call, i), r + u * rows - begin,
                 stretch[l * kWidth + i].pivot);
        }
      }
    }
  };
  // Loads that depend on nothing are all on their way before the first is waited for.
  uint32_t r = begin + row;
  for (; r + (kUnroll - 1) * rows < end; r += kUnroll * rows) round(r, true);
  if (r < end) round(r, false);
  merge_rows(accumulator, call.lanes, [&](const auto& a, const auto& b) { return op.join(a, b); });
  if (row > 0) return;
#pragma unroll
  for (int l = 0; l < kLots; ++l) {
    if (output(l) >= call.outputs) break;
#pragma unroll
    for (int i = 0; i < kWidth; ++i) {
      const int state = l * kWidth + i;
      put(call, op, output(l) + i, op.close(accumulator[state], stretch[state]));
    }
  }
}

// ---- short rows, one after another, through shared memory: packets of their own would be more
// edge than row

template <class Op, class Source>
using SourceOf = typename SourceElement<Source, typename Op::Value>::type;

template <class Op, class Source>
__global__ void __launch_bounds__(kShortThreads)
    short_row_kernel(const __grid_constant__ ReduceCall call, const __grid_constant__ Op op,
                     const __grid_constant__ ShortRows rows) {
  begin_kernel();
  using Value = typename Op::Value;
  using Element = SourceOf<Op, Source>;
  __shared__ typename SharedRows<Element>::Space space;
  const SharedRows<Element> tile(space, rows, static_cast<const Element*>(call.x));
  __syncthreads();
  rows.for_each([&](const ShortRow& row) {
    const auto at = [&](int column) {
      return Elements<Source, Value>::value_of(call, tile.element[row.first + column]);
    };
    Stretch<Value> stretch = {Value(), 0, static_cast<uint32_t>(row.length)};
    if (Op::kHasPivot && row.length > 0) stretch.pivot = at(0);
    typename Op::Accumulator mine = op.start();
#pragma unroll 4
    for (int column = row.lane; column < row.length; column += row.lanes)
      op.add(mine, at(column), static_cast<uint32_t>(column), stretch.pivot);
    mine = join_lanes(op, mine, row.lanes);
    const auto output = static_cast<uint32_t>(rows.first_row() + row.number);
    if (row.length > 0 && row.lane == 0) put(call, op, output, op.close(mine, stretch));
  });
}

// Longer ones are as quick in packets; fewer elements are read at once in any way.
constexpr int64_t kLongestShort = 15, kWorthTile = int64_t{1} << 20;

template <class Element>
bool are_short_rows(const ReduceOperands& on) {
  if (numel(on.x) < kWorthTile) return false;
  const ReduceAxes axes = reduce_axes(on);
  if (axes.reduced.n != 1 || axes.kept.n != 1) return false;
  const int64_t length = axes.reduced.size[0];
  const bool are_adjacent = axes.reduced.stride[0][0] == 1 && axes.kept.stride[0][0] == length;
  const bool are_whole = length % kPacketWidth<Element> == 0 && is_aligned(on.x.data, kPacketBytes);
  return are_adjacent && !are_whole && length <= kLongestShort;
}

template <class Source, class Op>
int32_t reduce_short_rows(const dt_stream* stream, const ReduceOperands& on, const Op& op) {
  using Element = SourceOf<Op, Source>;
  const ReduceAxes axes = reduce_axes(on);
  return reduce_each_piece(axes.kept, [&](const Axes<3>& piece) {
    const ShortRows rows(piece.count(), axes.reduced.size[0], kTileElements<Element>);
    ReduceCall call;
    call.x_dtype = on.x.dtype;
    call.result = {nullptr, on.y.dtype, nullptr, axes.reduced.size[0]};
    call.partial = nullptr;
    begin_piece(&call, on, piece);
    return launch(stream, short_row_kernel<Op, Source>, rows.grid(), dim3(kShortThreads), 0, call,
                  op, rows);
  });
}

// ---- the second stage: the states of all pieces of an output, and the results of empty reductions

template <class Op>
__global__ void __launch_bounds__(kReduceThreads)
    combine_kernel(const __grid_constant__ ReduceCall call, const __grid_constant__ Op op) {
  begin_kernel();
  using Partial = typename Op::Partial;
  const uint32_t column = threadIdx.x % call.lanes, row = threadIdx.x / call.lanes;
  const uint32_t rows = kReduceThreads / call.lanes;
  const uint32_t output = blockIdx.x * call.lanes + column;
  const Partial* states = static_cast<const Partial*>(call.partial);
  Partial state[1] = {op.identity()};
  if (output < call.outputs) {
#pragma unroll 4
    for (uint32_t slot = row; slot < call.slots; slot += rows)
      state[0] = op.merge(state[0], states[uint64_t{slot} * call.outputs + output]);
  }
  const auto merge = [&](const Partial& a, const Partial& b) { return op.merge(a, b); };
  merge_rows(state, call.lanes, merge);
  if (row != 0 || output >= call.outputs) return;
  int64_t offset[3];
  call.kept.at(output, offset);
  op.store(call.result, offset[1], offset[2], state[0]);
}

// ---- running a plan

template <class Op, class Source>
ReduceKernels<Op> kernels_of() {
  using Traits = SourceTraits<Source>;
  return {row_kernel<Op, Source>, column_kernel<Op, Source>, combine_kernel<Op>, Traits::kWidth,
          Traits::kWidth * Traits::kLots};
}

// Reduces, or, when asked for `bytes`, only says how much scratch memory that needs.
template <class Op>
int32_t reduce_any(const dt_stream* stream, const ReduceOperands& on, const Op& op,
                   int64_t* bytes) {
  return run_plan(stream, on, op, kernels_of<Op, Any>(), bytes);
}

// The same with fast ways for `Source`, the type that elements have in most calls, and for narrow
// floats beside float.
template <class Source, class Op>
int32_t reduce_from(const dt_stream* stream, const ReduceOperands& on, const Op& op,
                    int64_t* bytes) {
  if (holds<Source>(on.x.dtype)) {
    if (are_short_rows<Source>(on))
      return bytes ? DT_KERNEL_OK : reduce_short_rows<Source>(stream, on, op);
    const bool packable = is_packable(on, kPacketWidth<Source>, kPacketWidth<Source> <= 4);
    const ReduceKernels<Op> kernels =
        packable ? kernels_of<Op, Source>() : kernels_of<Op, Single<Source>>();
    return run_plan(stream, on, op, kernels, bytes);
  }
  if constexpr (std::is_same_v<Source, float>) {
    if (is_narrow_float(on.x.dtype) && are_short_rows<Bits<2>>(on))
      return bytes ? DT_KERNEL_OK : reduce_short_rows<AnyNarrow>(stream, on, op);
    if (is_narrow_float(on.x.dtype) && is_packable(on, SourceTraits<AnyNarrow>::kWidth, false))
      return run_plan(stream, on, op, kernels_of<Op, AnyNarrow>(), bytes);
  }
  return reduce_any(stream, on, op, bytes);
}

}  // namespace
}  // namespace dt::cuda
