// layer_norm over the last dimension of contiguous [rows, n], and its gradients.
//
// A team of threads keeps a row in registers, so that memory is read once; rows that are too long
// for that are read twice. Blocks stay and walk the rows: they keep what the rows share in shared
// memory, and ask for the next row before they work on this one. The gradients of weight and bias
// are sums over rows: in the backward kernel each block adds up its rows in shared memory, and a
// second kernel adds up the blocks.
#include "kernels/cuda/moments.cuh"
#include "kernels/cuda/operands.cuh"
#include "kernels/cuda/register.h"
#include "kernels/cuda/rows.cuh"
#include "kernels/cuda/shared.cuh"
#include "kernels/cuda/types.cuh"

namespace dt::cuda {
namespace {

constexpr int kLongTeam = 512;
constexpr int kLongPackets = 4;  // that a thread loads at once
// Packets of a row that a thread keeps; the backward kernel keeps them of two operands.
template <class T>
constexpr int kForwardPackets = sizeof(T) == 8 ? 4 : 8;
constexpr int kBackwardPackets = 2;
// How many blocks of the forward kernel share the registers of a multiprocessor.
template <class Shape>
constexpr int kResident = Shape::team == 1024   ? 1
                          : Shape::packets >= 8 ? 768 / Shape::Threads::block
                                                : 1024 / Shape::Threads::block;

// ---- forward

template <class T>
struct Forward {
  T *y, *mean, *rstd;
  const T *x, *weight, *bias;  // weight and bias may be null
  int64_t rows, n;
  T eps;

  __device__ __forceinline__ T rstd_of(const Moments<T>& m) const {
    return T(1) / math::sqrt(m.squares / m.count + eps);
  }

  template <class Row, int kWidth>
  __device__ __forceinline__ void normalize(const Row& row, int64_t number, int64_t packet,
                                            Packet<T, kWidth> values, const Moments<T>& m, T scale,
                                            const Packet<T, kWidth>& w,
                                            const Packet<T, kWidth>& b) const {
#pragma unroll
    for (int v = 0; v < kWidth; ++v)
      values.value[v] = (values.value[v] - m.mean) * scale * w.value[v] + b.value[v];
    row.store(y + number * n, packet, values);
  }

