// The engine of all reductions: an operation says how states combine, a plan (reduce_plan.cuh) who
// reduces what.
//
// An operation has
//   Value        what an element is loaded as
//   Accumulator  what a thread adds elements to, kChains of them to hide the latency of add
//   Partial      what threads, blocks and pieces hand on (a multiple of 4 bytes)
//   start, add(accumulator, value, position), close, identity, merge(first, second), store
// The order in which states are combined follows from the shape alone, so results repeat bit for
// bit.
#pragma once

#include <type_traits>

#include "kernels/cuda/packet.cuh"
#include "kernels/cuda/reduce_plan.cuh"
#include "kernels/cuda/types.cuh"

namespace dt::cuda {
namespace {

// ---- loading. A source is a C++ type or AnyNarrow, a narrow float, both read in packets; or
// Single, a C++ type read one by one, for rows that begin anywhere; or Any: any dtype, one by one.

struct AnyNarrow {};

// kUnroll: loads in flight.
template <class Source>
struct SourceTraits {
  static constexpr int kWidth = kPacketWidth<Source>, kUnroll = 4;
  static constexpr bool kIsSingle = false;
};
template <>
struct SourceTraits<Any> {
  static constexpr int kWidth = 1, kUnroll = 4;
  static constexpr bool kIsSingle = false;
};
template <class T>
struct SourceTraits<Single<T>> {
  static constexpr int kWidth = 1, kUnroll = 8;
  static constexpr bool kIsSingle = true;
};
template <>
struct SourceTraits<AnyNarrow> {
  static constexpr int kWidth = kPacketBytes / 2, kUnroll = 4;
  static constexpr bool kIsSingle = false;
};

template <class T>
__device__ __forceinline__ T load_single(Single<T>, const void* x, int64_t offset) {
  return static_cast<const T*>(x)[offset];
}

template <class Source, class Value>
struct Elements {
  static constexpr int kWidth = SourceTraits<Source>::kWidth;
  Value value[kWidth];

