// Maximum and average pooling and their gradients. Everything is gathered: an output reads its
// window, and an element of a gradient adds up the windows that reach it, so nothing is written
// twice and sums have a fixed order.
#include <limits>
#include <type_traits>

#include "kernels/cuda/pool_window.cuh"
#include "kernels/cuda/register.h"
#include "kernels/cuda/types.cuh"

namespace dt::cuda {
namespace {

constexpr int kBlock = 256;

unsigned blocks_for(int64_t threads) {
  return static_cast<unsigned>(divide_up(threads, kBlock));
}

// ---- max_pool2d

// The largest element of a window: the first of equals; a NaN is larger than anything.
template <class T>
struct Best {
  static constexpr T kLowest = std::numeric_limits<T>::has_infinity
                                   ? -std::numeric_limits<T>::infinity()
                                   : std::numeric_limits<T>::lowest();

  T value = kLowest;  // of a window whose taps all lie in the padding, which never wins
  int64_t position = 0;

  __device__ __forceinline__ void take(T x, int64_t at, bool is_first) {
    if (is_first || x > value || x != x) value = x, position = at;
  }
};

template <class T, int kWidth, class Index>
__global__ void __launch_bounds__(kBlock)
    max_pool(Images<T> y, Images<int64_t> indices, Images<const T> x, Pool pool,
             PixelOrder<Index> order, Index count) {
  begin_kernel();
  const Index i = static_cast<Index>(blockIdx.x) * kBlock + threadIdx.x;
  if (i >= count) return;
  const Pixel o = order.at(i);
  const int64_t row_begin = pool.rows.first_tap(o.h), row_end = pool.rows.end_tap(o.h),
                col_begin = pool.cols.first_tap(o.w), col_end = pool.cols.end_tap(o.w);
  Best<T> best[kWidth];
  for (int64_t r = row_begin; r < row_end; ++r) {
    for (int64_t s = col_begin; s < col_end; ++s) {
      const int64_t h = pool.rows.start(o.h) + r * pool.rows.dilation,
                    w = pool.cols.start(o.w) + s * pool.cols.dilation;
      const auto values = load_packet<kWidth>(x.at(o.n, o.c, h, w));
#pragma unroll
      for (int v = 0; v < kWidth; ++v)
        best[v].take(values.value[v], h * pool.cols.in + w, r == row_begin && s == col_begin);
    }
  }
  Packet<T, kWidth> value;
  Packet<int64_t, kWidth> position;
#pragma unroll
  for (int v = 0; v < kWidth; ++v)
    value.value[v] = best[v].value, position.value[v] = best[v].position;
  store_packet(y.at(o.n, o.c, o.h, o.w), value);
  store_packet(indices.at(o.n, o.c, o.h, o.w), position);
}

// The usual windows, 2 x 2 side by side in dense rows: a thread takes kOutputs neighbouring windows
// with one access to each of their two rows.
template <class T, int kOutputs>
__global__ void __launch_bounds__(kBlock)
    halve(Images<T> y, Images<int64_t> indices, Images<const T> x, PixelOrder<uint32_t> order,
          uint32_t count) {
  begin_kernel();
  const uint32_t i = blockIdx.x * kBlock + threadIdx.x;
  if (i >= count) return;
  const Pixel o = order.at(i);  // its width is counted in groups of kOutputs
  const int64_t h = 2 * o.h, w = 2 * kOutputs * o.w, in = order.width * int64_t{2 * kOutputs};
  const T* corner = x.at(o.n, o.c, h, w);
  const auto above = load_packet<2 * kOutputs>(corner),
             below = load_packet<2 * kOutputs>(corner + x.h_step);
  Packet<T, kOutputs> value;
  Packet<int64_t, kOutputs> position;
#pragma unroll
  for (int k = 0; k < kOutputs; ++k) {
    const int64_t first = h * in + w + 2 * k;
    Best<T> best = {above.value[2 * k], first};
    best.take(above.value[2 * k + 1], first + 1, false);
    best.take(below.value[2 * k], first + in, false);
    best.take(below.value[2 * k + 1], first + in + 1, false);
    value.value[k] = best.value;
    position.value[k] = best.position;
  }
  store_packet(y.at(o.n, o.c, o.h, kOutputs * o.w), value);
  store_packet(indices.at(o.n, o.c, o.h, kOutputs * o.w), position);
}

template <class T, int kWidth, class Index>
__global__ void __launch_bounds__(kBlock)
    max_pool_backward(Images<T> gx, Images<const T> g, Images<const int64_t> indices, Pool pool,
                      PixelOrder<Index> order, Index count) {
  begin_kernel();
  const Index i = static_cast<Index>(blockIdx.x) * kBlock + threadIdx.x;
  if (i >= count) return;
  const Pixel o = order.at(i);
  const int64_t here = o.h * pool.cols.in + o.w, row_end = pool.rows.end_window(o.h),
                col_begin = pool.cols.first_window(o.w), col_end = pool.cols.end_window(o.w);
  Packet<T, kWidth> sum = {};
  for (int64_t p = pool.rows.first_window(o.h); p < row_end; ++p) {
    for (int64_t q = col_begin; q < col_end; ++q) {
      const auto chosen = load_packet<kWidth>(indices.at(o.n, o.c, p, q));
      const auto grads = load_packet<kWidth>(g.at(o.n, o.c, p, q));
#pragma unroll
      for (int v = 0; v < kWidth; ++v) {
        if (chosen.value[v] == here) sum.value[v] += grads.value[v];
      }
    }
  }
  store_packet(gx.at(o.n, o.c, o.h, o.w), sum);
}

// Of the usual windows, if they cover the image: each thread writes kOutputs of them.
template <class T, int kOutputs>
__global__ void __launch_bounds__(kBlock)
    halve_backward(Images<T> gx, Images<const T> g, Images<const int64_t> indices,
                   PixelOrder<uint32_t> order, uint32_t count) {
  begin_kernel();
  const uint32_t i = blockIdx.x * kBlock + threadIdx.x;
  if (i >= count) return;
  const Pixel o = order.at(i);  // its width is counted in groups of kOutputs
  const int64_t h = 2 * o.h, w = 2 * kOutputs * o.w, in = order.width * int64_t{2 * kOutputs};
  const auto chosen = load_packet<kOutputs>(indices.at(o.n, o.c, o.h, kOutputs * o.w));
  const auto grads = load_packet<kOutputs>(g.at(o.n, o.c, o.h, kOutputs * o.w));
  Packet<T, 2 * kOutputs> above, below;
#pragma unroll
  for (int k = 0; k < 2 * kOutputs; ++k) {
    const int64_t first = h * in + w + k;
    above.value[k] = chosen.value[k / 2] == first ? grads.value[k / 2] : T(0);
    below.value[k] = chosen.value[k / 2] == first + in ? grads.value[k / 2] : T(0);
  }
  T* corner = gx.at(o.n, o.c, h, w);
  store_packet(corner, above);
  store_packet(corner + gx.h_step, below);
}

// ---- avg_pool2d

struct Average {
  Pool pool;
  bool count_padding;
  int64_t fixed_divisor;  // 0: none

