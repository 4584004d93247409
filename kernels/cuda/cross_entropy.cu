// cross_entropy of logits [rows, classes] against class indices, and its gradient.
//
// With s = label_smoothing, K classes and weights w (1 if there are none), the loss of a row with
// target t is
//   (1 - s) * w[t] * (lse - x[t])  +  s / K * sum over c of w[c] * (lse - x[c])
// with lse = log(sum(exp(x))).
//
// What the forward leaves to the gradient is not lse, in which a large x swallows the logarithm:
// the softmax is exp(x - top) * share, with the row's largest element and 1 / sum(exp(x - top)).
//
// Both kernels stream through a row once; a team of threads has a row. Logits of a narrow float are
// floats in the registers, and everything else is in their compute dtype.
#include <algorithm>

#include "kernels/calls/loss.gen.h"
#include "kernels/cuda/fault.cuh"
#include "kernels/cuda/loss_sums.cuh"
#include "kernels/cuda/operands.cuh"
#include "kernels/cuda/rows.cuh"
#include "kernels/cuda/types.cuh"

namespace dt::cuda {
namespace {

// Packets that a thread loads at once; those of doubles, and of halves, which are eight floats,
// leave fewer registers for them.
template <class T>
constexpr int kAtOnce = sizeof(T) == 4 ? 4 : 2;

template <class T>
struct Loss {
  using V = Widened<T>;
  const T* x;
  const int64_t* target;
  const V* weight;  // or null
  int64_t target_stride, rows, classes, ignore_index;
  V smoothing;
  Complaint complaint;

  // Of either kernel's call.
  template <class Call>
  Loss(const dt_stream* stream, const Call& call) : complaint(stream, call) {
    x = static_cast<const T*>(call.x.data);
    target = static_cast<const int64_t*>(call.target.data);
    target_stride = call.target.strides[0];
    weight = optional_data<const V>(call.weight);
    rows = call.x.sizes[0];
    classes = call.x.sizes[1];
    ignore_index = call.ignore_index;
    smoothing = static_cast<V>(call.label_smoothing);
  }

  // The target of a row, or -1 if the row is ignored, as are those whose target is no class.
  __device__ __forceinline__ int64_t target_of(int64_t row) const {
    return valid_target(target[row * target_stride]);
  }
  __device__ __forceinline__ int64_t valid_target(int64_t t) const {
    return t != ignore_index && complaint.accepts(t, classes) ? t : -1;
  }
  __device__ __forceinline__ V weight_of(int64_t c) const { return weight ? weight[c] : V(1); }
};

// The weights of a packet's classes.
template <class T, class Row>
__device__ __forceinline__ auto load_weights(const Widened<T>* weight, const Row& row,
                                             int64_t packet) {
  using V = Widened<T>;
  if constexpr (std::is_same_v<T, V>) {
    return row.load_shared(weight, packet, V(1));
  } else {
    auto w = filled_packet<Row::kWidth>(V(1));
    if (weight) {
#pragma unroll
      for (int v = 0; v < Row::kWidth; ++v) {
        const int64_t c = row.first(packet) + v;
        if (row.contains(c)) w.value[v] = weight[c];
      }
    }
    return w;
  }
}

// ---- forward

// What a row, or a thread's share of it, comes to: the largest element, the sum of exponentials
// and, for label smoothing, the sum of w * (base - x), where base is finite_top(top), and the sum
// of w.
template <class T>
struct RowSums {
  T top, sum, smooth, weight;

