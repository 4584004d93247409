// nll_loss of log-probabilities [N, C, S] against classes [N, S], and its gradient. A position is a
// pair (n, s). Numbers are as wide as those of the elements' compute dtype, sums are doubles.
#include "kernels/calls/loss.gen.h"
#include "kernels/cuda/fault.cuh"
#include "kernels/cuda/loss_sums.cuh"
#include "kernels/cuda/offsets.cuh"
#include "kernels/cuda/operands.cuh"
#include "kernels/cuda/packet.cuh"

namespace dt::cuda {
namespace {

constexpr int kThreads = 256;

// The targets of positions, and their weights. T is a type as it is stored.
template <class T>
struct Targets {
  using V = Widened<T>;
  const int64_t* data;
  const T* weight;  // or null
  int64_t n_stride, s_stride, count, size, classes, ignore_index;
  Complaint complaint;

  // Of either kernel's call; `x` is the operand [N, C, S].
  template <class Call>
  Targets(const dt_stream* stream, const Call& call, const dt_view& x)
      : data(static_cast<const int64_t*>(call.target.data)),
        weight(optional_data<const T>(call.weight)),
        n_stride(call.target.strides[0]),
        s_stride(call.target.strides[1]),
        count(x.sizes[0] * x.sizes[2]),
        size(x.sizes[2]),
        classes(x.sizes[1]),
        ignore_index(call.ignore_index),
        complaint(stream, call) {}

  // -1 if the position is ignored, as are those whose target is no class.
  __device__ __forceinline__ int64_t at(int64_t n, int64_t s) const {
    const int64_t t = data[n * n_stride + s * s_stride];
    return t != ignore_index && complaint.accepts(t, classes) ? t : -1;
  }
  __device__ __forceinline__ V weight_of(int64_t t) const {
    return weight ? static_cast<V>(weight[t]) : V(1);
  }
};

// ---- forward

template <class T>
struct Losses {
  Targets<T> targets;
  const T* x;
  T* y;  // of losses that are not reduced
  int64_t x_stride[3], y_stride[2];

  struct Loss {
    Widened<T> value, weight;
  };
  __device__ __forceinline__ Loss operator()(int64_t position, int64_t* n, int64_t* s) const {
    *n = targets.size == 1 ? position : position / targets.size;
    *s = position - *n * targets.size;
    const int64_t t = targets.at(*n, *s);
    if (t < 0) return {0, 0};
    const auto weight = targets.weight_of(t);
    const auto element =
        static_cast<Widened<T>>(x[*n * x_stride[0] + t * x_stride[1] + *s * x_stride[2]]);
    return {-weight * element, weight};
  }
};

template <class T>
__global__ void __launch_bounds__(kThreads) store_losses(Losses<T> losses) {
  begin_kernel();
  const int64_t position = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (position >= losses.targets.count) return;
  int64_t n, s;
  const auto loss = losses(position, &n, &s);
  losses.y[n * losses.y_stride[0] + s * losses.y_stride[1]] = static_cast<T>(loss.value);
}

template <class T>
__global__ void __launch_bounds__(kSumThreads)
    sum_picked(Losses<T> losses, Reduced<T, Widened<T>> to) {
  begin_kernel();
  LossSums sums = {0, 0};
  const int64_t step = int64_t{gridDim.x} * kSumThreads;
#pragma unroll 4
  for (int64_t position = int64_t{blockIdx.x} * kSumThreads + threadIdx.x;
       position < losses.targets.count; position += step) {
    int64_t n, s;
    const auto loss = losses(position, &n, &s);
    sums.first += static_cast<double>(loss.value);
    sums.second += static_cast<double>(loss.weight);
  }
  sums = team_reduce<kSumThreads>(sums, LossSums::merge);
  if (threadIdx.x == 0) to.store(sums);
}

template <class T>
int32_t forward(const dt_stream* stream, const calls::NllLoss& call) {
  using V = Widened<T>;
  const int64_t *x = call.x.strides, *y = call.loss.strides;
  Losses<T> losses = {{stream, call, call.x},
                      static_cast<const T*>(call.x.data),
                      nullptr,
                      {x[0], x[1], x[2]},
                      {0, 0}};
  const int64_t count = losses.targets.count;
  if (call.reduces) {
    const Reduced<T, V> result = {static_cast<T*>(call.loss.data), optional_data<V>(call.divisor),
                                  nullptr};
    return reduce_in_blocks(stream, result, static_cast<LossSums*>(call.workspace), count,
                            [&](unsigned blocks, const Reduced<T, V>& to) {
                              return launch(stream, sum_picked<T>, blocks, kSumThreads, 0, losses,
                                            to);
                            });
  }
  losses.y = static_cast<T*>(call.loss.data);
  losses.y_stride[0] = y[0], losses.y_stride[1] = y[1];
  return launch(stream, store_losses<T>, static_cast<unsigned>(divide_up(count, kThreads)),
                kThreads, 0, losses);
}

// ---- backward: gx[n][c][s] = -g[n][s] * w[t] * [c == t]

template <class T>
struct Slopes {
  using V = Widened<T>;
  Targets<T> targets;
  const T* g;
  V number;  // where g is null
  int64_t g_stride[2];
  const V* divisor;  // null: 1

