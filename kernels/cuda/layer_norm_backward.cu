// The gradients of layer_norm over the last dimension of contiguous [rows, n].
//
// Rows are kept and walked as in layer_norm.cu. The gradients of weight and bias are sums over
// rows: each block adds up its rows in shared memory, and a second kernel adds up the blocks.
#include "kernels/calls/nn.gen.h"
#include "kernels/cuda/moments.cuh"
#include "kernels/cuda/operands.cuh"
#include "kernels/cuda/rows.cuh"
#include "kernels/cuda/shared.cuh"
#include "kernels/cuda/types.cuh"

namespace dt::cuda {
namespace {

constexpr int kLongTeam = 512;
// Packets of a row and operand that a thread keeps, and that one of the largest team does.
template <class T>
constexpr int kRowPackets = kIsNarrowFloat<T> ? 4 : 2;
constexpr int kMostPackets = 2;
constexpr int kResidentThreads = 1024;  // of a multiprocessor

// Where the packets of a row are if each holds the same columns of every row. Rows that all begin
// at a boundary are moved in packets, others in elements: a packet's elements are kApart columns
// apart, so that with kApart threads a team has them side by side.
template <class T, int kApart>
struct ColumnLayout {
  using Value = Widened<T>;
  static constexpr int kWidth = kPacketWidth<T>;

  int n;
  bool are_aligned;

  __device__ __forceinline__ int packets() const {
    constexpr int kGroup = kWidth * kApart;
    return are_aligned ? n / kWidth : (n + kGroup - 1) / kGroup * kApart;
  }
  __device__ __forceinline__ int column(int packet, int v) const {
    return are_aligned ? packet * kWidth + v
                       : (packet / kApart * kWidth + v) * kApart + packet % kApart;
  }
  // The packet that holds a column, and where in it.
  __device__ __forceinline__ int packet_of(int column) const {
    return are_aligned ? column / kWidth : column / (kWidth * kApart) * kApart + column % kApart;
  }
  __device__ __forceinline__ int place_of(int column) const {
    return (are_aligned ? column : column / kApart) % kWidth;
  }

  __device__ __forceinline__ void prefetch(const T* row, int packet) const {
    if (are_aligned && packet < packets()) prefetch_packet(packet_at<kWidth>(row, packet));
    if (are_aligned || kApart == 1) return;
#pragma unroll
    for (int v = 0; v < kWidth; ++v) {
      if (column(packet, v) < n) prefetch_packet(row + column(packet, v));
    }
  }

  __device__ __forceinline__ Packet<Value, kWidth> load(const T* row, int packet,
                                                        Value fill) const {
    return load_at(row, packet, fill, are_aligned);
  }
  // Of a vector that all rows share; `absent` if there is none.
  __device__ __forceinline__ Packet<Value, kWidth> load_shared(const T* vector, int packet,
                                                               Value absent) const {
    if (!vector) return filled_packet<kWidth>(absent);
    const bool whole = are_aligned && reinterpret_cast<uintptr_t>(vector) % kPacketBytes == 0;
    return load_at(vector, packet, absent, whole);
  }

  __device__ __forceinline__ void store(T* row, int packet,
                                        const Packet<Value, kWidth>& value) const {
    if (are_aligned) {
      if (packet < packets()) store_rounded(packet_at<kWidth>(row, packet), value);
      return;
    }
#pragma unroll
    for (int v = 0; v < kWidth; ++v) {
      if (column(packet, v) < n) row[column(packet, v)] = T(value.value[v]);
    }
  }

