// softmax, log_softmax and their gradients along any dimension.
//
// Rows: the dimension is dense in all operands. A team of threads keeps a row in registers, so that
// memory is read once; rows that are too long for that are read twice, and short rows that begin
// anywhere go through shared memory (short_rows.cuh). Columns: otherwise, with neighbouring lines
// side by side in a warp.
#include "kernels/calls/nn.gen.h"
#include "kernels/cuda/lines.cuh"
#include "kernels/cuda/moments.cuh"
#include "kernels/cuda/rows.cuh"
#include "kernels/cuda/short_rows.cuh"
#include "kernels/cuda/together.cuh"
#include "kernels/cuda/types.cuh"

namespace dt::cuda {
namespace {

// A packet of doubles or of narrow floats needs more registers, with the exponentials of its
// elements, than a thread of the largest block has.
template <class T>
constexpr int kLongTeam = sizeof(T) == sizeof(float) ? 1024 : 512;
// Many packets in smaller teams keep more rows in flight: on an H200, rows of 8192 floats moved at
// 4.1 TB/s with 8 packets and 256 threads, at 2.9 with 4 and 512.
template <class T>
constexpr int kMostPackets = sizeof(T) == sizeof(float) ? 8 : 4;
constexpr int kLongPackets = 4;  // that a thread loads at once

// The largest element of some packets.
template <class T, int kPackets, int kWidth>
__device__ __forceinline__ T top_of(const Packet<T, kWidth> (&x)[kPackets]) {
  T top = lowest<T>();
#pragma unroll
  for (int k = 0; k < kPackets; ++k) {
#pragma unroll
    for (int v = 0; v < kWidth; ++v) top = max_of(top, x[k].value[v]);
  }
  return top;
}

// The sum of exponentials relative to `top`, which replace the elements unless these are kept.
template <class T, int kPackets, int kWidth>
__device__ __forceinline__ ExpSum<T> exp_sum(Packet<T, kWidth> (&x)[kPackets], T top, bool keep) {
  const T base = finite_top(top);
  T sum = 0;
#pragma unroll
  for (int k = 0; k < kPackets; ++k) {
#pragma unroll
    for (int v = 0; v < kWidth; ++v) {
      const T e = math::exp(x[k].value[v] - base);
      sum += e;
      if (!keep) x[k].value[v] = e;
    }
  }
  return {top, sum};
}

// ---- rows in registers

template <class T, class Shape, bool kLog>
__global__ void __launch_bounds__(Shape::Threads::block)
    softmax_rows(T* y, const T* x, Lines lines) {
  begin_kernel();
  using V = Widened<T>;
  using Threads = typename Shape::Threads;
  constexpr int kWidth = kPacketWidth<T>;
  const int64_t number = int64_t{blockIdx.x} * Threads::per_block + Threads::number();
  const bool exists = number < lines.count;
  int64_t offsets[kLineOperands];
  lines.at(exists ? number : 0, offsets);
  const T* from = x + offsets[1];
  T* to = y + offsets[0];
  const RowLayout<T, int> row(lines.length, from, to);

  Packet<V, kWidth> kept[Shape::packets];
#pragma unroll
  for (int k = 0; k < Shape::packets; ++k)
    kept[k] = row.load(from, k * Shape::team + Threads::rank(), lowest<V>());
  // Lanes agree on the largest element first: joining sums that are relative to different ones
  // takes exponentials, in short rows as many as the elements do.
  V top = top_of(kept);
  if constexpr (Shape::team <= kWarp)
    top = team_reduce<Shape::team>(top, [](V a, V b) { return max_of(a, b); });
  const ExpSum<V> mine = exp_sum(kept, top, kLog);
  ExpSum<V> all = mine;
  if constexpr (Shape::team <= kWarp)
    all.sum = team_sum<Shape::team>(mine.sum);
  else
    all = team_reduce<Shape::team>(mine, ExpSum<V>::merge);
  const V scale = math::exp(finite_top(mine.top) - all.top) / all.sum;
  const V log_sum = math::log(all.sum);
#pragma unroll
  for (int k = 0; k < Shape::packets; ++k) {
#pragma unroll
    for (int v = 0; v < kWidth; ++v) {
      V& value = kept[k].value[v];
      value = kLog ? value - all.top - log_sum : value * scale;
    }
    if (exists) row.store(to, k * Shape::team + Threads::rank(), kept[k]);
  }
}

struct SoftmaxGradient {
  template <class T>
  static __device__ __forceinline__ T term(T g, T y) {
    return g * y;
  }
  template <class T>
  static __device__ __forceinline__ T result(T g, T y, T sum) {
    return y * (g - sum);
  }
};

struct LogSoftmaxGradient {
  template <class T>
  static __device__ __forceinline__ T term(T g, T) {
    return g;
  }
  template <class T>
  static __device__ __forceinline__ T result(T g, T y, T sum) {
    return g - math::exp(y) * sum;
  }
};

template <class T, class Shape, class Gradient>
__global__ void __launch_bounds__(Shape::Threads::block)
    softmax_backward_rows(T* gx, const T* g, const T* y, Lines lines) {
  begin_kernel();
  using V = Widened<T>;
  using Threads = typename Shape::Threads;
  constexpr int kWidth = kPacketWidth<T>;
  const int64_t number = int64_t{blockIdx.x} * Threads::per_block + Threads::number();
  const bool exists = number < lines.count;
  int64_t offsets[kLineOperands];
  lines.at(exists ? number : 0, offsets);
  T* to = gx + offsets[0];
  const RowLayout<T, int> row(lines.length, to, g + offsets[1], y + offsets[2]);

  Packet<V, kWidth> grad[Shape::packets], result[Shape::packets];
  V sum = 0;
#pragma unroll
  for (int k = 0; k < Shape::packets; ++k) {
    const int packet = k * Shape::team + Threads::rank();
    grad[k] = row.load(g + offsets[1], packet, V(0));
    result[k] = row.load(y + offsets[2], packet, V(0));
  }
#pragma unroll
  for (int k = 0; k < Shape::packets; ++k) {
#pragma unroll
    for (int v = 0; v < kWidth; ++v) sum += Gradient::term(grad[k].value[v], result[k].value[v]);
  }
  sum = team_reduce<Shape::team>(sum, [](V a, V b) { return a + b; });
#pragma unroll
  for (int k = 0; k < Shape::packets; ++k) {
#pragma unroll
    for (int v = 0; v < kWidth; ++v)
      grad[k].value[v] = Gradient::result(grad[k].value[v], result[k].value[v], sum);
    if (exists) row.store(to, k * Shape::team + Threads::rank(), grad[k]);
  }
}

// ---- short rows that begin anywhere: each thread of a group has every lanes-th element of a row

template <class T, bool kLog>
__global__ void __launch_bounds__(kShortThreads)
    softmax_short_rows(T* y, const T* x, ShortRows rows) {
  begin_kernel();
  using V = Widened<T>;
  __shared__ typename SharedRows<T>::Space space;
  const SharedRows<T> tile(space, rows, x);
  __syncthreads();
  rows.for_each([&](const ShortRow& row) {
    V kept[kShortKept], top = lowest<V>(), sum = 0;
    row.for_each([&](int k, int i, int) {
      kept[k] = V(tile.element[i]);
      top = max_of(top, kept[k]);
    });
    top = row.reduce(top, [](V a, V b) { return max_of(a, b); });
    const V base = finite_top(top);
    row.for_each([&](int k, int, int) {
      const V e = math::exp(kept[k] - base);
      sum += e;
      if (!kLog) kept[k] = e;
    });
    sum = row.sum(sum);
    const V scale = V(1) / sum, log_sum = math::log(sum);
    row.for_each([&](int k, int i, int) {
      tile.element[i] = T(kLog ? kept[k] - top - log_sum : kept[k] * scale);
    });
  });
  __syncthreads();
  tile.store(rows, y);
}

template <class T, class Gradient>
__global__ void __launch_bounds__(kShortThreads)
    softmax_backward_short_rows(T* gx, const T* g, const T* y, ShortRows rows) {
  begin_kernel();
  using V = Widened<T>;
  __shared__ typename SharedRows<T>::Space spaces[2];
  const SharedRows<T> grad(spaces[0], rows, g), result(spaces[1], rows, y);
  __syncthreads();
  rows.for_each([&](const ShortRow& row) {
    V sum = 0;
    row.for_each(
        [&](int, int i, int) { sum += Gradient::term(V(grad.element[i]), V(result.element[i])); });
    sum = row.sum(sum);
    row.for_each([&](int, int i, int) {
      grad.element[i] = T(Gradient::result(V(grad.element[i]), V(result.element[i]), sum));
    });
  });
  __syncthreads();
  grad.store(rows, gx);
}

// ---- long rows: a block, or a few where rows are few, reads each twice, the second time mostly
// from the L2 cache

template <class T, bool kLog>
__global__ void __launch_bounds__(kLongTeam<T>) softmax_long_rows(T* y, const T* x, Lines lines) {
  begin_kernel();
  using V = Widened<T>;
  constexpr int kWidth = kPacketWidth<T>, kTeam = kLongTeam<T>;
  const ClusterPlace place;
  const int64_t first = place.rank * kTeam * kLongPackets + threadIdx.x;
  const int64_t step = int64_t{place.blocks} * kTeam * kLongPackets;
  int64_t offsets[kLineOperands];
  lines.at(place.number, offsets);
  const T* from = x + offsets[1];
  T* to = y + offsets[0];
  const RowLayout<T> row(lines.length, from, to);

  ExpSum<V> total = ExpSum<V>::none();
  for (int64_t begin = first; begin < row.packets(); begin += step) {
    Packet<V, kWidth> part[kLongPackets];
#pragma unroll
    for (int k = 0; k < kLongPackets; ++k) part[k] = row.load(from, begin + k * kTeam, lowest<V>());
    total = ExpSum<V>::merge(total, exp_sum(part, top_of(part), true));
  }
  total = team_reduce<kTeam>(total, ExpSum<V>::merge);
  total = cluster_reduce(place, total, ExpSum<V>::merge);
  const V scale = V(1) / total.sum, log_sum = math::log(total.sum);
  for (int64_t begin = first; begin < row.packets(); begin += step) {
    Packet<V, kWidth> part[kLongPackets];
#pragma unroll
    for (int k = 0; k < kLongPackets; ++k) part[k] = row.load(from, begin + k * kTeam, V(0));
#pragma unroll
    for (int k = 0; k < kLongPackets; ++k) {
#pragma unroll
      for (int v = 0; v < kWidth; ++v) {
        const V above = part[k].value[v] - total.top;
        part[k].value[v] = kLog ? above - log_sum : math::exp(above) * scale;
      }
      row.store(to, begin + k * kTeam, part[k]);
    }
  }
}

template <class T, class Gradient>
__global__ void __launch_bounds__(kLongTeam<T>)
    softmax_backward_long_rows(T* gx, const T* g, const T* y, Lines lines) {
  begin_kernel();
  using V = Widened<T>;
  constexpr int kWidth = kPacketWidth<T>, kTeam = kLongTeam<T>;
  const ClusterPlace place;
  const int64_t first = place.rank * kTeam + threadIdx.x, step = int64_t{place.blocks} * kTeam;
  int64_t offsets[kLineOperands];
  lines.at(place.number, offsets);
  T* to = gx + offsets[0];
  const T *from_g = g + offsets[1], *from_y = y + offsets[2];
  const RowLayout<T> row(lines.length, to, from_g, from_y);

  V sum = 0;
#pragma unroll 2
  for (int64_t packet = first; packet < row.packets(); packet += step) {
    const Packet<V, kWidth> grad = row.load(from_g, packet, V(0)),
                            result = row.load(from_y, packet, V(0));
#pragma unroll
    for (int v = 0; v < kWidth; ++v) sum += Gradient::term(grad.value[v], result.value[v]);
  }
  sum = team_reduce<kTeam>(sum, [](V a, V b) { return a + b; });
  sum = cluster_reduce(place, sum, [](V a, V b) { return a + b; });
#pragma unroll 2
  for (int64_t packet = first; packet < row.packets(); packet += step) {
    Packet<V, kWidth> grad = row.load(from_g, packet, V(0));
    const Packet<V, kWidth> result = row.load(from_y, packet, V(0));
#pragma unroll
    for (int v = 0; v < kWidth; ++v)
      grad.value[v] = Gradient::result(grad.value[v], result.value[v], sum);
    row.store(to, packet, grad);
  }
}

// ---- columns: a block handles 32 neighbouring lines, blockDim.y threads to each

// Merges the values of a column's threads in the order of threadIdx.y; all of them get the result.
template <class T, class Merge>
__device__ T column_reduce(T value, const Merge& merge) {
  __shared__ T partial[32][32];
  partial[threadIdx.y][threadIdx.x] = value;
  __syncthreads();
  T total = partial[0][threadIdx.x];
  for (unsigned i = 1; i < blockDim.y; ++i) total = merge(total, partial[i][threadIdx.x]);
  return total;
}

template <class T, bool kLog>
__global__ void softmax_columns(T* y, const T* x, Lines lines) {
  begin_kernel();
  using V = Widened<T>;
  const int64_t column = int64_t{blockIdx.x} * 32 + threadIdx.x;
  const bool exists = column < lines.count;
  int64_t offsets[kLineOperands];
  lines.at(exists ? column : 0, offsets);
  const int64_t begin = threadIdx.y, end = exists ? lines.length : 0;

  ExpSum<V> total = ExpSum<V>::none();
#pragma unroll 4
  for (int64_t i = begin; i < end; i += blockDim.y) {
    const V value = V(x[offsets[1] + i * lines.step[1]]), top = max_of(total.top, value),
            base = finite_top(top);
    total = {top, total.sum * math::exp(total.top - base) + math::exp(value - base)};
  }
  total = column_reduce(total, ExpSum<V>::merge);
  const V scale = V(1) / total.sum, log_sum = math::log(total.sum);
#pragma unroll 4
  for (int64_t i = begin; i < end; i += blockDim.y) {
    const V above = V(x[offsets[1] + i * lines.step[1]]) - total.top;
    y[offsets[0] + i * lines.step[0]] = T(kLog ? above - log_sum : math::exp(above) * scale);
  }
}

template <class T, class Gradient>
__global__ void softmax_backward_columns(T* gx, const T* g, const T* y, Lines lines) {
  begin_kernel();
  using V = Widened<T>;
  const int64_t column = int64_t{blockIdx.x} * 32 + threadIdx.x;
  const bool exists = column < lines.count;
  int64_t offsets[kLineOperands];
  lines.at(exists ? column : 0, offsets);
  const int64_t begin = threadIdx.y, end = exists ? lines.length : 0;

  const auto grad = [&](int64_t i) { return V(g[offsets[1] + i * lines.step[1]]); };
  const auto result = [&](int64_t i) { return V(y[offsets[2] + i * lines.step[2]]); };
  V sum = 0;
#pragma unroll 4
  for (int64_t i = begin; i < end; i += blockDim.y) sum += Gradient::term(grad(i), result(i));
  sum = column_reduce(sum, [](V a, V b) { return a + b; });
#pragma unroll 4
  for (int64_t i = begin; i < end; i += blockDim.y)
    gx[offsets[0] + i * lines.step[0]] = T(Gradient::result(grad(i), result(i), sum));
}

// ---- launches

// More threads for a column while there are few columns; each should still see some elements.
dim3 column_block(const Lines& lines) {
  int y = 1;
  while (y < 32 && y * 4 <= lines.length && lines.count * y < 256 * 1024) y *= 2;
  return dim3(32, y);
}

dim3 column_grid(const Lines& lines) {
  return dim3(static_cast<unsigned>(divide_up(lines.count, 32)));
}

template <class T, class... Views>
bool lines_are_aligned(const Lines& lines, const Views&... views) {
  bool aligned = (is_aligned(views.data, kPacketBytes) && ...);
  for (int d = 0; d < lines.ndim; ++d) {
    for (int64_t stride : lines.strides[d]) aligned &= stride % kPacketWidth<T> == 0;
  }
  return aligned;
}

// Gradients of longer ones are as quick in packets.
constexpr int kLongestShortGradient = 15;

// Whether lines are as short as that and lie one after another in each operand.
bool are_short_rows(const Lines& lines, int longest) {
  bool are_adjacent = lines.ndim <= 1;
  for (int k = 0; k < kLineOperands && lines.ndim == 1; ++k)
    are_adjacent &= lines.strides[0][k] == lines.length;
  return are_adjacent && lines.length <= longest;
}

template <class Threads>
dim3 row_grid(const Lines& lines) {
  return dim3(static_cast<unsigned>(divide_up(lines.count, Threads::per_block)));
}

template <class T, class Kernel, class... Operands>
int32_t launch_long_rows(const dt_stream* stream, Kernel kernel, const Lines& lines,
                         Operands... operands) {
  constexpr int64_t kGrain = kLongTeam<T> * kPacketWidth<T>;
  return launch_by_rows(stream, kernel, lines.count, lines.length, kGrain, kLongTeam<T>,
                        operands..., lines);
}

// Of rows that are somewhat longer than a shape the next one would take twice the exponentials.
// Those that are a packet longer, because they begin between two boundaries, are many.
template <class T, class F, class LongRows>
int32_t visit_forward_shape(int64_t packets, const F& f, const LongRows& long_rows) {
  constexpr int kMost = kMostPackets<T>;
  const auto others = [&] {
    return visit_filled_shape<RowShape<8, 3>, RowShape<16, 3>, RowShape<32, 3>, RowShape<32, 4>,
                              RowShape<128, 3>>(
        packets, f, [&] { return visit_fine_row_shape<kMost, kMost>(packets, f, long_rows); });
  };
  if constexpr (kMost == 8) {
    if (packets > 512 * 9 && packets <= 1024 * 6) return f(RowShape<1024, 6>());
    return visit_filled_shape<RowShape<4, 9>, RowShape<8, 9>, RowShape<16, 9>, RowShape<32, 9>,
                              RowShape<256, 9>, RowShape<512, 9>>(packets, f, others);
  } else {
    return others();
  }
}

template <bool kLog>
int32_t run(const dt_stream* stream, const calls::Softmax& call) {
  const Lines lines = make_lines(call.y, call.x, call.x, call.dim);
  if (lines.count == 0 || lines.length == 0) return DT_KERNEL_OK;
  return visit_stored_floating(call.y.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    T* y = static_cast<T*>(call.y.data);
    const T* x = static_cast<const T*>(call.x.data);
    if (!lines.is_dense()) {
      return launch(stream, softmax_columns<T, kLog>, column_grid(lines), column_block(lines), 0, y,
                    x, lines);
    }
    const bool are_aligned = lines_are_aligned<T>(lines, call.y, call.x);
    if (!are_aligned && are_short_rows(lines, kLongestShortRow)) {
      const ShortRows rows(lines.count, lines.length, kTileElements<T>);
      return launch(stream, softmax_short_rows<T, kLog>, rows.grid(), kShortThreads, 0, y, x, rows);
    }
    return visit_forward_shape<T>(
        most_packets<T>(lines.length, are_aligned),
        [&](auto shape) {
          using Shape = decltype(shape);
          return launch(stream, softmax_rows<T, Shape, kLog>,
                        row_grid<typename Shape::Threads>(lines), Shape::Threads::block, 0, y, x,
                        lines);
        },
        [&] { return launch_long_rows<T>(stream, softmax_long_rows<T, kLog>, lines, y, x); });
  });
}

template <class T>
constexpr int kMostBackwardPackets = kIsNarrowFloat<T> ? 2 : 4;

template <class Gradient>
int32_t run_backward(const dt_stream* stream, const calls::SoftmaxBackward& call) {
  const Lines lines = make_lines(call.gx, call.g, call.y, call.dim);
  if (lines.count == 0 || lines.length == 0) return DT_KERNEL_OK;
  return visit_stored_floating(call.gx.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    T* gx = static_cast<T*>(call.gx.data);
    const T *g = static_cast<const T*>(call.g.data), *y = static_cast<const T*>(call.y.data);
    if (!lines.is_dense()) {
      return launch(stream, softmax_backward_columns<T, Gradient>, column_grid(lines),
                    column_block(lines), 0, gx, g, y, lines);
    }
    const bool are_aligned = lines_are_aligned<T>(lines, call.gx, call.g, call.y);
    if (!are_aligned && are_short_rows(lines, kLongestShortGradient)) {
      const ShortRows rows(lines.count, lines.length, kTileElements<T>);
      return launch(stream, softmax_backward_short_rows<T, Gradient>, rows.grid(), kShortThreads, 0,
                    gx, g, y, rows);
    }
    return visit_fine_row_shape<4, kMostBackwardPackets<T>>(
        most_packets<T>(lines.length, are_aligned),
        [&](auto shape) {
          using Shape = decltype(shape);
          return launch(stream, softmax_backward_rows<T, Shape, Gradient>,
                        row_grid<typename Shape::Threads>(lines), Shape::Threads::block, 0, gx, g,
                        y, lines);
        },
        [&] {
          return launch_long_rows<T>(stream, softmax_backward_long_rows<T, Gradient>, lines, gx, g,
                                     y);
        });
  });
}

}  // namespace

int32_t kernels::softmax(const dt_stream* stream, const calls::Softmax& call) {
  return run<false>(stream, call);
}

int32_t kernels::softmax_backward(const dt_stream* stream, const calls::SoftmaxBackward& call) {
  return run_backward<SoftmaxGradient>(stream, call);
}

int32_t kernels::log_softmax(const dt_stream* stream, const calls::Softmax& call) {
  return run<true>(stream, call);
}

int32_t kernels::log_softmax_backward(const dt_stream* stream, const calls::SoftmaxBackward& call) {
  return run_backward<LogSoftmaxGradient>(stream, call);
}

}  // namespace dt::cuda