  __device__ __forceinline__ void load(const ReduceCall& call, int64_t offset) {
    if constexpr (std::is_same_v<Source, Any>) {
      value[0] = load_as<Value>(call.x, call.x_dtype, offset);
    } else if constexpr (SourceTraits<Source>::kIsSingle) {
      value[0] = static_cast<Value>(load_single(Source(), call.x, offset));
    } else if constexpr (std::is_same_v<Source, AnyNarrow>) {
      float wide[kWidth];
      load_narrow(wide, call.x, call.x_dtype, offset);
#pragma unroll
      for (int i = 0; i < kWidth; ++i) value[i] = static_cast<Value>(wide[i]);
    } else {
      const auto packet = load_packet<kWidth>(static_cast<const Source*>(call.x) + offset);
#pragma unroll
      for (int i = 0; i < kWidth; ++i) value[i] = static_cast<Value>(packet.value[i]);
    }
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

// Combines the states of `lanes` neighbouring threads, a power of two up to a warp or all of the
// block; the first of them gets the result. Every thread of the block must call it.
template <class Op>
__device__ __forceinline__ typename Op::Partial merge_lanes(const Op& op,
                                                            typename Op::Partial state, int lanes) {
  using Partial = typename Op::Partial;
  for (int step = (lanes < kWarp ? lanes : kWarp) / 2; step > 0; step /= 2)
    state = op.merge(state, shuffle_down(state, step));
  if (lanes <= kWarp) return state;
  constexpr int kWarps = kReduceThreads / kWarp;
  __shared__ Partial of_warp[kWarps];
  if (threadIdx.x % kWarp == 0) of_warp[threadIdx.x / kWarp] = state;
  __syncthreads();
  if (threadIdx.x < kWarp) {
    state = threadIdx.x < kWarps ? of_warp[threadIdx.x] : op.identity();
    for (int step = kWarps / 2; step > 0; step /= 2)
      state = op.merge(state, shuffle_down(state, step));
  }
  return state;
}

// Combines the states of the threads that have the same position among `columns` threads side by
// side; those of the first row get the result. Every thread of the block must call it.
template <class Op>
__device__ __forceinline__ typename Op::Partial merge_rows(const Op& op,
                                                           const typename Op::Partial& state,
                                                           int columns) {
  __shared__ typename Op::Partial of_thread[kReduceThreads];
  of_thread[threadIdx.x] = state;
  for (int half = kReduceThreads / 2; half >= columns; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) {
      of_thread[threadIdx.x] = op.merge(of_thread[threadIdx.x], of_thread[threadIdx.x + half]);
    }
  }
  const typename Op::Partial result = of_thread[threadIdx.x];
  __syncthreads();  // the array may be used again at once
  return result;
}

template <class Op, int kAccumulators>
__device__ __forceinline__ typename Op::Partial close(
    const Op& op, const typename Op::Accumulator (&accumulator)[kAccumulators]) {
  typename Op::Partial state = op.close(accumulator[0]);
#pragma unroll
  for (int i = 1; i < kAccumulators; ++i) state = op.merge(state, op.close(accumulator[i]));
  return state;
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

// Reduces elements [begin, end) of an output, of which this thread takes every lanes-th packet.
template <class Op, class Source>
__device__ __forceinline__ typename Op::Partial reduce_row(const ReduceCall& call, const Op& op,
                                                           int64_t x, uint32_t begin,
                                                           uint32_t end) {
  using Packet = Elements<Source, typename Op::Value>;
  constexpr int kChains = Op::kChains, kUnroll = SourceTraits<Source>::kUnroll;
  const uint32_t step = call.lanes * Packet::kWidth;
  typename Op::Accumulator accumulator[kChains];
#pragma unroll
  for (int c = 0; c < kChains; ++c) accumulator[c] = op.start();
  uint32_t r = begin + threadIdx.x % call.lanes * Packet::kWidth;
  const auto load = [&](Packet& packet, uint32_t at) {
    int64_t offset[1];
    call.reduced.at(at, offset);
    packet.load(call, x + offset[0]);
  };
  const auto add = [&](const Packet& packet, uint32_t at, int chain) {
#pragma unroll
    for (int i = 0; i < Packet::kWidth; ++i)
      op.add(accumulator[chain], packet.value[i], call.first_position + at + i);
  };
  for (; r + (kUnroll - 1) * step < end; r += kUnroll * step) {
    Packet packet[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) load(packet[u], r + u * step);
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) add(packet[u], r + u * step, u % kChains);
  }
  // Of single elements the rest may be most of a row: its loads, too, are in flight together.
  if constexpr (SourceTraits<Source>::kIsSingle) {
    Packet packet[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      if (r + u * step < end) load(packet[u], r + u * step);
    }
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      if (r + u * step < end) add(packet[u], r + u * step, u % kChains);
    }
  } else {
    for (; r < end; r += step) {
      Packet packet;
      load(packet, r);
      add(packet, r, 0);
    }
  }
  return close(op, accumulator);
}

// blockIdx.x: a group of outputs; blockIdx.y: a chunk of their elements.
template <class Op, class Source>
__global__ void __launch_bounds__(kReduceThreads)
    row_kernel(const __grid_constant__ ReduceCall call, const __grid_constant__ Op op) {
  begin_kernel();
  const uint32_t output = blockIdx.x * (kReduceThreads / call.lanes) + threadIdx.x / call.lanes;
  const uint32_t begin = blockIdx.y * call.chunk_length;
  const uint32_t end = min(call.length, begin + call.chunk_length);
  typename Op::Partial state = op.identity();
  if (output < call.outputs) {
    int64_t offset[3];
    call.kept.at(output, offset);
    state = reduce_row<Op, Source>(call, op, offset[0], begin, end);
  }
  state = merge_lanes(op, state, call.lanes);
  if (output < call.outputs && threadIdx.x % call.lanes == 0) put(call, op, output, state);
}

// ---- columns: neighbouring threads have neighbouring outputs

template <class Op, class Source>
__global__ void __launch_bounds__(kReduceThreads)
    column_kernel(const __grid_constant__ ReduceCall call, const __grid_constant__ Op op) {
  begin_kernel();
  using Packet = Elements<Source, typename Op::Value>;
  constexpr int kWidth = Packet::kWidth, kUnroll = SourceTraits<Source>::kUnroll;
  const uint32_t column = threadIdx.x % call.lanes, row = threadIdx.x / call.lanes;
  const uint32_t rows = kReduceThreads / call.lanes;
  const uint32_t output = (blockIdx.x * call.lanes + column) * kWidth;
  const uint32_t begin = blockIdx.y * call.chunk_length;
  const uint32_t end = min(call.length, begin + call.chunk_length);
  typename Op::Accumulator accumulator[kWidth];
#pragma unroll
  for (int i = 0; i < kWidth; ++i) accumulator[i] = op.start();
  if (output < call.outputs) {
    int64_t kept[3];
    call.kept.at(output, kept);
    const auto load = [&](Packet& packet, uint32_t at) {
      int64_t offset[1];
      call.reduced.at(at, offset);
      packet.load(call, kept[0] + offset[0]);
    };
    const auto add = [&](const Packet& packet, uint32_t at) {
#pragma unroll
      for (int i = 0; i < kWidth; ++i)
        op.add(accumulator[i], packet.value[i], call.first_position + at);
    };
    uint32_t r = begin + row;
    for (; r + (kUnroll - 1) * rows < end; r += kUnroll * rows) {
      Packet packet[kUnroll];
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) load(packet[u], r + u * rows);
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) add(packet[u], r + u * rows);
    }
    for (; r < end; r += rows) {
      Packet packet;
      load(packet, r);
      add(packet, r);
    }
  }
#pragma unroll
  for (int i = 0; i < kWidth; ++i) {
    const typename Op::Partial state = merge_rows(op, op.close(accumulator[i]), call.lanes);
    if (row == 0 && output < call.outputs) put(call, op, output + i, state);
  }
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
  Partial state = op.identity();
  if (output < call.outputs) {
#pragma unroll 4
    for (uint32_t slot = row; slot < call.slots; slot += rows)
      state = op.merge(state, states[uint64_t{slot} * call.outputs + output]);
  }
  state = merge_rows(op, state, call.lanes);
  if (row != 0 || output >= call.outputs) return;
  int64_t offset[3];
  call.kept.at(output, offset);
  op.store(call.result, offset[1], offset[2], state);
}

// ---- running a plan

template <class Op, class Source>
ReduceKernels<Op> kernels_of() {
  return {row_kernel<Op, Source>, column_kernel<Op, Source>, combine_kernel<Op>,
          SourceTraits<Source>::kWidth};
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
    const bool packable = is_packable(on, kPacketWidth<Source>);
    const ReduceKernels<Op> kernels =
        packable ? kernels_of<Op, Source>() : kernels_of<Op, Single<Source>>();
    return run_plan(stream, on, op, kernels, bytes);
  }
  if constexpr (std::is_same_v<Source, float>) {
    if (is_narrow_float(on.x.dtype) && is_packable(on, SourceTraits<AnyNarrow>::kWidth))
      return run_plan(stream, on, op, kernels_of<Op, AnyNarrow>(), bytes);
  }
  return reduce_any(stream, on, op, bytes);
}

}  // namespace
}  // namespace dt::cuda
