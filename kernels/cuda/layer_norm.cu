// layer_norm over the last dimension of contiguous [rows, n], and its gradients.
//
// A team of threads keeps a row in registers, so that memory is read once; rows that are too long
// for that are read twice. The gradients of weight and bias are sums over rows: in the backward
// kernel each block adds up its rows in shared memory, and a second kernel adds up the blocks.
#include "kernels/cuda/moments.cuh"
#include "kernels/cuda/operands.cuh"
#include "kernels/cuda/register.h"
#include "kernels/cuda/rows.cuh"
#include "kernels/cuda/types.cuh"

namespace dt::cuda {
namespace {

constexpr int kLongTeam = 512;
constexpr int kLongPackets = 4;  // that a thread loads at once
// Packets of a row that a thread keeps; the backward kernel keeps them of two operands.
constexpr int kForwardPackets = 4, kBackwardPackets = 2;

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

  template <class Layout, int kWidth>
  __device__ __forceinline__ void normalize(const Layout& row, int64_t number, int64_t packet,
                                            Packet<T, kWidth> values, const Moments<T>& m,
                                            T scale) const {
    const auto w = row.load_shared(weight, packet, T(1)), b = row.load_shared(bias, packet, T(0));
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

// The moments of packets first, first + step, ... of a row.
template <class T, class Layout, int kPackets, int kWidth>
__device__ __forceinline__ Moments<T> moments_of(const Layout& row,
                                                 const Packet<T, kWidth> (&kept)[kPackets],
                                                 int64_t first, int step) {
  int count = 0;
#pragma unroll
  for (int k = 0; k < kPackets; ++k) count += row.count(first + k * step);
  return Moments<T>::of(static_cast<T>(count), [&](const auto& use) {
#pragma unroll
    for (int k = 0; k < kPackets; ++k) row.for_each(first + k * step, kept[k], use);
  });
}

template <class T, class Shape>
__global__ void __launch_bounds__(Shape::Threads::block) layer_norm_rows(Forward<T> f) {
  begin_kernel();
  using Threads = typename Shape::Threads;
  const int64_t number = int64_t{blockIdx.x} * Threads::per_block + Threads::number();
  const bool exists = number < f.rows;
  const T* x = f.x + (exists ? number : 0) * f.n;
  const RowLayout<T, int> row(f.n, x, f.y + (exists ? number : 0) * f.n);

  Packet<T, kPacketWidth<T>> kept[Shape::packets];
#pragma unroll
  for (int k = 0; k < Shape::packets; ++k)
    kept[k] = row.load(x, k * Shape::team + Threads::rank(), T(0));
  const Moments<T> mine = moments_of<T>(row, kept, Threads::rank(), Shape::team);
  const Moments<T> all = team_reduce<Shape::team>(mine, Moments<T>::merge);
  if (!exists) return;
  const T scale = f.rstd_of(all);
#pragma unroll
  for (int k = 0; k < Shape::packets; ++k)
    f.normalize(row, number, k * Shape::team + Threads::rank(), kept[k], all, scale);
  if (Threads::rank() == 0) f.store_statistics(number, all, scale);
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
  for (int64_t packet = threadIdx.x; packet < row.packets(); packet += kLongTeam)
    f.normalize(row, number, packet, row.load(x, packet, T(0)), total, scale);
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
  return visit_row_shape<kForwardPackets, kForwardPackets>(
      most_packets<T>(f.n, rows_are_aligned<T>(f.n, views, 2)),
      [&](auto shape) {
        using Threads = typename decltype(shape)::Threads;
        const auto blocks = static_cast<unsigned>(divide_up(f.rows, Threads::per_block));
        return launch(stream, layer_norm_rows<T, decltype(shape)>, blocks, Threads::block, 0, f);
      },
      [&] {
        return launch(stream, layer_norm_long_rows<T>, static_cast<unsigned>(f.rows), kLongTeam, 0,
                      f);
      });
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
  if (shared > 48 * 1024) {  // more than a kernel gets unasked
    const cudaError_t error =
        cudaFuncSetAttribute(layer_norm_backward_rows<T, Shape>,
                             cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared));
    if (error) return check(error, "cudaFuncSetAttribute", stream->fault);
  }
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
