// From a formula struct of functors_*.gen.h to CUDA kernels: one that moves packets of 16 bytes,
// and one for any strides and dtypes. Where operands lie is decided on the host (pointwise.cu).
#pragma once

#include <type_traits>
#include <utility>

#include "kernels/calls/pointwise.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/packet.cuh"
#include "kernels/cuda/pointwise.cuh"
#include "kernels/cuda/types.cuh"

namespace dt::cuda {
namespace {

// ---- formulas

// Whether a struct is an op (its function is called y) or a gradient (y0, y1, ...).
template <class F, class T, class = void>
struct IsGradient : std::true_type {};
template <class F, class T>
struct IsGradient<F, T, std::void_t<decltype(&F::template y<T>)>> : std::false_type {};

template <class F, int kOutput, class T, class... Inputs>
__device__ __forceinline__ auto evaluate(const T* parameters, Inputs... inputs) {
  if constexpr (!IsGradient<F, T>::value) {
    return F::template y<T>(parameters, inputs...);
  } else if constexpr (kOutput == 0) {
    return F::template y0<T>(parameters, inputs...);
  } else if constexpr (kOutput == 1) {
    return F::template y1<T>(parameters, inputs...);
  } else {
    static_assert(kOutput == 2, "more gradients than kMaxPointwiseOut");
    return F::template y2<T>(parameters, inputs...);
  }
}

// What a formula takes in place k, and what it gives.
template <class F, int kInput, class T>
using InputType = std::conditional_t<(F::bool_in >> kInput & 1) != 0, bool, T>;
template <class F, class T>
using OutputType = std::conditional_t<F::bool_out, bool, T>;

// ---- elements of kBytes each, fewer than those of the arithmetic type W that reads and writes
// them: floats of two bytes for float, integers of one or two and truth values for int32_t

template <class W, int kBytes>
constexpr bool kHasNarrow = std::is_same_v<W, float>     ? kBytes == 2
                            : std::is_same_v<W, int32_t> ? kBytes == 1 || kBytes == 2
                                                         : false;
template <class T, class W, int kBytes>
constexpr bool kIsNarrow = compute_of(dtype_of<T>) == dtype_of<W> && sizeof(T) == kBytes;

// The bits of such an element as a number, whatever its dtype is, without a jump.
template <class W, int kBytes>
__device__ __forceinline__ W number_of(Bits<kBytes> bits, int32_t dtype) {
  if constexpr (std::is_same_v<W, int32_t>) {
    // What the sign bit stands for is taken twice from an element that has one.
    constexpr uint32_t kSign = 1u << (8 * kBytes - 1);
    const uint32_t sign = kBytes == 2 || dtype == dtype_of<int8_t> ? kSign : 0;
    return static_cast<int32_t>((bits ^ sign) - sign);
  } else {
    return widened<W>(bits, dtype);
  }
}

template <class To, int kWidth, class W>
__device__ __forceinline__ void store_converted(void* p, int64_t at,
                                                const Packet<W, kWidth>& packet) {
  Packet<Stored<To>, kWidth> narrow;
#pragma unroll
  for (int i = 0; i < kWidth; ++i) narrow.value[i] = converted<To>(packet.value[i]);
  store_packet(static_cast<Stored<To>*>(p) + at, narrow);
}

template <int kBytes, int kWidth, class W>
__device__ __forceinline__ void store_as_narrow(void* p, int32_t dtype, int64_t at,
                                                const Packet<W, kWidth>& packet) {
  switch (dtype) {
#define DT_DTYPE_ROW(NAME, name, Own, ...)                                        \
  case DT_##NAME:                                                                 \
    if constexpr (kIsNarrow<Own, W, kBytes>) store_converted<Own>(p, at, packet); \
    break;
#include "kernels/dtype.def"
#undef DT_DTYPE_ROW
  }
}

// ---- the inputs of a formula at kWidth elements, in registers

template <int kInput, class V, int kWidth>
struct Slot {
  // Of kWidth narrow elements.
  template <int kBytes>
  static constexpr int kWords = (kWidth * kBytes + 3) / 4;

  V value[kWidth];

