// layer_norm over the last dimension of contiguous [rows, n]; rms_norm is the same without a mean.
//
// A team of threads keeps a row in registers, so that memory is read once; rows that are too long
// for that are read twice. Blocks stay and walk the rows: they keep what the rows share in shared
// memory, and ask for the next row before they work on this one.
#include <numeric>

#include "kernels/calls/nn.gen.h"
#include "kernels/cuda/moments.cuh"
#include "kernels/cuda/operands.cuh"
#include "kernels/cuda/rows.cuh"
#include "kernels/cuda/shared.cuh"
#include "kernels/cuda/short_rows.cuh"
#include "kernels/cuda/types.cuh"

namespace dt::cuda {
namespace {

// A block of a long row is alone on its multiprocessor: so many threads that enough is on its way,
// and so few rows that they stay in the L2 cache until they are read again.
template <class T>
constexpr int kLongTeam = sizeof(T) == sizeof(float) ? 1024 : 512;
constexpr int kLongPackets = 4;  // that a thread loads at once
// Packets of a row that a thread keeps.
template <class T>
constexpr int kMostPackets = sizeof(T) == sizeof(float) ? 8 : 4;
// Among how many threads a multiprocessor's registers are divided. Many elements take many of them,
// and more where each is asked about.
template <class Shape, class Row>
constexpr int kResidentThreads = Shape::packets* Row::kWidth < (Row::kWhole ? 32 : 12)    ? 1024
                                 : Shape::packets* Row::kWidth <= (Row::kWhole ? 32 : 16) ? 768
                                                                                          : 512;
// How many blocks that makes.
template <class Shape, class Row>
constexpr int kResident = kResidentThreads<Shape, Row> / Shape::Threads::block;

template <class T>
struct Forward {
  using V = Widened<T>;
  T* y;
  V* mean;  // or null: none is taken away
  V* rstd;
  const T *x, *weight, *bias;  // weight and bias may be null
  int64_t rows, n;
  int phases;  // every `phases`-th row begins alike about a packet's boundary
  V eps;

  // Of squares that overflowed nothing is known: NaN, not 0. But those of rms_norm are 0.
  __device__ __forceinline__ V rstd_of(const Moments<V>& m) const {
    const V variance = not_negative(m.squares) / m.count;
    if (!mean) return V(1) / math::sqrt(variance + eps);
    return variance < V(math::kInfinity) ? V(1) / math::sqrt(variance + eps) : variance - variance;
  }

  template <class Row, int kWidth>
  __device__ __forceinline__ void normalize(const Row& row, int64_t number, int64_t packet,
                                            Packet<V, kWidth> values, const Moments<V>& m, V scale,
                                            const Packet<V, kWidth>& w,
                                            const Packet<V, kWidth>& b) const {
#pragma unroll
    for (int v = 0; v < kWidth; ++v)
      values.value[v] = (values.value[v] - m.mean) * scale * w.value[v] + b.value[v];
    row.store(y + number * n, packet, values);
  }