  // The same sums relative to a top that is at least as large.
  __device__ __forceinline__ void move_to(T new_top) {
    const T base = finite_top(new_top);
    sum *= math::exp(top - base);
    smooth += weight * (base - finite_top(top));
    top = new_top;
  }
};

template <class T, int kWidth, int kPackets>
__device__ __forceinline__ void add_exponentials(const Packet<T, kWidth> (&x)[kPackets],
                                                 RowSums<T>* sums) {
  T top = sums->top;
#pragma unroll
  for (int k = 0; k < kPackets; ++k) {
#pragma unroll
    for (int v = 0; v < kWidth; ++v) top = max_of(top, x[k].value[v]);
  }
  sums->move_to(top);
  const T base = finite_top(top);
#pragma unroll
  for (int k = 0; k < kPackets; ++k) {
#pragma unroll
    for (int v = 0; v < kWidth; ++v) sums->sum += exp_term(x[k].value[v] - base);
  }
}

// Packets first, first + step, ... after their exponentials.
template <class T, class Row, class V, int kWidth, int kPackets>
__device__ __forceinline__ void add_smooth(const V* weight, const Row& row,
                                           const Packet<V, kWidth> (&x)[kPackets], int64_t first,
                                           int step, RowSums<V>* sums) {
  const V base = finite_top(sums->top);
#pragma unroll
  for (int k = 0; k < kPackets; ++k) {
    const int64_t packet = first + k * step;
    const Packet<V, kWidth> w = load_weights<T>(weight, row, packet);
#pragma unroll
    for (int v = 0; v < kWidth; ++v) {
      if (!row.contains(row.first(packet) + v)) continue;
      sums->smooth += w.value[v] * (base - x[k].value[v]);
      sums->weight += w.value[v];
    }
  }
}

// The sums of a team. Once all threads have the row's top, they are plain sums.
template <bool kSmooth, int kTeam, class T>
__device__ __forceinline__ RowSums<T> team_sums(RowSums<T> mine) {
  mine.move_to(team_reduce<kTeam>(mine.top, [](T a, T b) { return max_of(a, b); }));
  mine.sum = team_sum<kTeam>(mine.sum);
  if constexpr (kSmooth) {
    const Pair<T> smooth = team_reduce<kTeam>(Pair<T>{mine.smooth, mine.weight}, Pair<T>::merge);
    mine.smooth = smooth.first;
    mine.weight = smooth.second;
  }
  return mine;
}

// `nearest` is top - x[t].
template <class T, class V = Widened<T>>
__device__ V row_loss(const Loss<T>& loss, const RowSums<V>& sums, int64_t target, V nearest) {
  const V log_sum = math::log(sums.sum);
  const V sharp = loss.weight_of(target) * (nearest + log_sum);
  if (loss.smoothing == V(0)) return sharp;
  const V smooth = (sums.smooth + sums.weight * log_sum) / static_cast<V>(loss.classes);
  return (V(1) - loss.smoothing) * sharp + loss.smoothing * smooth;
}

template <class T, class Threads, class Row, bool kSmooth>
__global__ void __launch_bounds__(Threads::block)
    cross_entropy_rows(Widened<T>* y, int64_t y_stride, Widened<T>* scales, Loss<T> loss) {
  using V = Widened<T>;
  begin_kernel();
  const int64_t number = int64_t{blockIdx.x} * Threads::per_block + Threads::number();
  const bool exists = number < loss.rows, leads = exists && Threads::rank() == 0;
  const T* x = loss.x + (exists ? number : 0) * loss.classes;
  const Row row(loss.classes, x);
  // The target is on its way together with the row, and x[target] while the team adds up: nobody
  // waits for either.
  const int64_t given = leads ? loss.target[number * loss.target_stride] : loss.ignore_index;

  RowSums<V> sums = {lowest<V>(), V(0), V(0), V(0)};
  for (int64_t begin = Threads::rank(); begin < row.packets();
       begin += Threads::size * kAtOnce<T>) {
    Packet<V, Row::kWidth> part[kAtOnce<T>];
#pragma unroll
    for (int k = 0; k < kAtOnce<T>; ++k)
      part[k] = row.load(x, begin + k * Threads::size, lowest<V>());
    add_exponentials(part, &sums);
    if constexpr (kSmooth) add_smooth<T>(loss.weight, row, part, begin, Threads::size, &sums);
  }
  const int64_t target = loss.valid_target(given);
  const V aimed = target >= 0 ? V(x[target]) : V(0);
  sums = team_sums<kSmooth, Threads::size>(sums);
  if (!leads) return;
  scales[number] = sums.top;
  scales[loss.rows + number] = V(1) / sums.sum;
  y[number * y_stride] = target < 0 ? V(0) : row_loss(loss, sums, target, sums.top - aimed);
}

// ---- the losses' sum or mean

template <class T>
__global__ void __launch_bounds__(kSumThreads)
    sum_losses(const Widened<T>* losses, Loss<T> loss, Reduced<Widened<T>> to) {
  begin_kernel();
  LossSums sums = {0, 0};
  const int64_t step = int64_t{gridDim.x} * kSumThreads;
#pragma unroll 4
  for (int64_t row = int64_t{blockIdx.x} * kSumThreads + threadIdx.x; row < loss.rows;
       row += step) {
    const int64_t target = loss.target_of(row);
    sums.first += static_cast<double>(losses[row]);
    if (target >= 0) sums.second += static_cast<double>(loss.weight_of(target));
  }
  sums = team_reduce<kSumThreads>(sums, LossSums::merge);
  if (threadIdx.x == 0) to.store(sums);
}

template <class T>
int32_t reduce_losses(const dt_stream* stream, const calls::CrossEntropy& call, const Loss<T>& loss,
                      const Widened<T>* losses, LossSums* partial) {
  using V = Widened<T>;
  const Reduced<V> result = {static_cast<V*>(call.loss.data), optional_data<V>(call.divisor),
                             nullptr};
  return reduce_in_blocks(
      stream, result, partial, loss.rows, [&](unsigned blocks, const Reduced<V>& to) {
        return launch(stream, sum_losses<T>, blocks, kSumThreads, 0, losses, loss, to);
      });
}

// ---- backward: gx[c] = g * (softmax[c] * (the sum of the row's weights) - s / K * w[c]
//                             - (1 - s) * w[t] * [c == t])

template <class T>
__global__ void __launch_bounds__(kSumThreads) sum_weights(T* total, const T* weight, int64_t n) {
  begin_kernel();
  T sum = 0;
  for (int64_t i = threadIdx.x; i < n; i += kSumThreads) sum += weight[i];
  sum = team_reduce<kSumThreads>(sum, [](T a, T b) { return a + b; });
  if (threadIdx.x == 0) *total = sum;
}

// What multiplies the elements of a row's gradient.
template <class T>
struct RowFactors {
  int64_t target;  // -1: the row is ignored
  T top, total, each, sharp;
};

template <class T, class V = Widened<T>>
__device__ __forceinline__ RowFactors<V> row_factors(const Loss<T>& loss, V g, V top, V share,
                                                     int64_t target, const V* total_weight) {
  if (target < 0) return {target, V(0), V(0), V(0), V(0)};
  const V sharp = (V(1) - loss.smoothing) * loss.weight_of(target);
  const V uniform = loss.smoothing / static_cast<V>(loss.classes);
  const V weights = total_weight ? *total_weight : static_cast<V>(loss.classes);
  return {target, top, g * (sharp + uniform * weights) * share,
          uniform == V(0) ? V(0) : g * uniform, g * sharp};
}

template <class T, class Layout, class V, int kWidth>
__device__ __forceinline__ Packet<V, kWidth> gradient(const Loss<T>& loss, const Layout& row,
                                                      const RowFactors<V>& f,
                                                      const Packet<V, kWidth>& x, int64_t packet) {
  if (f.target < 0) return {};
  const auto w = load_weights<T>(f.each == V(0) ? nullptr : loss.weight, row, packet);
  Packet<V, kWidth> result;
#pragma unroll
  for (int v = 0; v < kWidth; ++v) {
    result.value[v] = math::exp(x.value[v] - f.top) * f.total - f.each * w.value[v];
    if (row.first(packet) + v == f.target) result.value[v] -= f.sharp;
  }
  return result;
}

template <class T>
struct RowScalars {
  const T *g, *scales;
  int64_t g_stride;
  const T *divisor, *total_weight;  // null: 1; the number of classes
  T g_number;                       // where g is null