  __device__ __forceinline__ void fill(V all) {
#pragma unroll
    for (int i = 0; i < kWidth; ++i) value[i] = all;
  }

  // Elements of the formula's own type, next to each other or (splat) one for all. `apart`: no
  // packet begins at the first.
  __device__ __forceinline__ void load_packet(const void* data, int64_t at, bool splat,
                                              bool apart) {
    const Stored<V>* p = static_cast<const Stored<V>*>(data) + at;
    if (splat) return fill(static_cast<V>(*p));
    const Packet<Stored<V>, kWidth> packet = load_neighbours<kWidth>(p, apart);
#pragma unroll
    for (int i = 0; i < kWidth; ++i) value[i] = static_cast<V>(packet.value[i]);
  }

  // The same of narrow elements: their bits lie where the numbers come, which widen() makes when
  // all operands have been asked for. To make them here, behind a jump, a thread would wait for
  // each load by itself.
  template <int kBytes>
  __device__ __forceinline__ void load_narrow(const void* data, int32_t dtype, int64_t at,
                                              bool splat, bool apart) {
    if constexpr (kHasNarrow<V, kBytes>) {
      const Bits<kBytes>* p = static_cast<const Bits<kBytes>*>(data) + at;
      if (splat) return fill(number_of<V, kBytes>(*p, dtype));
      uint32_t word[kWords<kBytes>];
      if constexpr (kWidth == 1) {
        word[0] = *p;
      } else if (apart) {
        const auto packet = load_neighbours<kWidth>(p, true);
        memcpy(word, &packet, sizeof packet);
      } else {
        const auto packet = cuda::load_packet<kWords<kBytes>>(reinterpret_cast<const uint32_t*>(p));
        memcpy(word, &packet, sizeof packet);
      }
      memcpy(value, word, sizeof word);
    }
  }
  template <int kBytes>
  __device__ __forceinline__ void widen(int32_t dtype) {
    if constexpr (kHasNarrow<V, kBytes>) {
      constexpr int kBits = 8 * kBytes, kOfWord = 32 / kBits;
      uint32_t word[kWords<kBytes>];
      memcpy(word, value, sizeof word);
#pragma unroll
      for (int i = 0; i < kWidth; ++i) {
        const auto bits = static_cast<Bits<kBytes>>(word[i / kOfWord] >> (i % kOfWord * kBits));
        value[i] = number_of<V, kBytes>(bits, dtype);
      }
    }
  }