  __device__ __forceinline__ void store_statistics(int64_t number, const Moments<V>& m,
                                                   V scale) const {
    if (mean) mean[number] = m.mean;
    rstd[number] = scale;
  }
};

// What sums about a guess are about the mean, which is `shift` off.
template <class T>
__device__ __forceinline__ T squares_about(T shift, const Pair<T>& deviations) {
  // Nothing is taken from an infinite sum that is not to be centered: 0 times that would be NaN.
  return shift == T(0) ? deviations.second : deviations.second - shift * deviations.first;
}

// The moments of a row that a team keeps. Two rounds of plain sums cost a fraction of merging
// Moments; the second also measures by how much the rounded mean is off, so that a large mean costs
// no digits. Those about 0 if the row is not to be centered.
template <class Shape, class T, class Row, int kWidth>
__device__ __forceinline__ Moments<T> row_moments(const Row& row,
                                                  const Packet<T, kWidth> (&kept)[Shape::packets],
                                                  T n, bool is_centered) {
  T sum = 0;
#pragma unroll
  for (int k = 0; k < Shape::packets; ++k) {
#pragma unroll
    for (int v = 0; v < kWidth; ++v) sum += kept[k].value[v];
  }
  const T guess = is_centered ? team_sum<Shape::team>(sum) / n : T(0);
  Pair<T> deviations = {T(0), T(0)};
#pragma unroll
  for (int k = 0; k < Shape::packets; ++k) {
    row.for_each(k * Shape::team + Shape::Threads::rank(), kept[k], [&](T x) {
      deviations.first += x - guess;
      deviations.second += (x - guess) * (x - guess);
    });
  }
  deviations = team_reduce<Shape::team>(deviations, Pair<T>::merge);
  const T shift = is_centered ? deviations.first / n : T(0);
  return {n, guess + shift, squares_about(shift, deviations)};
}

// Copies weight and bias to shared memory, where they lie as the row does.
template <class Row, int kThreads, class T>
__device__ __forceinline__ void keep_vectors(const Forward<T>& f, const Row& row, T* weight,
                                             T* bias) {
  constexpr int kAtOnce = 2;
  for (int begin = threadIdx.x; begin < row.packets(); begin += kAtOnce * kThreads) {
    Packet<Widened<T>, kPacketWidth<T>> w[kAtOnce], b[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      w[k] = row.load_shared(f.weight, begin + k * kThreads, 1);
      b[k] = row.load_shared(f.bias, begin + k * kThreads, 0);
    }
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      row.store(weight, begin + k * kThreads, w[k]);
      row.store(bias, begin + k * kThreads, b[k]);
    }
  }
  __syncthreads();
}

template <class Shape, class Row, class T, int kWidth>
__device__ __forceinline__ void load_row(const T* x, const Row& row,
                                         Packet<Widened<T>, kWidth> (&kept)[Shape::packets]) {
#pragma unroll
  for (int k = 0; k < Shape::packets; ++k)
    kept[k] = row.load(x, k * Shape::team + Shape::Threads::rank(), 0);
}

// The rows of a block begin alike about a packet's boundary: what is known of one's place is so of
// all.
template <class T, class Shape, class Row>
__global__ void __launch_bounds__(Shape::Threads::block, kResident<Shape, Row>)
    layer_norm_rows(Forward<T> f) {
  begin_kernel();
  using V = Widened<T>;
  using Threads = typename Shape::Threads;
  extern __shared__ __align__(16) unsigned char dynamic_shared[];
  const int phases = Row::kWhole ? 1 : f.phases, phase = static_cast<int>(blockIdx.x) % phases;
  int64_t first = int64_t{blockIdx.x} / phases * (Threads::per_block * phases) + phase;
  if (first >= f.rows) return;
  const int64_t step = int64_t{gridDim.x} * Threads::per_block;
  int64_t number = first + Threads::number() * phases;
  const Row row(f.n, f.x + phase * f.n, f.y + phase * f.n);
  T* const weight = row.alike(reinterpret_cast<T*>(dynamic_shared));
  T* const bias = weight + row.packets() * Row::kWidth;
  // A team without a row takes part in the sums of the others.
  const auto row_at = [&](int64_t at) { return f.x + (at < f.rows ? at : phase) * f.n; };
  Packet<V, kPacketWidth<T>> kept[Shape::packets];
  load_row<Shape>(row_at(number), row, kept);
  keep_vectors<Row, Threads::block>(f, row, weight, bias);

  for (; first < f.rows; first += step, number += step) {
    // Asked for before this row is waited for.
    if (number + step < f.rows) {
#pragma unroll
      for (int k = 0; k < Shape::packets; ++k)
        row.prefetch(f.x + (number + step) * f.n, k * Shape::team + Threads::rank());
    }
    const Moments<V> moments =
        row_moments<Shape>(row, kept, static_cast<V>(f.n), f.mean != nullptr);
    if (number < f.rows) {
      const V scale = f.rstd_of(moments);
#pragma unroll
      for (int k = 0; k < Shape::packets; ++k) {
        const int packet = k * Shape::team + Threads::rank();
        f.normalize(row, number, packet, kept[k], moments, scale,
                    row.load_vector(weight, packet, 1), row.load_vector(bias, packet, 0));
      }
      if (Threads::rank() == 0) f.store_statistics(number, moments, scale);
    }
    if (first + step < f.rows) load_row<Shape>(row_at(number + step), row, kept);
  }
}

// The moments of packets first, first + step, ... of a row.
template <class T, class Layout, int kPackets, int kWidth>
__device__ __forceinline__ Moments<T> moments_of(const Layout& row,
                                                 const Packet<T, kWidth> (&part)[kPackets],
                                                 int64_t first, int step) {
  int count = 0;
#pragma unroll
  for (int k = 0; k < kPackets; ++k) count += row.count(first + k * step);
  return Moments<T>::of(static_cast<T>(count), [&](const auto& use) {
#pragma unroll
    for (int k = 0; k < kPackets; ++k) row.for_each(first + k * step, part[k], use);
  });
}

template <class T, int kPackets, int kWidth>
__device__ __forceinline__ T squares_of(const Packet<T, kWidth> (&part)[kPackets]) {
  T sum = 0;
#pragma unroll
  for (int k = 0; k < kPackets; ++k) {
#pragma unroll
    for (int v = 0; v < kWidth; ++v) sum += part[k].value[v] * part[k].value[v];
  }
  return sum;
}

// A block for each row, which it reads twice, the second time mostly from the L2 cache.
template <class T>
__global__ void __launch_bounds__(kLongTeam<T>) layer_norm_long_rows(Forward<T> f) {
  begin_kernel();
  using V = Widened<T>;
  const int64_t number = blockIdx.x;
  const T* x = f.x + number * f.n;
  const RowLayout<T> row(f.n, x, f.y + number * f.n);

  Moments<V> total = Moments<V>::none();
  for (int64_t begin = threadIdx.x; begin < row.packets(); begin += kLongTeam<T> * kLongPackets) {
    Packet<V, kPacketWidth<T>> part[kLongPackets];
#pragma unroll
    for (int k = 0; k < kLongPackets; ++k) part[k] = row.load(x, begin + k * kLongTeam<T>, 0);
    if (f.mean)
      total = Moments<V>::merge(total, moments_of<V>(row, part, begin, kLongTeam<T>));
    else
      total.squares += squares_of(part);
  }
  if (f.mean)
    total = team_reduce<kLongTeam<T>>(total, Moments<V>::merge);
  else
    total = {static_cast<V>(f.n), V(0), team_sum<kLongTeam<T>>(total.squares)};
  const V scale = f.rstd_of(total);
#pragma unroll 2
  for (int64_t packet = threadIdx.x; packet < row.packets(); packet += kLongTeam<T>) {
    f.normalize(row, number, packet, row.load(x, packet, 0), total, scale,
                row.load_shared(f.weight, packet, 1), row.load_shared(f.bias, packet, 0));
  }
  if (threadIdx.x == 0) f.store_statistics(number, total, scale);
}

// Short rows that begin anywhere.
template <class T>
__global__ void __launch_bounds__(kShortThreads)
    layer_norm_short_rows(Forward<T> f, ShortRows rows) {
  begin_kernel();
  using V = Widened<T>;
  __shared__ typename SharedRows<T>::Space space;
  const SharedRows<T> tile(space, rows, f.x);
  __syncthreads();
  const V n = static_cast<V>(f.n);
  rows.for_each([&](const ShortRow& row) {
    V kept[kShortKept], sum = 0;
    row.for_each([&](int k, int i, int) { sum += kept[k] = V(tile.element[i]); });
    const V guess = f.mean ? row.sum(sum) / n : V(0);
    Pair<V> deviations = {V(0), V(0)};
    row.for_each([&](int k, int, int) {
      deviations.first += kept[k] - guess;
      deviations.second += (kept[k] - guess) * (kept[k] - guess);
    });
    deviations = row.reduce(deviations, Pair<V>::merge);
    const V shift = f.mean ? deviations.first / n : V(0);
    const Moments<V> moments = {n, guess + shift, squares_about(shift, deviations)};
    const V scale = f.rstd_of(moments);
    row.for_each([&](int k, int i, int column) {
      const V w = f.weight ? V(f.weight[column]) : V(1), b = f.bias ? V(f.bias[column]) : V(0);
      tile.element[i] = T((kept[k] - moments.mean) * scale * w + b);
    });
    if (row.length > 0 && row.lane == 0)
      f.store_statistics(rows.first_row() + row.number, moments, scale);
  });
  __syncthreads();
  tile.store(rows, f.y);
}

// ---- launches

template <class T>
int32_t launch_forward_long_rows(const dt_stream* stream, const Forward<T>& f) {
  return launch(stream, layer_norm_long_rows<T>, static_cast<unsigned>(f.rows), kLongTeam<T>, 0, f);
}

// As many blocks as the device holds at once, so that none has to wait for another to end.
template <class T, class Shape, class Row>
int32_t launch_forward_rows(const dt_stream* stream, const Forward<T>& f) {
  using Threads = typename Shape::Threads;
  constexpr auto kernel = layer_norm_rows<T, Shape, Row>;
  const int64_t shared = 2 * most_packets<T>(f.n, Row::kWhole) * kPacketBytes;
  const int64_t resident = resident_blocks(stream->device, kResident<Shape, Row>, shared);
  if (resident < f.phases) return launch_forward_long_rows(stream, f);
  const int64_t of_phase = divide_up(divide_up(f.rows, f.phases), Threads::per_block);
  const int64_t blocks = std::min(resident / f.phases, of_phase) * f.phases;
  if (const int32_t code = allow_shared<kernel>(stream, shared)) return code;
  return launch(stream, kernel, static_cast<unsigned>(blocks), Threads::block,
                static_cast<size_t>(shared), f);
}

template <class T>
int32_t forward(const dt_stream* stream, const calls::LayerNorm& call) {
  const dt_view& x = call.x;
  Forward<T> f;
  f.y = static_cast<T*>(call.y.data);
  f.mean = optional_data<Widened<T>>(call.mean);
  f.rstd = static_cast<Widened<T>*>(call.rstd.data);
  f.x = static_cast<const T*>(x.data);
  f.weight = optional_data<const T>(call.weight);
  f.bias = optional_data<const T>(call.bias);
  f.rows = x.sizes[0];
  f.n = x.sizes[1];
  f.phases = kPacketWidth<T> / std::gcd(static_cast<int>(f.n % kPacketWidth<T>), kPacketWidth<T>);
  f.eps = static_cast<Widened<T>>(call.eps);
  const bool are_aligned = rows_are_aligned<T>(f.n, call.y, x);
  if (f.rows > 0 && f.n > 0 && !are_aligned && f.n <= kLongestShortRow) {
    const ShortRows rows(f.rows, f.n, kTileElements<T>);
    return launch(stream, layer_norm_short_rows<T>, rows.grid(), kShortThreads, 0, f, rows);
  }
  const bool are_whole =
      are_aligned && is_aligned(f.weight, kPacketBytes) && is_aligned(f.bias, kPacketBytes);
  return visit_finest_row_shape<kMostPackets<T>>(
      most_packets<T>(f.n, are_aligned),
      [&](auto shape) {
        return visit_row_layout<T, int>(are_whole, [&](auto row) {
          return launch_forward_rows<T, decltype(shape), typename decltype(row)::type>(stream, f);
        });
      },
      [&] { return launch_forward_long_rows(stream, f); });
}

}  // namespace

int32_t kernels::layer_norm(const dt_stream* stream, const calls::LayerNorm& call) {
  if (!are_of(call.x.dtype, {call.weight, call.bias})) return DT_KERNEL_UNSUPPORTED;
  return visit_stored_floating(call.x.dtype, [&](auto type) {
    return forward<typename decltype(type)::type>(stream, call);
  });
}

}  // namespace dt::cuda