 private:
  __device__ __forceinline__ Packet<Value, kWidth> load_at(const T* row, int packet, Value fill,
                                                           bool whole) const {
    if (whole && packet < packets()) return load_widened<kWidth>(packet_at<kWidth>(row, packet));
    Packet<Value, kWidth> result = filled_packet<kWidth>(fill);
    if (whole) return result;
#pragma unroll
    for (int v = 0; v < kWidth; ++v) {
      if (column(packet, v) < n) result.value[v] = Value(row[column(packet, v)]);
    }
    return result;
  }
};

// ---- gx = rstd * (h - mean(h) - xhat * mean(h * xhat)), where h = g * weight and
// xhat = (x - mean) * rstd; gweight and gbias are the sums of g * xhat and of g over the rows

template <class T>
struct Backward {
  using V = Widened<T>;
  T* gx;  // or null
  const T *g, *x, *weight;
  const V* mean;  // or null: none was taken away
  const V* rstd;
  V* parts;  // [parts][2][n] sums over some rows each: of g * xhat and of g; or null
  int64_t rows, n;
  bool are_aligned;
  bool adds;  // to what gx holds

  __device__ __forceinline__ V center(int64_t row) const { return mean ? mean[row] : V(0); }
  // Of h and of h * xhat, from a row's sums.
  __device__ __forceinline__ Pair<V> means_of(const Pair<V>& sums) const {
    return {mean ? sums.first / static_cast<V>(n) : V(0), sums.second / static_cast<V>(n)};
  }

  template <int kWidth>
  __device__ __forceinline__ void add_sums(const Packet<V, kWidth>& g_part,
                                           const Packet<V, kWidth>& x_part,
                                           const Packet<V, kWidth>& w, V center, V scale,
                                           Pair<V>* sums) const {
#pragma unroll
    for (int v = 0; v < kWidth; ++v) {
      const V h = g_part.value[v] * w.value[v];
      sums->first += h;
      sums->second += h * ((x_part.value[v] - center) * scale);
    }
  }

  template <int kWidth>
  __device__ __forceinline__ Packet<V, kWidth> gradient(const Packet<V, kWidth>& g_part,
                                                        const Packet<V, kWidth>& x_part,
                                                        const Packet<V, kWidth>& w, V center,
                                                        V scale, const Pair<V>& means) const {
    Packet<V, kWidth> result;
#pragma unroll
    for (int v = 0; v < kWidth; ++v) {
      const V xhat = (x_part.value[v] - center) * scale;
      result.value[v] = scale * (g_part.value[v] * w.value[v] - means.first - xhat * means.second);
    }
    return result;
  }

  template <class Layout, int kWidth>
  __device__ __forceinline__ void put(const Layout& row, int64_t number, int packet,
                                      Packet<V, kWidth> gradient) const {
    T* const place = gx + number * n;
    if (!kIsNarrowFloat<T> && adds) {
      const Packet<V, kWidth> before = row.load(place, packet, 0);
#pragma unroll
      for (int v = 0; v < kWidth; ++v) gradient.value[v] = before.value[v] + gradient.value[v];
    }
    row.store(place, packet, gradient);
  }
};

// The sums of a block's rows, in dynamic shared memory. Every thread has packets of its own, so
// nobody waits while rows are added.
template <class T, class Shape>
struct BlockSums {
  using V = Widened<T>;
  using Threads = typename Shape::Threads;
  static constexpr int kWidth = kPacketWidth<T>;
  static constexpr int kPackets = Shape::packets * Shape::team;  // of a row
  static constexpr size_t bytes =
      size_t{2} * Threads::per_block * kPackets * sizeof(Packet<V, kWidth>);

  Packet<V, kWidth>* sums;

  __device__ __forceinline__ Packet<V, kWidth>& at(int team, int which, int packet) const {
    return sums[(team * 2 + which) * kPackets + packet];
  }

  __device__ void clear() const {
    for (int k = 0; k < Shape::packets; ++k) {
      const int packet = k * Shape::team + Threads::rank();
      at(Threads::number(), 0, packet) = at(Threads::number(), 1, packet) = {};
    }
  }