  // Elements of any dtype, wherever they are. One switch for all of them, so that the loads are in
  // flight together.
  template <class S>
  __device__ __forceinline__ void gather_from(const S* p, const int32_t (&at)[kWidth]) {
    S stored[kWidth];
#pragma unroll
    for (int i = 0; i < kWidth; ++i) stored[i] = p[at[i]];
#pragma unroll
    for (int i = 0; i < kWidth; ++i) value[i] = static_cast<V>(stored[i]);
  }
  __device__ __forceinline__ void gather(const void* data, int32_t dtype,
                                         const int32_t (&at)[kWidth]) {
    switch (dtype) {
#define DT_DTYPE_ROW(NAME, name, Own, ...) \
  case DT_##NAME:                          \
    return gather_from(static_cast<const Stored<Own>*>(data), at);
#include "kernels/dtype.def"
#undef DT_DTYPE_ROW
    }
  }
};

template <class F, class T, int kWidth, class = std::make_integer_sequence<int, F::n_in>>
struct Inputs;
template <class F, class T, int kWidth, int... kInput>
struct Inputs<F, T, kWidth, std::integer_sequence<int, kInput...>>
    : Slot<kInput, InputType<F, kInput, T>, kWidth>... {
  template <int k>
  using SlotOf = Slot<k, InputType<F, k, T>, kWidth>;

  // The packet of a plain call that begins with element `at`, which is complete after finish().
  template <int kNarrow>
  __device__ __forceinline__ void load_plain(const PointwiseCall& call, int32_t at) {
    (load_one_plain<kInput, kNarrow>(call, at), ...);
  }
  // The packet at `at` (offsets of all operands), which is complete after finish().
  template <int kNarrow>
  __device__ __forceinline__ void load(const PointwiseCall& call,
                                       const int32_t (&at)[kMaxPointwise]) {
    (load_one<kInput, kNarrow>(call, at[F::n_out + kInput]), ...);
  }
  template <int kNarrow>
  __device__ __forceinline__ void finish(const PointwiseCall& call) {
    if constexpr (kNarrow != 0) (widen_one<kInput, kNarrow>(call), ...);
  }

  // The elements at `at`.
  __device__ __forceinline__ void gather(const PointwiseCall& call,
                                         const int32_t (&at)[kMaxPointwise][kWidth]) {
    (gather_one<kInput>(call, at[F::n_out + kInput]), ...);
  }

  template <int kOutput>
  __device__ __forceinline__ auto evaluate_at(const T* parameters, int i) const {
    return evaluate<F, kOutput, T>(parameters, SlotOf<kInput>::value[i]...);
  }

 private:
  template <int k, int kNarrow>
  __device__ __forceinline__ void load_one(const PointwiseCall& call, int32_t at) {
    constexpr int kOperand = F::n_out + k;
    const bool splat = (call.splat >> kOperand & 1) != 0, apart = (call.apart >> kOperand & 1) != 0;
    if (call.data[kOperand] == nullptr) {
      SlotOf<k>::fill(call.number[k].template as<InputType<F, k, T>>());
    } else if (kNarrow != 0 && (call.narrow >> kOperand & 1)) {
      SlotOf<k>::template load_narrow<kNarrow>(call.data[kOperand], call.dtype[kOperand], at, splat,
                                               apart);
    } else {
      SlotOf<k>::load_packet(call.data[kOperand], at, splat, apart);
    }
  }
  template <int k, int kNarrow>
  __device__ __forceinline__ void load_one_plain(const PointwiseCall& call, int32_t at) {
    constexpr int kOperand = F::n_out + k;
    if (kNarrow != 0 && call.narrow >> kOperand & 1) {
      SlotOf<k>::template load_narrow<kNarrow>(call.data[kOperand], call.dtype[kOperand], at, false,
                                               false);
    } else {
      SlotOf<k>::load_packet(call.data[kOperand], at, false, false);
    }
  }
  template <int k, int kNarrow>
  __device__ __forceinline__ void widen_one(const PointwiseCall& call) {
    constexpr int kOperand = F::n_out + k;
    if (call.data[kOperand] != nullptr && (call.narrow & ~call.splat) >> kOperand & 1)
      SlotOf<k>::template widen<kNarrow>(call.dtype[kOperand]);
  }
  template <int k>
  __device__ __forceinline__ void gather_one(const PointwiseCall& call,
                                             const int32_t (&at)[kWidth]) {
    constexpr int kOperand = F::n_out + k;
    if (call.data[kOperand] == nullptr) {
      SlotOf<k>::fill(call.number[k].template as<InputType<F, k, T>>());
    } else {
      SlotOf<k>::gather(call.data[kOperand], call.dtype[kOperand], at);
    }
  }
};

template <class T>
struct Parameters {
  T value[kMaxParameters];