  __device__ __forceinline__ void store_statistics(int64_t number, const Moments<T>& m,
                                                   T scale) const {
    mean[number] = m.mean;
    rstd[number] = scale;
  }
};

// The moments of a row that a team keeps. Two rounds of plain sums cost a fraction of merging
// Moments; the second also measures by how much the rounded mean is off, so that a large mean costs
// no digits.
template <class Shape, class T, class Row, int kWidth>
__device__ __forceinline__ Moments<T> row_moments(const Row& row,
                                                  const Packet<T, kWidth> (&kept)[Shape::packets],
                                                  T n) {
  T sum = 0;
#pragma unroll
  for (int k = 0; k < Shape::packets; ++k) {
#pragma unroll
    for (int v = 0; v < kWidth; ++v) sum += kept[k].value[v];
  }
  const T guess = team_sum<Shape::team>(sum) / n;
  Pair<T> deviations = {T(0), T(0)};
#pragma unroll
  for (int k = 0; k < Shape::packets; ++k) {
    row.for_each(k * Shape::team + Shape::Threads::rank(), kept[k], [&](T x) {
      deviations.first += x - guess;
      deviations.second += (x - guess) * (x - guess);
    });
  }
  deviations = team_reduce<Shape::team>(deviations, Pair<T>::merge);
  const T shift = deviations.first / n;
  return {n, guess + shift, deviations.second - shift * deviations.first};
}

// Copies weight and bias to the block's [2][n] array.
template <class Row, int kThreads, class T>
__device__ __forceinline__ void keep_vectors(const Forward<T>& f, T* vectors) {
  constexpr int kAtOnce = 2;
  const Row row(f.n, vectors, vectors + f.n, f.weight, f.bias);
  for (int begin = threadIdx.x; begin < row.packets(); begin += kAtOnce * kThreads) {
    Packet<T, kPacketWidth<T>> w[kAtOnce], b[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      w[k] = row.load_shared(f.weight, begin + k * kThreads, T(1));
      b[k] = row.load_shared(f.bias, begin + k * kThreads, T(0));
    }
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      row.store(vectors, begin + k * kThreads, w[k]);
      row.store(vectors + f.n, begin + k * kThreads, b[k]);
    }
  }
  __syncthreads();
}

template <class Shape, class Row, class T>
__device__ __forceinline__ void prefetch_row(const Forward<T>& f, int64_t number) {
  if (number >= f.rows) return;
  const T* x = f.x + number * f.n;
  const Row row(f.n, x, f.y + number * f.n);
#pragma unroll
  for (int k = 0; k < Shape::packets; ++k)
    row.prefetch(x, k * Shape::team + Shape::Threads::rank());
}

template <class T, class Shape, class Row>
__global__ void __launch_bounds__(Shape::Threads::block, kResident<Shape>)
    layer_norm_rows(Forward<T> f) {
  begin_kernel();
  using Threads = typename Shape::Threads;
  extern __shared__ __align__(16) unsigned char dynamic_shared[];
  T* const vectors = reinterpret_cast<T*>(dynamic_shared);
  const int64_t begin = int64_t{blockIdx.x} * Threads::per_block,
                step = int64_t{gridDim.x} * Threads::per_block;
  prefetch_row<Shape, Row>(f, begin + Threads::number());
  keep_vectors<Row, Threads::block>(f, vectors);

  for (int64_t first = begin; first < f.rows; first += step) {
    const bool exists = first + Threads::number() < f.rows;
    const int64_t number = exists ? first + Threads::number() : 0;
    const T* x = f.x + number * f.n;
    const Row row(f.n, x, f.y + number * f.n);
    // Asked for before this row is waited for.
    prefetch_row<Shape, Row>(f, first + step + Threads::number());
    Packet<T, kPacketWidth<T>> kept[Shape::packets];
#pragma unroll
    for (int k = 0; k < Shape::packets; ++k)
      kept[k] = row.load(x, k * Shape::team + Threads::rank(), T(0));
    const Moments<T> moments = row_moments<Shape>(row, kept, static_cast<T>(f.n));
    if (!exists) continue;
    const T scale = f.rstd_of(moments);
#pragma unroll
    for (int k = 0; k < Shape::packets; ++k) {
      const int packet = k * Shape::team + Threads::rank();
      f.normalize(row, number, packet, kept[k], moments, scale,
                  row.load_vector(vectors, packet, T(1)),
                  row.load_vector(vectors + f.n, packet, T(0)));
    }
    if (Threads::rank() == 0) f.store_statistics(number, moments, scale);
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

// A block for each row, which it reads twice, the second time mostly from the L2 cache.
template <class T>
__global__ void __launch_bounds__(kLongTeam) layer_norm_long_rows(Forward<T> f) {
  begin_kernel();
  const int64_t number = blockIdx.x;
  const T* x = f.x + number * f.n;
  const RowLayout<T> row(f.n, x, f.y + number * f.n);

  Moments<T> total = Moments<T>::none();
  for (int64_t begin = threadIdx.x; begin < row.packets(); begin += kLongTeam * kLongPackets) {
    Packet<T, kPacketWidth<T>> part[kLongPackets];
#pragma unroll
    for (int k = 0; k < kLongPackets; ++k) part[k] = row.load(x, begin + k * kLongTeam, T(0));
    total = Moments<T>::merge(total, moments_of<T>(row, part, begin, kLongTeam));
  }
  total = team_reduce<kLongTeam>(total, Moments<T>::merge);
  const T scale = f.rstd_of(total);
#pragma unroll 2
  for (int64_t packet = threadIdx.x; packet < row.packets(); packet += kLongTeam) {
    f.normalize(row, number, packet, row.load(x, packet, T(0)), total, scale,
                row.load_shared(f.weight, packet, T(1)), row.load_shared(f.bias, packet, T(0)));
  }
  if (threadIdx.x == 0) f.store_statistics(number, total, scale);
}

// ---- backward: gx = rstd * (h - mean(h) - xhat * mean(h * xhat)), where h = g * weight and
// xhat = (x - mean) * rstd; gweight and gbias are the sums of g * xhat and of g over the rows

template <class T>
struct Backward {
  T* gx;  // or null
  const T *g, *x, *mean, *rstd, *weight;
  T* parts;  // [parts][2][n] sums over some rows each: of g * xhat and of g; or null
  int64_t rows, n;
  bool are_aligned;

  template <int kWidth>
  __device__ __forceinline__ void add_sums(const Packet<T, kWidth>& g_part,
                                           const Packet<T, kWidth>& x_part,
                                           const Packet<T, kWidth>& w, T center, T scale,
                                           Pair<T>* sums) const {
#pragma unroll
    for (int v = 0; v < kWidth; ++v) {
      const T h = g_part.value[v] * w.value[v];
      sums->first += h;
      sums->second += h * ((x_part.value[v] - center) * scale);
    }
  }

  template <int kWidth>
  __device__ __forceinline__ Packet<T, kWidth> gradient(const Packet<T, kWidth>& g_part,
                                                        const Packet<T, kWidth>& x_part,
                                                        const Packet<T, kWidth>& w, T center,
                                                        T scale, const Pair<T>& means) const {
    Packet<T, kWidth> result;
#pragma unroll
    for (int v = 0; v < kWidth; ++v) {
      const T xhat = (x_part.value[v] - center) * scale;
      result.value[v] = scale * (g_part.value[v] * w.value[v] - means.first - xhat * means.second);
    }
    return result;
  }
};

// The sums of a block's rows, in dynamic shared memory. Every thread has packets of its own, so
// nobody waits while rows are added.
template <class T, class Shape>
struct BlockSums {
  using Threads = typename Shape::Threads;
  static constexpr int kWidth = kPacketWidth<T>;
  static constexpr int kPackets = Shape::packets * Shape::team;  // of a row
  static constexpr size_t bytes = size_t{2} * Threads::per_block * kPackets * kPacketBytes;

  Packet<T, kWidth>* sums;

  __device__ __forceinline__ Packet<T, kWidth>& at(int team, int which, int packet) const {
    return sums[(team * 2 + which) * kPackets + packet];
  }

  __device__ void clear() const {
    for (int k = 0; k < Shape::packets; ++k) {
      const int packet = k * Shape::team + Threads::rank();
      at(Threads::number(), 0, packet) = at(Threads::number(), 1, packet) = {};
    }
  }

  __device__ __forceinline__ void add(int packet, const Packet<T, kWidth>& g_part,
                                      const Packet<T, kWidth>& x_part, T center, T scale) const {
    Packet<T, kWidth> weight = at(Threads::number(), 0, packet),
                      bias = at(Threads::number(), 1, packet);
#pragma unroll
    for (int v = 0; v < kWidth; ++v) {
      weight.value[v] += g_part.value[v] * ((x_part.value[v] - center) * scale);
      bias.value[v] += g_part.value[v];
    }
    at(Threads::number(), 0, packet) = weight;
    at(Threads::number(), 1, packet) = bias;
  }

  // Adds up the teams and stores the block's sums.
  __device__ void store(T* part, int64_t n) const {
    __syncthreads();
    for (int i = threadIdx.x; i < 2 * kPackets * kWidth; i += Threads::block) {
      const int which = i / (kPackets * kWidth), column = i % (kPackets * kWidth);
      if (column >= n) continue;
      T sum = 0;
      for (int team = 0; team < Threads::per_block; ++team)
        sum += at(team, which, column / kWidth).value[column % kWidth];
      part[which * n + column] = sum;
    }
  }
};

// The next row's packets are on their way while the threads wait for the sums of this one.
template <class Shape, class T, class Layout>
__device__ __forceinline__ void prefetch_row(const Backward<T>& b, const Layout& row,
                                             int64_t number) {
  if (number >= b.rows) return;
#pragma unroll
  for (int k = 0; k < Shape::packets; ++k) {
    row.prefetch(b.g + number * b.n, k * Shape::team + Shape::Threads::rank());
    row.prefetch(b.x + number * b.n, k * Shape::team + Shape::Threads::rank());
  }
}

// Blocks walk the rows with the stride of the grid.
template <class T, class Shape>
__global__ void __launch_bounds__(Shape::Threads::block) layer_norm_backward_rows(Backward<T> b) {
  begin_kernel();
  using Threads = typename Shape::Threads;
  constexpr int kWidth = kPacketWidth<T>;
  extern __shared__ __align__(16) unsigned char dynamic_shared[];
  const BlockSums<T, Shape> sums{reinterpret_cast<Packet<T, kWidth>*>(dynamic_shared)};
  const RowLayout<T, int> row(b.n, b.are_aligned);
  if (b.parts) sums.clear();

  const int64_t step = int64_t{gridDim.x} * Threads::per_block;
  for (int64_t first = int64_t{blockIdx.x} * Threads::per_block; first < b.rows; first += step) {
    const bool exists = first + Threads::number() < b.rows;
    const int64_t number = exists ? first + Threads::number() : 0;
    Packet<T, kWidth> g[Shape::packets], x[Shape::packets];
#pragma unroll
    for (int k = 0; k < Shape::packets; ++k) {
      const int packet = k * Shape::team + Threads::rank();
      g[k] = row.load(b.g + number * b.n, packet, T(0));
      x[k] = row.load(b.x + number * b.n, packet, T(0));
    }
    const T center = b.mean[number], scale = b.rstd[number];
    prefetch_row<Shape>(b, row, number + step);
    if (b.parts && exists) {
#pragma unroll
      for (int k = 0; k < Shape::packets; ++k)
        sums.add(k * Shape::team + Threads::rank(), g[k], x[k], center, scale);
    }
    if (!b.gx) continue;
    Pair<T> means = {T(0), T(0)};
#pragma unroll
    for (int k = 0; k < Shape::packets; ++k) {
      const auto w = row.load_shared(b.weight, k * Shape::team + Threads::rank(), T(1));
      b.add_sums(g[k], x[k], w, center, scale, &means);
    }
    means = team_reduce<Shape::team>(means, Pair<T>::merge);
    means = {means.first / static_cast<T>(b.n), means.second / static_cast<T>(b.n)};
    if (!exists) continue;
#pragma unroll
    for (int k = 0; k < Shape::packets; ++k) {
      const int packet = k * Shape::team + Threads::rank();
      const auto w = row.load_shared(b.weight, packet, T(1));
      row.store(b.gx + number * b.n, packet, b.gradient(g[k], x[k], w, center, scale, means));
    }
  }
  if (b.parts) sums.store(b.parts + 2 * b.n * blockIdx.x, b.n);
}

template <class T>
__global__ void __launch_bounds__(kLongTeam) layer_norm_backward_long_rows(Backward<T> b) {
  begin_kernel();
  const int64_t number = blockIdx.x;
  const T *g = b.g + number * b.n, *x = b.x + number * b.n;
  const T center = b.mean[number], scale = b.rstd[number];
  const RowLayout<T> row(b.n, b.are_aligned);

  Pair<T> means = {T(0), T(0)};
#pragma unroll 2
  for (int64_t packet = threadIdx.x; packet < row.packets(); packet += kLongTeam) {
    b.add_sums(row.load(g, packet, T(0)), row.load(x, packet, T(0)),
               row.load_shared(b.weight, packet, T(1)), center, scale, &means);
  }
  means = team_reduce<kLongTeam>(means, Pair<T>::merge);
  means = {means.first / static_cast<T>(b.n), means.second / static_cast<T>(b.n)};
#pragma unroll 2
  for (int64_t packet = threadIdx.x; packet < row.packets(); packet += kLongTeam) {
    row.store(b.gx + number * b.n, packet,
              b.gradient(row.load(g, packet, T(0)), row.load(x, packet, T(0)),
                         row.load_shared(b.weight, packet, T(1)), center, scale, means));
  }
}

// ---- sums over rows: blocks of 32 columns, 32 threads to each

constexpr int kColumnThreads = 32;

// The sums of a block's columns over threadIdx.y, for threads with threadIdx.y = 0.
template <class T>
__device__ Pair<T> sum_columns(const Pair<T>& mine) {
  __shared__ Pair<T> partial[kColumnThreads][32];
  partial[threadIdx.y][threadIdx.x] = mine;
  __syncthreads();
  Pair<T> total = mine;
  for (int i = 1; threadIdx.y == 0 && i < kColumnThreads; ++i)
    total = Pair<T>::merge(total, partial[i][threadIdx.x]);
  return total;
}

// Part blockIdx.y sums the rows blockIdx.y, blockIdx.y + gridDim.y, ... in groups of 32.
template <class T>
__global__ void __launch_bounds__(32 * kColumnThreads) layer_norm_column_parts(Backward<T> b) {
  begin_kernel();
  const int64_t column = int64_t{blockIdx.x} * 32 + threadIdx.x;
  const bool exists = column < b.n;
  Pair<T> sums = {T(0), T(0)};
  const int64_t begin = int64_t{blockIdx.y} * kColumnThreads + threadIdx.y,
                step = int64_t{gridDim.y} * kColumnThreads;
#pragma unroll 4
  for (int64_t r = begin; exists && r < b.rows; r += step) {
    const T g = b.g[r * b.n + column];
    sums.first += g * ((b.x[r * b.n + column] - b.mean[r]) * b.rstd[r]);
    sums.second += g;
  }
  sums = sum_columns(sums);
  if (threadIdx.y != 0 || !exists) return;
  T* part = b.parts + 2 * b.n * blockIdx.y;
  part[column] = sums.first;
  part[b.n + column] = sums.second;
}

// gweight and gbias (each may be null) from the parts.
template <class T>
__global__ void __launch_bounds__(32 * kColumnThreads)
    layer_norm_add_parts(T* gweight, T* gbias, const T* parts, int64_t count, int64_t n) {
  begin_kernel();
  const int64_t column = int64_t{blockIdx.x} * 32 + threadIdx.x;
  const bool exists = column < n;
  Pair<T> sums = {T(0), T(0)};
#pragma unroll 4
  for (int64_t i = threadIdx.y; exists && i < count; i += kColumnThreads) {
    sums.first += parts[2 * n * i + column];
    sums.second += parts[2 * n * i + n + column];
  }
  sums = sum_columns(sums);
  if (threadIdx.y != 0 || !exists) return;
  if (gweight) gweight[column] = sums.first;
  if (gbias) gbias[column] = sums.second;
}

// ---- launches

template <class T>
int32_t launch_forward_long_rows(const dt_stream* stream, const Forward<T>& f) {
  return launch(stream, layer_norm_long_rows<T>, static_cast<unsigned>(f.rows), kLongTeam, 0, f);
}

// As many blocks as the device holds at once, so that none has to wait for another to end.
template <class T, class Shape, class Row>
int32_t launch_forward_rows(const dt_stream* stream, const Forward<T>& f) {
  using Threads = typename Shape::Threads;
  const auto kernel = layer_norm_rows<T, Shape, Row>;
  const int64_t shared = 2 * f.n * static_cast<int64_t>(sizeof(T));
  const int64_t resident = resident_blocks(stream->device, kResident<Shape>, shared);
  if (resident == 0) return launch_forward_long_rows(stream, f);
  if (const int32_t code = allow_shared(stream, kernel, shared)) return code;
  const int64_t blocks = std::min(resident, divide_up(f.rows, Threads::per_block));
  return launch(stream, kernel, static_cast<unsigned>(blocks), Threads::block,
                static_cast<size_t>(shared), f);
}

template <class T>
int32_t forward(const dt_stream* stream, const dt_call* call) {
  const dt_view& x = call->in[0];
  Forward<T> f;
  f.y = static_cast<T*>(call->out[0].data);
  f.mean = static_cast<T*>(call->out[1].data);
  f.rstd = static_cast<T*>(call->out[2].data);
  f.x = static_cast<const T*>(x.data);
  f.weight = optional_input<T>(call, 1);
  f.bias = optional_input<T>(call, 2);
  f.rows = x.sizes[0];
  f.n = x.sizes[1];
  f.eps = static_cast<T>(call->floats[0]);
  const dt_view views[2] = {call->out[0], x};
  const bool are_aligned = rows_are_aligned<T>(f.n, views, 2);
  const bool are_whole =
      are_aligned && is_aligned(f.weight, kPacketBytes) && is_aligned(f.bias, kPacketBytes);
  return visit_row_shape<kForwardPackets<T>, kForwardPackets<T>>(
      most_packets<T>(f.n, are_aligned),
      [&](auto shape) {
        return visit_row_layout<T, int>(are_whole, [&](auto row) {
          return launch_forward_rows<T, decltype(shape), typename decltype(row)::type>(stream, f);
        });
      },
      [&] { return launch_forward_long_rows(stream, f); });
}

// How many parts the sums over rows are taken in: enough to fill the device, but each of some rows.
int64_t count_parts(const dt_stream* stream, int64_t rows, int threads, int rows_at_once) {
  const int64_t groups = divide_up(rows, rows_at_once),
                multiprocessor_count = multiprocessors(stream->device);
  const int64_t most = multiprocessor_count * (1024 / threads);
  const int64_t wanted = divide_up(groups, 8);
  const int64_t least = groups < multiprocessor_count ? groups : multiprocessor_count;
  return wanted < least ? least : wanted < most ? wanted : most;
}

template <class T>
int64_t backward_packets(const dt_call* call, bool* are_aligned) {
  const int64_t n = call->in[1].sizes[1];
  *are_aligned = rows_are_aligned<T>(n, call->in, 2) &&
                 (!wants(call, 0) || is_aligned(call->out[0].data, kPacketBytes));
  return divide_up(n, kPacketWidth<T>);
}

int64_t column_parts(int64_t rows) {
  const int64_t groups = divide_up(rows, kColumnThreads * 8);
  return groups < 64 ? groups : 64;
}

// How many parts a backward call has.
template <class T>
int64_t backward_parts(const dt_stream* stream, const dt_call* call) {
  const int64_t rows = call->in[1].sizes[0];
  bool are_aligned;
  int64_t parts = 0;
  visit_row_shape<kBackwardPackets, kBackwardPackets>(
      backward_packets<T>(call, &are_aligned),
      [&](auto shape) {
        using Threads = typename decltype(shape)::Threads;
        parts = count_parts(stream, rows, Threads::block, Threads::per_block);
        return 0;
      },
      [&] {
        parts = column_parts(rows);
        return 0;
      });
  return parts;
}

template <class T, class Shape>
int32_t launch_backward_rows(const dt_stream* stream, const Backward<T>& b) {
  using Threads = typename Shape::Threads;
  const size_t shared = b.parts ? BlockSums<T, Shape>::bytes : 0;
  if (const int32_t code =
          allow_shared(stream, layer_norm_backward_rows<T, Shape>, static_cast<int64_t>(shared)))
    return code;
  const int64_t blocks = count_parts(stream, b.rows, Threads::block, Threads::per_block);
  return launch(stream, layer_norm_backward_rows<T, Shape>, static_cast<unsigned>(blocks),
                Threads::block, shared, b);
}

template <class T>
int32_t launch_backward_long_rows(const dt_stream* stream, const Backward<T>& b) {
  if (b.parts) {
    const dim3 grid(static_cast<unsigned>(divide_up(b.n, 32)),
                    static_cast<unsigned>(column_parts(b.rows)));
    const int32_t code =
        launch(stream, layer_norm_column_parts<T>, grid, dim3(32, kColumnThreads), 0, b);
    if (code != DT_KERNEL_OK) return code;
  }
  if (!b.gx) return DT_KERNEL_OK;
  return launch(stream, layer_norm_backward_long_rows<T>, static_cast<unsigned>(b.rows), kLongTeam,
                0, b);
}

template <class T>
int32_t backward(const dt_stream* stream, const dt_call* call) {
  const bool needs_parts = wants(call, 1) || wants(call, 2);
  Backward<T> b;
  b.gx = optional_output<T>(call, 0);
  b.g = static_cast<const T*>(call->in[0].data);
  b.x = static_cast<const T*>(call->in[1].data);
  b.mean = static_cast<const T*>(call->in[2].data);
  b.rstd = static_cast<const T*>(call->in[3].data);
  b.weight = optional_input<T>(call, 4);
  b.parts = needs_parts ? static_cast<T*>(call->workspace) : nullptr;
  b.rows = call->in[1].sizes[0];
  b.n = call->in[1].sizes[1];
  const int32_t code = visit_row_shape<kBackwardPackets, kBackwardPackets>(
      backward_packets<T>(call, &b.are_aligned),
      [&](auto shape) { return launch_backward_rows<T, decltype(shape)>(stream, b); },
      [&] { return launch_backward_long_rows<T>(stream, b); });
  if (code != DT_KERNEL_OK || !needs_parts) return code;
  return launch(stream, layer_norm_add_parts<T>, static_cast<unsigned>(divide_up(b.n, 32)),
                dim3(32, kColumnThreads), 0, optional_output<T>(call, 1),
                optional_output<T>(call, 2), static_cast<const T*>(b.parts),
                backward_parts<T>(stream, call), b.n);
}

int32_t layer_norm(const dt_stream* stream, const dt_call* call) {
  return visit_floating(call->in[0].dtype, [&](auto type) {
    return forward<typename decltype(type)::type>(stream, call);
  });
}

int32_t layer_norm_backward(const dt_stream* stream, const dt_call* call) {
  return visit_floating(call->in[1].dtype, [&](auto type) {
    return backward<typename decltype(type)::type>(stream, call);
  });
}

int64_t layer_norm_backward_workspace(const dt_stream* stream, const dt_call* call) {
  if (!wants(call, 1) && !wants(call, 2)) return 0;
  int64_t bytes = 0;
  visit_floating(call->in[1].dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    const int64_t sums = 2 * call->in[1].sizes[1] * backward_parts<T>(stream, call);
    bytes = sums * static_cast<int64_t>(sizeof(T));
    return 0;
  });
  return bytes;
}

}  // namespace

void register_layer_norm(dt_registry* registry) {
  add(registry, "layer_norm", layer_norm);
  add(registry, "layer_norm_backward", layer_norm_backward, layer_norm_backward_workspace);
}

}  // namespace dt::cuda