  __device__ __forceinline__ void add(int packet, const Packet<V, kWidth>& g_part,
                                      const Packet<V, kWidth>& x_part, V center, V scale) const {
    Packet<V, kWidth> weight = at(Threads::number(), 0, packet),
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
  template <class Layout>
  __device__ void store(V* part, const Layout& row) const {
    __syncthreads();
    for (int i = threadIdx.x; i < 2 * row.n; i += Threads::block) {
      const int which = i >= row.n, column = i - which * row.n;
      V sum = 0;
      for (int team = 0; team < Threads::per_block; ++team)
        sum += at(team, which, row.packet_of(column)).value[row.place_of(column)];
      part[i] = sum;
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

// Blocks walk the rows with the stride of the grid. All of them should be there at once
// (count_parts), but packets of narrow floats need more registers than that leaves.
template <class T, class Shape>
__global__ void __launch_bounds__(Shape::Threads::block,
                                  (kIsNarrowFloat<T> ? 640 : kResidentThreads) /
                                      Shape::Threads::block)
    layer_norm_backward_rows(Backward<T> b) {
  begin_kernel();
  using V = Widened<T>;
  using Threads = typename Shape::Threads;
  constexpr int kWidth = kPacketWidth<T>;
  extern __shared__ __align__(16) unsigned char dynamic_shared[];
  const BlockSums<T, Shape> sums{reinterpret_cast<Packet<V, kWidth>*>(dynamic_shared)};
  // Short rows leave no team of elements side by side without gaps.
  constexpr int kApart = Shape::team * Shape::packets < 128 ? 1 : Shape::team;
  const ColumnLayout<T, kApart> row{static_cast<int>(b.n), b.are_aligned};
  if (b.parts) sums.clear();

  const int64_t step = int64_t{gridDim.x} * Threads::per_block;
  for (int64_t first = int64_t{blockIdx.x} * Threads::per_block; first < b.rows; first += step) {
    const bool exists = first + Threads::number() < b.rows;
    const int64_t number = exists ? first + Threads::number() : 0;
    Packet<V, kWidth> g[Shape::packets], x[Shape::packets];
#pragma unroll
    for (int k = 0; k < Shape::packets; ++k) {
      const int packet = k * Shape::team + Threads::rank();
      g[k] = row.load(b.g + number * b.n, packet, 0);
      x[k] = row.load(b.x + number * b.n, packet, 0);
    }
    const V center = b.center(number), scale = b.rstd[number];
    prefetch_row<Shape>(b, row, number + step);
    if (b.parts && exists) {
#pragma unroll
      for (int k = 0; k < Shape::packets; ++k)
        sums.add(k * Shape::team + Threads::rank(), g[k], x[k], center, scale);
    }
    if (!b.gx) continue;
    if (b.adds) {
#pragma unroll
      for (int k = 0; k < Shape::packets; ++k)
        row.prefetch(b.gx + number * b.n, k * Shape::team + Threads::rank());
    }
    Pair<V> means = {V(0), V(0)};
#pragma unroll
    for (int k = 0; k < Shape::packets; ++k) {
      const auto w = row.load_shared(b.weight, k * Shape::team + Threads::rank(), 1);
      b.add_sums(g[k], x[k], w, center, scale, &means);
    }
    means = b.means_of(team_reduce<Shape::team>(means, Pair<V>::merge));
    if (!exists) continue;
#pragma unroll
    for (int k = 0; k < Shape::packets; ++k) {
      const int packet = k * Shape::team + Threads::rank();
      const auto w = row.load_shared(b.weight, packet, 1);
      b.put(row, number, packet, b.gradient(g[k], x[k], w, center, scale, means));
    }
  }
  if (b.parts) sums.store(b.parts + 2 * b.n * blockIdx.x, row);
}

template <class T>
__global__ void __launch_bounds__(kLongTeam) layer_norm_backward_long_rows(Backward<T> b) {
  begin_kernel();
  using V = Widened<T>;
  const int64_t number = blockIdx.x;
  const T *g = b.g + number * b.n, *x = b.x + number * b.n;
  const V center = b.center(number), scale = b.rstd[number];
  const RowLayout<T> row(b.n, b.are_aligned);

  Pair<V> means = {V(0), V(0)};
#pragma unroll 2
  for (int64_t packet = threadIdx.x; packet < row.packets(); packet += kLongTeam) {
    b.add_sums(row.load(g, packet, 0), row.load(x, packet, 0), row.load_shared(b.weight, packet, 1),
               center, scale, &means);
  }
  means = b.means_of(team_reduce<kLongTeam>(means, Pair<V>::merge));
#pragma unroll 2
  for (int64_t packet = threadIdx.x; packet < row.packets(); packet += kLongTeam) {
    b.put(row, number, packet,
          b.gradient(row.load(g, packet, 0), row.load(x, packet, 0),
                     row.load_shared(b.weight, packet, 1), center, scale, means));
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
  using V = Widened<T>;
  const int64_t column = int64_t{blockIdx.x} * 32 + threadIdx.x;
  const bool exists = column < b.n;
  Pair<V> sums = {V(0), V(0)};
  const int64_t begin = int64_t{blockIdx.y} * kColumnThreads + threadIdx.y,
                step = int64_t{gridDim.y} * kColumnThreads;
#pragma unroll 4
  for (int64_t r = begin; exists && r < b.rows; r += step) {
    const V g = V(b.g[r * b.n + column]);
    sums.first += g * ((V(b.x[r * b.n + column]) - b.center(r)) * b.rstd[r]);
    sums.second += g;
  }
  sums = sum_columns(sums);
  if (threadIdx.y != 0 || !exists) return;
  V* part = b.parts + 2 * b.n * blockIdx.y;
  part[column] = sums.first;
  part[b.n + column] = sums.second;
}

// gweight and gbias (each may be null) from the parts.
template <class T>
__global__ void __launch_bounds__(32 * kColumnThreads)
    layer_norm_add_parts(T* gweight, T* gbias, const Widened<T>* parts, int64_t count, int64_t n) {
  begin_kernel();
  using V = Widened<T>;
  const int64_t column = int64_t{blockIdx.x} * 32 + threadIdx.x;
  const bool exists = column < n;
  Pair<V> sums = {V(0), V(0)};
#pragma unroll 4
  for (int64_t i = threadIdx.y; exists && i < count; i += kColumnThreads) {
    sums.first += parts[2 * n * i + column];
    sums.second += parts[2 * n * i + n + column];
  }
  sums = sum_columns(sums);
  if (threadIdx.y != 0 || !exists) return;
  if (gweight) gweight[column] = T(sums.first);
  if (gbias) gbias[column] = T(sums.second);
}

// ---- launches

// How many parts the sums over rows are taken in: enough to fill the device, but each of some rows.
int64_t count_parts(const dt_stream* stream, int64_t rows, int threads, int rows_at_once) {
  const int64_t groups = divide_up(rows, rows_at_once),
                multiprocessor_count = multiprocessors(stream->device);
  const int64_t most = multiprocessor_count * (kResidentThreads / threads);
  const int64_t wanted = divide_up(groups, 8);
  const int64_t least = groups < multiprocessor_count ? groups : multiprocessor_count;
  return wanted < least ? least : wanted < most ? wanted : most;
}

// f(RowShape) for rows whose sums fit into the shared memory of any device, long_rows() for others.
template <class T, class F, class LongRows>
int32_t visit_backward_shape(int64_t packets, const F& f, const LongRows& long_rows) {
  constexpr int64_t kSharedBytes = 64 << 10;  // from compute capability 8.0 on there are 99 KiB
  constexpr int64_t kMost = kSharedBytes / (2 * sizeof(Packet<Widened<T>, kPacketWidth<T>>));
  if (packets > kMost) return long_rows();
  if (packets <= 4 * 2) return f(RowShape<4, 2>());
  if (packets <= 8 * 2) return f(RowShape<8, 2>());
  if (packets <= 16 * 2) return f(RowShape<16, 2>());
  if (packets <= 32 * 2) return f(RowShape<32, 2>());
  if constexpr (kIsNarrowFloat<T>) {
    if (packets <= 32 * 4) return f(RowShape<32, 4>());
  } else {
    if (packets <= 32 * 3) return f(RowShape<32, 3>());
    if (packets <= 128) return f(RowShape<128, 1>());
    if (packets > 128 * 2 && packets <= 128 * 3) return f(RowShape<128, 3>());
  }
  return visit_block_shape<kRowPackets<T>, kMostPackets>(packets, f, long_rows);
}

template <class T>
int64_t backward_packets(const calls::LayerNormBackward& call, bool* are_aligned) {
  const int64_t n = call.x.sizes[1];
  *are_aligned = rows_are_aligned<T>(n, call.g, call.x) &&
                 (!call.gx || is_aligned(call.gx->data, kPacketBytes));
  return divide_up(n, kPacketWidth<T>);
}

int64_t column_parts(int64_t rows) {
  const int64_t groups = divide_up(rows, kColumnThreads * 8);
  return groups < 64 ? groups : 64;
}

// How many parts a backward call has.
template <class T>
int64_t backward_parts(const dt_stream* stream, const calls::LayerNormBackward& call) {
  const int64_t rows = call.x.sizes[0];
  bool are_aligned;
  int64_t parts = 0;
  visit_backward_shape<T>(
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
  constexpr auto kernel = layer_norm_backward_rows<T, Shape>;
  const size_t shared = b.parts ? BlockSums<T, Shape>::bytes : 0;
  if (const int32_t code = allow_shared<kernel>(stream, static_cast<int64_t>(shared))) return code;
  const int64_t blocks = count_parts(stream, b.rows, Threads::block, Threads::per_block);
  return launch(stream, kernel, static_cast<unsigned>(blocks), Threads::block, shared, b);
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
int32_t backward(const dt_stream* stream, const calls::LayerNormBackward& call) {
  const bool needs_parts = call.gweight || call.gbias;
  Backward<T> b;
  b.gx = optional_data<T>(call.gx);
  b.g = static_cast<const T*>(call.g.data);
  b.x = static_cast<const T*>(call.x.data);
  b.mean = optional_data<const Widened<T>>(call.mean);
  b.rstd = static_cast<const Widened<T>*>(call.rstd.data);
  b.weight = optional_data<const T>(call.weight);
  b.parts = needs_parts ? static_cast<Widened<T>*>(call.workspace) : nullptr;
  b.rows = call.x.sizes[0];
  b.n = call.x.sizes[1];
  b.adds = call.adds;
  const int32_t code = visit_backward_shape<T>(
      backward_packets<T>(call, &b.are_aligned),
      [&](auto shape) { return launch_backward_rows<T, decltype(shape)>(stream, b); },
      [&] { return launch_backward_long_rows<T>(stream, b); });
  if (code != DT_KERNEL_OK || !needs_parts) return code;
  return launch(stream, layer_norm_add_parts<T>, static_cast<unsigned>(divide_up(b.n, 32)),
                dim3(32, kColumnThreads), 0, optional_data<T>(call.gweight),
                optional_data<T>(call.gbias), static_cast<const Widened<T>*>(b.parts),
                backward_parts<T>(stream, call), b.n);
}

}  // namespace

int32_t kernels::layer_norm_backward(const dt_stream* stream,
                                     const calls::LayerNormBackward& call) {
  if (!are_of(call.x.dtype, {call.weight, call.gweight, call.gbias})) return DT_KERNEL_UNSUPPORTED;
  return visit_stored_floating(call.x.dtype, [&](auto type) {
    return backward<typename decltype(type)::type>(stream, call);
  });
}

int64_t kernels::layer_norm_backward_workspace(const dt_stream* stream,
                                               const calls::LayerNormBackward& call) {
  if (!call.gweight && !call.gbias) return 0;
  int64_t bytes = 0;
  visit_stored_floating(call.x.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    const int64_t sums = 2 * call.x.sizes[1] * backward_parts<T>(stream, call);
    bytes = sums * static_cast<int64_t>(sizeof(Widened<T>));
    return 0;
  });
  return bytes;
}

}  // namespace dt::cuda