  __device__ __forceinline__ explicit Parameters(const PointwiseCall& call) {
#pragma unroll
    for (int i = 0; i < kMaxParameters; ++i) value[i] = call.parameters[i].template as<T>();
  }
};

// ---- packets. kNarrow: the bytes of narrow operands; 0: there are none

template <class F, int kOutput, int kWidth, int kNarrow, class T, class In>
__device__ __forceinline__ void put_packet(const PointwiseCall& call, const Parameters<T>& p,
                                           const In& in, int64_t at) {
  using Result = Stored<OutputType<F, T>>;
  if (call.data[kOutput] == nullptr) return;
  Packet<Result, kWidth> packet;
#pragma unroll
  for (int i = 0; i < kWidth; ++i)
    packet.value[i] = static_cast<Result>(in.template evaluate_at<kOutput>(p.value, i));
  if constexpr (kHasNarrow<Result, kNarrow>) {
    if (call.narrow >> kOutput & 1)
      return store_as_narrow<kNarrow>(call.data[kOutput], call.dtype[kOutput], at, packet);
  }
  store_packet(static_cast<Result*>(call.data[kOutput]) + at, packet);
}

template <class F, int kWidth, int kNarrow, class T, class In>
__device__ __forceinline__ void put_packets(const PointwiseCall& call, const Parameters<T>& p,
                                            const In& in, const int32_t (&at)[kMaxPointwise]) {
  put_packet<F, 0, kWidth, kNarrow>(call, p, in, at[0]);
  if constexpr (F::n_out > 1) put_packet<F, 1, kWidth, kNarrow>(call, p, in, at[1]);
  if constexpr (F::n_out > 2) put_packet<F, 2, kWidth, kNarrow>(call, p, in, at[2]);
}

// A thread loads kPackets packets of every input, a block's width apart, before it computes.
template <class F, class T, int kWidth, int kPackets, int kNarrow>
__global__ void __launch_bounds__(kPointwiseThreads)
    vector_kernel(const __grid_constant__ PointwiseCall call) {
  begin_kernel();
  const Parameters<T> p(call);
  const uint32_t first = blockIdx.x * (kPointwiseThreads * kPackets) + threadIdx.x;
  Inputs<F, T, kWidth> in[kPackets];
  int32_t at[kPackets][kMaxPointwise];
#pragma unroll
  for (int i = 0; i < kPackets; ++i) {
    const uint32_t packet = first + i * kPointwiseThreads;
    if (packet >= call.count) continue;
    if (call.plain) {
#pragma unroll
      for (int k = 0; k < kMaxPointwise; ++k) at[i][k] = static_cast<int32_t>(packet) * kWidth;
      in[i].template load_plain<kNarrow>(call, at[i][0]);
    } else {
      call.offsets.at(packet, at[i]);
      in[i].template load<kNarrow>(call, at[i]);
    }
  }
#pragma unroll
  for (int i = 0; i < kPackets; ++i) {
    if (first + i * kPointwiseThreads >= call.count) continue;
    in[i].template finish<kNarrow>(call);
    put_packets<F, kWidth, kNarrow>(call, p, in[i], at[i]);
  }
  if (first >= call.head + call.tail) return;
  // Head and tail are around one row of packets: dense operands advance with the element.
  const uint32_t single = first < call.head ? first : first + call.count * kWidth;
  Inputs<F, T, 1> one;
  int32_t element[kMaxPointwise];
#pragma unroll
  for (int k = 0; k < F::n_out + F::n_in; ++k)
    element[k] = call.splat >> k & 1 ? 0 : static_cast<int32_t>(single - call.head);
  one.template load<kNarrow>(call, element);
  one.template finish<kNarrow>(call);
  put_packets<F, 1, kNarrow>(call, p, one, element);
}

// ---- any strides and dtypes

constexpr uint32_t kNoElement = ~0u;

// The i-th element of a thread, in the order of the axes.
template <int kElements>
__device__ __forceinline__ uint32_t element_of(const PointwiseCall& call, int i) {
  const TileWalk& walk = call.walk;
  if (walk.rows == 0) {
    const uint32_t element = (blockIdx.x * kElements + i) * kPointwiseThreads + threadIdx.x;
    return element < call.count ? element : kNoElement;
  }
  const uint32_t matrix = walk.tiles.divide(blockIdx.x);
  const uint32_t tile = blockIdx.x - matrix * walk.tiles.divisor;
  const uint32_t down = walk.row_tiles.divide(tile);
  const uint32_t along = tile - down * walk.row_tiles.divisor;
  constexpr uint32_t kWarpsAlong = kWalkColumns / kWarpColumns;
  const uint32_t warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  const uint32_t row =
      (down * kElements + i) * kWalkRows + warp / kWarpsAlong * kWarpRows + lane / kWarpColumns;
  const uint32_t column =
      along * kWalkColumns + warp % kWarpsAlong * kWarpColumns + lane % kWarpColumns;
  const bool is_inside = row < walk.rows && column < walk.columns;
  return is_inside ? (matrix * walk.rows + row) * walk.columns + column : kNoElement;
}

template <class F, int kOutput, int kElements, class T, class In>
__device__ __forceinline__ void put_elements(const PointwiseCall& call, const Parameters<T>& p,
                                             const In& in, const int32_t (&at)[kElements],
                                             uint32_t present) {
  if (call.data[kOutput] == nullptr) return;
#pragma unroll
  for (int i = 0; i < kElements; ++i) {
    const OutputType<F, T> value = in.template evaluate_at<kOutput>(p.value, i);
    if (present >> i & 1) store_as(call.data[kOutput], call.dtype[kOutput], at[i], value);
  }
}

template <class F, class T, int kElements>
__global__ void __launch_bounds__(kPointwiseThreads)
    general_kernel(const __grid_constant__ PointwiseCall call) {
  begin_kernel();
  const Parameters<T> p(call);
  int32_t at[kMaxPointwise][kElements];
  uint32_t present = 0;  // bit i: there is an i-th element
#pragma unroll
  for (int i = 0; i < kElements; ++i) {
    // Past the end the last element is read again, and nothing written.
    const uint32_t element = element_of<kElements>(call, i);
    present |= (element != kNoElement) << i;
    int32_t offsets[kMaxPointwise];
    call.offsets.at(min(element, call.count - 1), offsets);
#pragma unroll
    for (int k = 0; k < F::n_out + F::n_in; ++k) at[k][i] = offsets[k];
  }
  Inputs<F, T, kElements> in;
  in.gather(call, at);
  put_elements<F, 0, kElements>(call, p, in, at[0], present);
  if constexpr (F::n_out > 1) put_elements<F, 1, kElements>(call, p, in, at[1], present);
  if constexpr (F::n_out > 2) put_elements<F, 2, kElements>(call, p, in, at[2], present);
}

// ---- registration

// As many elements in registers, of one byte or of two. No function where T widens none of kBytes.
template <class F, class T, int kPackets, int kBytes>
PacketKernel narrow_kernel() {
  PacketKernel kernel = {};
  if constexpr (kHasNarrow<T, kBytes>) {
    constexpr int kWidth = kPacketWidth<Bits<kBytes>>, kFewer = kPackets * kBytes / 2;
    kernel = {vector_kernel<F, T, kWidth, kFewer, kBytes>, kWidth, kFewer};
  }
  return kernel;
}

// How much a thread handles: two packets of each input are enough loads in flight. With more, the
// last round of blocks leaves most multiprocessors idle in arrays of some million elements.
template <class F, class T>
Pointwise pointwise_of() {
  constexpr bool kOnlyTruths = F::bool_out && F::bool_in == (1u << F::n_in) - 1;
  constexpr int kWidth = kOnlyTruths ? kPacketWidth<uint8_t> : kPacketWidth<T>;
  constexpr int kPackets = 2, kElements = F::n_in <= 2 ? 4 : 2;
  static_assert(F::n_in <= kMaxPointwiseIn && F::n_out <= kMaxPointwiseOut);
  return {F::n_in,
          F::n_out,
          F::bool_in,
          F::bool_out,
          dtype_of<T>,
          {vector_kernel<F, T, kWidth, kPackets, 0>, kWidth, kPackets},
          {narrow_kernel<F, T, kPackets, 1>(), narrow_kernel<F, T, kPackets, 2>()},
          general_kernel<F, T, kElements>,
          kElements};
}

// The arithmetic types of a row.
enum TypeClass { FLOAT, INT, NUM };

template <class F, int kClass>
int32_t pointwise(const dt_stream* stream, const calls::Pointwise& call) {
  constexpr Category kLowest = kClass == FLOAT ? Category::FLOATING : Category::INTEGER;
  constexpr Category kHighest = kClass == INT ? Category::INTEGER : Category::FLOATING;
  return visit_compute<kLowest, kHighest>(call.compute, [&](auto type) {
    return run_pointwise(stream, call, pointwise_of<F, typename decltype(type)::type>());
  });
}

}  // namespace

// The kernels are many: several files compile a share each, so that builds run in parallel.
#define DT_POINTWISE_KERNEL(name, type_class)                           \
  namespace kernels {                                                   \
  int32_t name(const dt_stream* stream, const calls::Pointwise& call) { \
    return pointwise<fn::name, type_class>(stream, call);               \
  }                                                                     \
  }

}  // namespace dt::cuda