  __device__ __forceinline__ T factor(int64_t row) const {
    const T each = g != nullptr ? g[row * g_stride] : g_number;
    return divisor != nullptr ? each / *divisor : each;
  }
};

template <class T, class Threads>
__global__ void __launch_bounds__(Threads::block)
    cross_entropy_backward_rows(T* gx, Loss<T> loss, RowScalars<Widened<T>> scalars) {
  using V = Widened<T>;
  begin_kernel();
  const int64_t number = int64_t{blockIdx.x} * Threads::per_block + Threads::number();
  if (number >= loss.rows) return;
  const T* x = loss.x + number * loss.classes;
  T* to = gx + number * loss.classes;
  const RowLayout<T> row(loss.classes, x, to);
  Packet<V, kPacketWidth<T>> part[kAtOnce<T>];
  const auto load = [&](int64_t begin) {
#pragma unroll
    for (int k = 0; k < kAtOnce<T>; ++k) part[k] = row.load(x, begin + k * Threads::size, V(0));
  };
  int64_t begin = Threads::rank();
  load(begin);  // on its way while the row's factors are read and divided
  const RowFactors<V> factors =
      row_factors(loss, scalars.factor(number), scalars.scales[number],
                  scalars.scales[loss.rows + number], loss.target_of(number), scalars.total_weight);
  while (begin < row.packets()) {
#pragma unroll
    for (int k = 0; k < kAtOnce<T>; ++k) {
      const int64_t packet = begin + k * Threads::size;
      row.store(to, packet, gradient(loss, row, factors, part[k], packet));
    }
    begin += Threads::size * kAtOnce<T>;
    load(begin);
  }
}

// ---- launches

// f(Team) for rows of n elements.
template <class T, class F>
int32_t visit_team(int64_t n, const F& f) {
  const int64_t packets = divide_up(n, kPacketWidth<T>);
  if (packets <= 4 * kAtOnce<T>) return f(Team<4>());
  if (packets <= 8 * kAtOnce<T>) return f(Team<8>());
  if (packets <= 64 * kAtOnce<T>) return f(Team<32>());
  if (packets <= 1024 * kAtOnce<T>) return f(Team<256>());
  return f(Team<512>());
}

template <class Threads>
dim3 row_grid(int64_t rows) {
  return dim3(static_cast<unsigned>(divide_up(rows, Threads::per_block)));
}

// Of a reduced loss: the sums of blocks, then each row's loss.
template <class V>
struct LossScratch {
  LossSums* sums;
  V* losses;