  __device__ __forceinline__ T at(int64_t n, int64_t s, int64_t c) const {
    const int64_t t = targets.at(n, s);
    if (t != c) return T(0.0f);
    const V grad = g ? static_cast<V>(g[n * g_stride[0] + s * g_stride[1]]) : number;
    return static_cast<T>(-targets.weight_of(t) * (divisor ? grad / *divisor : grad));
  }
};

// Where an element of a contiguous [N, C, S] is.
template <class Index>
struct Place {
  Index n, c, s;
};

// Divides element numbers, in 32 bits where they suffice.
template <class Index>
struct PlaceOf {
  FastDivide by_size, by_classes;
  Index size, classes;

  PlaceOf(int64_t size, int64_t classes)
      : size(static_cast<Index>(size)), classes(static_cast<Index>(classes)) {
    if (sizeof(Index) > sizeof(uint32_t)) return;
    by_size = FastDivide(static_cast<uint32_t>(size));
    by_classes = FastDivide(static_cast<uint32_t>(classes));
  }
  __device__ __forceinline__ Place<Index> operator()(Index element) const {
    Index row, n;
    if constexpr (sizeof(Index) == 4)
      row = by_size.divide(element), n = by_classes.divide(row);
    else
      row = element / size, n = row / classes;
    return {n, row - n * classes, element - row * size};
  }
  __device__ __forceinline__ void advance(Place<Index>* place) const {
    if (++place->s < size) return;
    place->s = 0;
    if (++place->c < classes) return;
    place->c = 0;
    ++place->n;
  }
};

template <class T, int kWidth, class Index>
__global__ void __launch_bounds__(kThreads)
    store_slopes(T* gx, Index count, Slopes<T> slopes, PlaceOf<Index> place_of) {
  begin_kernel();
  const Index first = (static_cast<Index>(blockIdx.x) * kThreads + threadIdx.x) * kWidth;
  if (first >= count) return;
  Place<Index> place = place_of(first);
  Packet<T, kWidth> packet;
#pragma unroll
  for (int v = 0; v < kWidth; ++v) {
    packet.value[v] = slopes.at(place.n, place.s, place.c);
    place_of.advance(&place);
  }
  store_packet(gx + first, packet);
}

template <class T>
int32_t backward(const dt_stream* stream, const calls::NllLossBackward& call) {
  using V = Widened<T>;
  const dt_view& g = call.g;
  const Slopes<T> slopes = {{stream, call, call.gx},
                            g.immediate ? nullptr : static_cast<const T*>(g.data),
                            g.immediate ? static_cast<V>(g.number.f) : V(0),
                            {g.strides[0], g.strides[1]},
                            optional_data<const V>(call.divisor)};
  T* const gx = static_cast<T*>(call.gx.data);
  const int64_t count = numel(call.gx), classes = call.gx.sizes[1], size = call.gx.sizes[2];
  const auto store = [&](auto width, auto index) {
    constexpr int kWidth = decltype(width)::value;
    using Index = decltype(index);
    const int64_t blocks = divide_up(count, int64_t{kThreads} * kWidth);
    return launch(stream, store_slopes<T, kWidth, Index>, static_cast<unsigned>(blocks), kThreads,
                  0, gx, static_cast<Index>(count), slopes, PlaceOf<Index>(size, classes));
  };
  using Packets = std::integral_constant<int, kPacketWidth<T>>;
  using Singles = std::integral_constant<int, 1>;
  const bool packs = count % kPacketWidth<T> == 0 && is_aligned(gx, kPacketBytes);
  if (count > kMaxIndex32) return store(Singles(), int64_t());
  return packs ? store(Packets(), uint32_t()) : store(Singles(), uint32_t());
}

}  // namespace

int32_t kernels::nll_loss(const dt_stream* stream, const calls::NllLoss& call) {
  return visit_stored_floating(call.x.dtype, [&](auto type) {
    return forward<Stored<typename decltype(type)::type>>(stream, call);
  });
}

int64_t kernels::nll_loss_workspace(const dt_stream*, const calls::NllLoss& call) {
  const int64_t count = call.x.sizes[0] * call.x.sizes[2];
  return call.reduces ? sum_blocks(count) * static_cast<int64_t>(sizeof(LossSums)) : 0;
}

int32_t kernels::nll_loss_backward(const dt_stream* stream, const calls::NllLossBackward& call) {
  return visit_stored_floating(call.gx.dtype, [&](auto type) {
    return backward<Stored<typename decltype(type)::type>>(stream, call);
  });
}

}  // namespace dt::cuda