  __device__ __forceinline__ int64_t divisor(int64_t p, int64_t q) const {
    if (fixed_divisor != 0) return fixed_divisor;
    return pool.rows.extent(p, count_padding) * pool.cols.extent(q, count_padding);
  }
};

template <class T, int kWidth, class Index>
__global__ void __launch_bounds__(kBlock) avg_pool(Images<T> y, Images<const T> x, Average average,
                                                   PixelOrder<Index> order, Index count) {
  begin_kernel();
  const Index i = static_cast<Index>(blockIdx.x) * kBlock + threadIdx.x;
  if (i >= count) return;
  const Pixel o = order.at(i);
  const Pool& pool = average.pool;
  const int64_t row_end = pool.rows.end_tap(o.h), col_begin = pool.cols.first_tap(o.w),
                col_end = pool.cols.end_tap(o.w);
  Packet<T, kWidth> sum = {};
  for (int64_t r = pool.rows.first_tap(o.h); r < row_end; ++r) {
    for (int64_t s = col_begin; s < col_end; ++s) {
      const auto values =
          load_packet<kWidth>(x.at(o.n, o.c, pool.rows.start(o.h) + r, pool.cols.start(o.w) + s));
#pragma unroll
      for (int v = 0; v < kWidth; ++v) sum.value[v] += values.value[v];
    }
  }
  const T divisor = static_cast<T>(average.divisor(o.h, o.w));
#pragma unroll
  for (int v = 0; v < kWidth; ++v) sum.value[v] /= divisor;
  store_packet(y.at(o.n, o.c, o.h, o.w), sum);
}

template <class T, int kWidth, class Index>
__global__ void __launch_bounds__(kBlock)
    avg_pool_backward(Images<T> gx, Images<const T> g, Average average, PixelOrder<Index> order,
                      Index count) {
  begin_kernel();
  const Index i = static_cast<Index>(blockIdx.x) * kBlock + threadIdx.x;
  if (i >= count) return;
  const Pixel o = order.at(i);
  const Pool& pool = average.pool;
  const int64_t row_end = pool.rows.end_window(o.h), col_begin = pool.cols.first_window(o.w),
                col_end = pool.cols.end_window(o.w);
  Packet<T, kWidth> sum = {};
  for (int64_t p = pool.rows.first_window(o.h); p < row_end; ++p) {
    for (int64_t q = col_begin; q < col_end; ++q) {
      const auto grads = load_packet<kWidth>(g.at(o.n, o.c, p, q));
      const T divisor = static_cast<T>(average.divisor(p, q));
#pragma unroll
      for (int v = 0; v < kWidth; ++v) sum.value[v] += grads.value[v] / divisor;
    }
  }
  store_packet(gx.at(o.n, o.c, o.h, o.w), sum);
}

// ---- launches

// `i`: kernel, stride, padding and dilation, each for rows and columns; or as many without
// dilation.
Pool make_pool(const dt_view& x, const dt_view& y, const int64_t* i, bool dilates) {
  return {{x.sizes[2], y.sizes[2], i[0], i[2], i[4], dilates ? i[6] : 1},
          {x.sizes[3], y.sizes[3], i[1], i[3], i[5], dilates ? i[7] : 1}};
}

Average make_average(const dt_view& x, const dt_view& y, const int64_t* i) {
  return {make_pool(x, y, i, false), i[6] != 0, i[7]};
}

// Whether rows can be moved in accesses of `width` elements.
bool has_row_packets(const dt_view& v, int64_t width, int64_t bytes) {
  const int64_t access = width * bytes < kPacketBytes ? width * bytes : kPacketBytes;
  bool packets = v.strides[3] == 1 && v.sizes[3] % width == 0 && is_aligned(v.data, access);
  for (int d = 0; d < 3; ++d) packets &= v.strides[d] % width == 0 || v.sizes[d] == 1;
  return packets;
}

// How many of the usual windows a thread can take at once; 0: these are other windows.
int outputs_at_once(const Pool& pool, const dt_view& x, const dt_view& y, const dt_view& indices) {
  const bool covers = pool.rows.halves() && pool.cols.halves() && 2 * pool.cols.out == pool.cols.in;
  if (!covers || numel(y) > kMaxIndex32) return 0;
  const int64_t bytes = bytes_of(x.dtype);
  for (int outputs : {2, 1}) {
    if (has_row_packets(x, 2 * outputs, bytes) && has_row_packets(y, outputs, bytes) &&
        has_row_packets(indices, outputs, bytes_of(DT_INT64)))
      return outputs;
  }
  return 0;
}

// The order of groups of `outputs` neighbouring outputs.
PixelOrder<uint32_t> group_order(const dt_view& y, int outputs) {
  dt_view groups = y;
  groups.sizes[3] /= outputs;
  groups.strides[3] = 1;
  return PixelOrder<uint32_t>(groups, 1);
}

template <class T>
int32_t run_max_pool(const dt_stream* stream, const dt_call* call) {
  const dt_view &y = call->out[0], &indices = call->out[1], &x = call->in[0];
  const Pool pool = make_pool(x, y, call->ints, true);
  const Images<T> to(y);
  const Images<int64_t> at(indices);
  const Images<const T> from(x);
  if (const int outputs = outputs_at_once(pool, x, y, indices)) {
    const auto count = static_cast<uint32_t>(numel(y) / outputs);
    return launch(stream, outputs == 2 ? halve<T, 2> : halve<T, 1>, blocks_for(count), kBlock, 0,
                  to, at, from, group_order(y, outputs), count);
  }
  constexpr int kWidth = kPacketWidth<T>;
  const bool packets = has_channel_packets(x, kWidth, sizeof(T)) &&
                       has_channel_packets(y, kWidth, sizeof(T)) &&
                       has_channel_packets(indices, kWidth, sizeof(int64_t));
  return visit_pixels<T, std::is_floating_point_v<T>>(y, packets, [&](auto width, auto index) {
    using Index = decltype(index);
    constexpr int kPacket = decltype(width)::value;
    const int64_t count = numel(y) / kPacket;
    return launch(stream, max_pool<T, kPacket, Index>, blocks_for(count), kBlock, 0, to, at, from,
                  pool, PixelOrder<Index>(y, kPacket), static_cast<Index>(count));
  });
}

template <class T>
int32_t run_max_pool_backward(const dt_stream* stream, const dt_call* call) {
  const dt_view &gx = call->out[0], &g = call->in[0], &indices = call->in[1];
  const Pool pool = make_pool(gx, g, call->ints, true);
  const Images<T> to(gx);
  const Images<const T> from(g);
  const Images<const int64_t> at(indices);
  const int outputs = outputs_at_once(pool, gx, g, indices);
  if (outputs && 2 * pool.rows.out == pool.rows.in) {
    const auto count = static_cast<uint32_t>(numel(g) / outputs);
    return launch(stream, outputs == 2 ? halve_backward<T, 2> : halve_backward<T, 1>,
                  blocks_for(count), kBlock, 0, to, from, at, group_order(g, outputs), count);
  }
  constexpr int kWidth = kPacketWidth<T>;
  const bool packets = has_channel_packets(gx, kWidth, sizeof(T)) &&
                       has_channel_packets(g, kWidth, sizeof(T)) &&
                       has_channel_packets(indices, kWidth, sizeof(int64_t));
  return visit_pixels<T, true>(gx, packets, [&](auto width, auto index) {
    using Index = decltype(index);
    constexpr int kPacket = decltype(width)::value;
    const int64_t count = numel(gx) / kPacket;
    return launch(stream, max_pool_backward<T, kPacket, Index>, blocks_for(count), kBlock, 0, to,
                  from, at, pool, PixelOrder<Index>(gx, kPacket), static_cast<Index>(count));
  });
}

template <class T>
int32_t run_avg_pool(const dt_stream* stream, const dt_call* call) {
  const dt_view &y = call->out[0], &x = call->in[0];
  constexpr int kWidth = kPacketWidth<T>;
  const bool packets =
      has_channel_packets(x, kWidth, sizeof(T)) && has_channel_packets(y, kWidth, sizeof(T));
  return visit_pixels<T, true>(y, packets, [&](auto width, auto index) {
    using Index = decltype(index);
    constexpr int kPacket = decltype(width)::value;
    const int64_t count = numel(y) / kPacket;
    return launch(stream, avg_pool<T, kPacket, Index>, blocks_for(count), kBlock, 0, Images<T>(y),
                  Images<const T>(x), make_average(x, y, call->ints), PixelOrder<Index>(y, kPacket),
                  static_cast<Index>(count));
  });
}

template <class T>
int32_t run_avg_pool_backward(const dt_stream* stream, const dt_call* call) {
  const dt_view &gx = call->out[0], &g = call->in[0];
  constexpr int kWidth = kPacketWidth<T>;
  const bool packets =
      has_channel_packets(gx, kWidth, sizeof(T)) && has_channel_packets(g, kWidth, sizeof(T));
  return visit_pixels<T, true>(gx, packets, [&](auto width, auto index) {
    using Index = decltype(index);
    constexpr int kPacket = decltype(width)::value;
    const int64_t count = numel(gx) / kPacket;
    return launch(stream, avg_pool_backward<T, kPacket, Index>, blocks_for(count), kBlock, 0,
                  Images<T>(gx), Images<const T>(g), make_average(gx, g, call->ints),
                  PixelOrder<Index>(gx, kPacket), static_cast<Index>(count));
  });
}

int32_t max_pool2d(const dt_stream* stream, const dt_call* call) {
  return visit_number(call->out[0].dtype, [&](auto type) {
    return run_max_pool<typename decltype(type)::type>(stream, call);
  });
}

int32_t max_pool2d_backward(const dt_stream* stream, const dt_call* call) {
  return visit_floating(call->out[0].dtype, [&](auto type) {
    return run_max_pool_backward<typename decltype(type)::type>(stream, call);
  });
}

int32_t avg_pool2d(const dt_stream* stream, const dt_call* call) {
  return visit_floating(call->out[0].dtype, [&](auto type) {
    return run_avg_pool<typename decltype(type)::type>(stream, call);
  });
}

int32_t avg_pool2d_backward(const dt_stream* stream, const dt_call* call) {
  return visit_floating(call->out[0].dtype, [&](auto type) {
    return run_avg_pool_backward<typename decltype(type)::type>(stream, call);
  });
}

}  // namespace

void register_pool(dt_registry* registry) {
  add(registry, "max_pool2d", max_pool2d);
  add(registry, "max_pool2d_backward", max_pool2d_backward);
  add(registry, "avg_pool2d", avg_pool2d);
  add(registry, "avg_pool2d_backward", avg_pool2d_backward);
}

}  // namespace dt::cuda