  LossScratch(void* workspace, int64_t rows)
      : sums(static_cast<LossSums*>(workspace)),
        losses(reinterpret_cast<V*>(sums + sum_blocks(rows))) {}
};

}  // namespace

int32_t kernels::cross_entropy(const dt_stream* stream, const calls::CrossEntropy& call) {
  return visit_stored_floating(call.x.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    using V = Widened<T>;
    const Loss<T> loss(stream, call);
    const dt_view& y = call.loss;
    const LossScratch<V> scratch(call.workspace, loss.rows);
    V* const losses = call.reduces ? scratch.losses : static_cast<V*>(y.data);
    const int64_t stride = call.reduces ? 1 : y.strides[0];
    const bool are_whole =
        rows_are_aligned<T>(loss.classes, call.x) && is_aligned(loss.weight, kPacketBytes);
    const int32_t code = visit_team<T>(loss.classes, [&](auto team) {
      using Threads = decltype(team);
      return visit_row_layout<T, int64_t>(are_whole, [&](auto row) {
        using Row = typename decltype(row)::type;
        const auto kernel = loss.smoothing == V(0) ? cross_entropy_rows<T, Threads, Row, false>
                                                   : cross_entropy_rows<T, Threads, Row, true>;
        return launch(stream, kernel, row_grid<Threads>(loss.rows), Threads::block, 0, losses,
                      stride, static_cast<V*>(call.scales.data), loss);
      });
    });
    if (code != DT_KERNEL_OK || !call.reduces) return code;
    return reduce_losses(stream, call, loss, static_cast<const V*>(losses), scratch.sums);
  });
}

int64_t kernels::cross_entropy_workspace(const dt_stream*, const calls::CrossEntropy& call) {
  const int64_t rows = call.x.sizes[0];
  if (!call.reduces) return 0;
  return sum_blocks(rows) * static_cast<int64_t>(sizeof(LossSums)) +
         rows * bytes_of(call.scales.dtype);
}

int32_t kernels::cross_entropy_backward(const dt_stream* stream,
                                        const calls::CrossEntropyBackward& call) {
  return visit_stored_floating(call.x.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    using V = Widened<T>;
    const Loss<T> loss(stream, call);
    const dt_view& g = call.g;
    RowScalars<V> scalars = {g.immediate ? nullptr : static_cast<const V*>(g.data),
                             static_cast<const V*>(call.scales.data),
                             g.strides[0],
                             optional_data<const V>(call.divisor),
                             nullptr,
                             g.immediate ? static_cast<V>(g.number.f) : V(0)};
    if (loss.weight && loss.smoothing != V(0)) {
      V* total = static_cast<V*>(call.workspace);
      const int32_t code =
          launch(stream, sum_weights<V>, 1, kSumThreads, 0, total, loss.weight, loss.classes);
      if (code != DT_KERNEL_OK) return code;
      scalars.total_weight = total;
    }
    return visit_team<T>(loss.classes, [&](auto team) {
      using Threads = decltype(team);
      return launch(stream, cross_entropy_backward_rows<T, Threads>, row_grid<Threads>(loss.rows),
                    Threads::block, 0, static_cast<T*>(call.gx.data), loss, scalars);
    });
  });
}

// The sum of the weights.
int64_t kernels::cross_entropy_backward_workspace(const dt_stream*,
                                                  const calls::CrossEntropyBackward&) {
  return sizeof(double);
}

}  // namespace dt::cuda
