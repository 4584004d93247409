// Maximum and average pooling and their gradients. Everything is gathered: an output reads its
// window, and an element of a gradient adds up the windows that reach it, so nothing is written
// twice and sums have a fixed order.
#include <limits>
#include <type_traits>

#include "kernels/calls/pool.gen.h"
#include "kernels/cuda/pool_window.cuh"
#include "kernels/cuda/team.cuh"
#include "kernels/cuda/types.cuh"

namespace dt::cuda {
namespace {

constexpr int kBlock = 256;

// body(pixel) for the pixels of a thread.
template <class Int, class Body>
__device__ __forceinline__ void for_each_pixel(const PixelOrder<Int>& order, const Body& body) {
  const auto i = static_cast<std::make_unsigned_t<Int>>(blockIdx.x) * kBlock + threadIdx.x;
  if (i >= order.count) return;
  Pixel<Int> at = order.at(i);
  const Int end = min(at.h + order.rows, order.height);
#pragma unroll 1
  for (; at.h < end; ++at.h) body(at);
}

// ---- max_pool2d

// The largest element of a window: the first of equals; a NaN is larger than anything.
template <class T, class Int>
struct Best {
  static constexpr T kLowest = std::numeric_limits<T>::has_infinity
                                   ? -std::numeric_limits<T>::infinity()
                                   : std::numeric_limits<T>::lowest();

  // Those of a window whose taps all lie in the padding, which never wins.
  T value = kLowest;
  Int position = -1;

  __device__ __forceinline__ void take(T x, Int at) {
    if (x > value || x != x) value = x, position = at;
  }
};

template <class T, int kWidth, int kTaps, class Int>
__global__ void __launch_bounds__(kBlock)
    max_pool(Images<T, Int> y, Images<int64_t, Int> indices, Images<const T, Int> x,
             PoolWindow<Int> pool, PixelOrder<Int> order) {
  begin_kernel();
  for_each_pixel(order, [&](const Pixel<Int>& o) {
    const Range<Int> rows = pool.rows.taps(o.h), cols = pool.cols.taps(o.w);
    Best<Widened<T>, Int> best[kWidth];
    if (rows.first < rows.end && cols.first < cols.end) {
      // The first tap wins if all are the lowest.
#pragma unroll
      for (int v = 0; v < kWidth; ++v) best[v].position = rows.first * pool.cols.in + cols.first;
    }
    for_each_cell<kTaps>(
        rows, cols, [&](Int h, Int w) { return load_packet<kWidth>(x.at(o.n, o.c, h, w)); },
        [&](Int h, Int w, const Packet<T, kWidth>& stored) {
          const Packet<Widened<T>, kWidth> values = widened(stored);
#pragma unroll
          for (int v = 0; v < kWidth; ++v) best[v].take(values.value[v], h * pool.cols.in + w);
        });
    Packet<Widened<T>, kWidth> value;
    Packet<int64_t, kWidth> position;
#pragma unroll
    for (int v = 0; v < kWidth; ++v)
      value.value[v] = best[v].value, position.value[v] = best[v].position;
    store_rounded(y.at(o.n, o.c, o.h, o.w), value);
    store_packet(indices.at(o.n, o.c, o.h, o.w), position);
  });
}

// The usual windows, 2 x 2 side by side in dense rows: a thread takes kOutputs neighbouring windows
// with one access to each of their two rows.
template <class T, int kOutputs>
__global__ void __launch_bounds__(kBlock)
    halve(Images<T, int32_t> y, Images<int64_t, int32_t> indices, Images<const T, int32_t> x,
          PixelOrder<int32_t> order) {
  begin_kernel();
  // The width is counted in groups of kOutputs.
  for_each_pixel(order, [&](const Pixel<int32_t>& o) {
    const int h = 2 * o.h, w = 2 * kOutputs * o.w, in = order.width * 2 * kOutputs;
    const T* corner = x.at(o.n, o.c, h, w);
    const auto above = load_widened<2 * kOutputs>(corner),
               below = load_widened<2 * kOutputs>(corner + x.h_step);
    Packet<Widened<T>, kOutputs> value;
    Packet<int64_t, kOutputs> position;
#pragma unroll
    for (int k = 0; k < kOutputs; ++k) {
      const int first = h * in + w + 2 * k;
      Best<Widened<T>, int> best = {above.value[2 * k], first};
      best.take(above.value[2 * k + 1], first + 1);
      best.take(below.value[2 * k], first + in);
      best.take(below.value[2 * k + 1], first + in + 1);
      value.value[k] = best.value;
      position.value[k] = best.position;
    }
    store_rounded(y.at(o.n, o.c, o.h, kOutputs * o.w), value);
    store_packet(indices.at(o.n, o.c, o.h, kOutputs * o.w), position);
  });
}

template <class T, int kWidth>
struct Chosen {
  Packet<int64_t, kWidth> position;
  Packet<T, kWidth> gradient;
};

template <class T, int kWidth, int kOverlap, class Int>
__global__ void __launch_bounds__(kBlock)
    max_pool_backward(Images<T, Int> gx, Images<const T, Int> g, Images<const int64_t, Int> indices,
                      PoolWindow<Int> pool, PixelOrder<Int> order) {
  begin_kernel();
  for_each_pixel(order, [&](const Pixel<Int>& o) {
    const int64_t here = o.h * pool.cols.in + o.w;
    Packet<Widened<T>, kWidth> sum = {};
    for_each_cell<kOverlap>(
        pool.rows.windows(o.h), pool.cols.windows(o.w),
        [&](Int p, Int q) {
          return Chosen<T, kWidth>{load_packet<kWidth>(indices.at(o.n, o.c, p, q)),
                                   load_packet<kWidth>(g.at(o.n, o.c, p, q))};
        },
        [&](Int, Int, const Chosen<T, kWidth>& window) {
          const Packet<Widened<T>, kWidth> gradient = widened(window.gradient);
#pragma unroll
          for (int v = 0; v < kWidth; ++v) {
            if (window.position.value[v] == here) sum.value[v] += gradient.value[v];
          }
        });
    store_rounded(gx.at(o.n, o.c, o.h, o.w), sum);
  });
}

// Of the usual windows, if they cover the image: a thread writes kOutputs of them, one row of two.
// Neighbouring threads then write neighbouring elements, without a gap for the other row.
template <class T, int kOutputs>
__global__ void __launch_bounds__(kBlock)
    halve_backward(Images<T, int32_t> gx, Images<const T, int32_t> g,
                   Images<const int64_t, int32_t> indices, PixelOrder<int32_t> order) {
  begin_kernel();
  // The width is counted in groups of 2 * kOutputs.
  for_each_pixel(order, [&](const Pixel<int32_t>& o) {
    const int p = o.h / 2, q = kOutputs * o.w, first = 2 * kOutputs * (o.h * order.width + o.w);
    const auto chosen = load_packet<kOutputs>(indices.at(o.n, o.c, p, q));
    const auto grads = load_widened<kOutputs>(g.at(o.n, o.c, p, q));
    Packet<Widened<T>, 2 * kOutputs> row;
#pragma unroll
    for (int k = 0; k < 2 * kOutputs; ++k)
      row.value[k] = chosen.value[k / 2] == first + k ? grads.value[k / 2] : 0;
    store_rounded(gx.at(o.n, o.c, o.h, 2 * q), row);
  });
}

// ---- avg_pool2d

template <class Int>
struct Average {
  PoolWindow<Int> pool;
  bool count_padding;
  int64_t fixed_divisor;  // 0: none

  template <class T>
  __device__ __forceinline__ T divisor(Int p, Int q) const {
    if (fixed_divisor != 0) return static_cast<T>(fixed_divisor);
    const int64_t rows = pool.rows.count(p, count_padding);
    return static_cast<T>(rows * pool.cols.count(q, count_padding));
  }
};

template <class T, int kWidth, int kTaps, class Int>
__global__ void __launch_bounds__(kBlock) avg_pool(Images<T, Int> y, Images<const T, Int> x,
                                                   Average<Int> average, PixelOrder<Int> order) {
  begin_kernel();
  for_each_pixel(order, [&](const Pixel<Int>& o) {
    Packet<Widened<T>, kWidth> sum = {};
    for_each_cell<kTaps>(
        average.pool.rows.taps(o.h), average.pool.cols.taps(o.w),
        [&](Int h, Int w) { return load_packet<kWidth>(x.at(o.n, o.c, h, w)); },
        [&](Int, Int, const Packet<T, kWidth>& stored) {
          const Packet<Widened<T>, kWidth> values = widened(stored);
#pragma unroll
          for (int v = 0; v < kWidth; ++v) sum.value[v] += values.value[v];
        });
    const auto divisor = average.template divisor<Widened<T>>(o.h, o.w);
#pragma unroll
    for (int v = 0; v < kWidth; ++v) sum.value[v] /= divisor;
    store_rounded(y.at(o.n, o.c, o.h, o.w), sum);
  });
}

// Of large windows: `team` neighbouring threads of a block have one together, and their sums are
// merged in a fixed order.
template <class T, int kWidth, class Int>
__global__ void __launch_bounds__(kBlock)
    avg_pool_by_teams(Images<T, Int> y, Images<const T, Int> x, Average<Int> average,
                      PixelOrder<Int> order, int team) {
  begin_kernel();
  const int rank = static_cast<int>(threadIdx.x) & (team - 1);
  const auto i =
      static_cast<std::make_unsigned_t<Int>>(blockIdx.x) * (kBlock / team) + threadIdx.x / team;
  const bool exists = i < order.count;
  const Pixel<Int> o = order.at(exists ? i : 0);
  const Range<Int> rows = average.pool.rows.taps(o.h), cols = average.pool.cols.taps(o.w);
  const Int width = cols.end - cols.first;
  Packet<Widened<T>, kWidth> sum = {};
  if (exists && width > 0) {
    const Int down = team / width, right = team % width;
    Int h = rows.first + rank / width, w = cols.first + rank % width;
#pragma unroll 4
    for (; h < rows.end; h += down) {
      const auto values = load_widened<kWidth>(x.at(o.n, o.c, h, w));
#pragma unroll
      for (int v = 0; v < kWidth; ++v) sum.value[v] += values.value[v];
      w += right;
      if (w >= cols.end) w -= width, ++h;
    }
  }
  const auto divisor = average.template divisor<Widened<T>>(o.h, o.w);
#pragma unroll
  for (int v = 0; v < kWidth; ++v) {
    const Widened<T> one =
        team == kBlock ? team_sum<kBlock>(sum.value[v]) : team_sum<kWarp>(sum.value[v]);
    sum.value[v] = one / divisor;
  }
  if (exists && rank == 0) store_rounded(y.at(o.n, o.c, o.h, o.w), sum);
}

template <class T, int kWidth, int kOverlap, class Int>
__global__ void __launch_bounds__(kBlock)
    avg_pool_backward(Images<T, Int> gx, Images<const T, Int> g, Average<Int> average,
                      PixelOrder<Int> order) {
  begin_kernel();
  for_each_pixel(order, [&](const Pixel<Int>& o) {
    Packet<Widened<T>, kWidth> sum = {};
    for_each_cell<kOverlap>(
        average.pool.rows.windows(o.h), average.pool.cols.windows(o.w),
        [&](Int p, Int q) { return load_packet<kWidth>(g.at(o.n, o.c, p, q)); },
        [&](Int p, Int q, const Packet<T, kWidth>& stored) {
          const Packet<Widened<T>, kWidth> values = widened(stored);
          const auto divisor = average.template divisor<Widened<T>>(p, q);
#pragma unroll
          for (int v = 0; v < kWidth; ++v) sum.value[v] += values.value[v] / divisor;
        });
    store_rounded(gx.at(o.n, o.c, o.h, o.w), sum);
  });
}

// ---- launches

struct Extents {
  Extent rows, cols;

  // Of a call that leads from x to y.
  template <class Call>
  Extents(const Call& call, const dt_view& x, const dt_view& y, const int64_t (&dilation)[2])
      : rows{x.sizes[2],     y.sizes[2],      call.kernel_size[0],
             call.stride[0], call.padding[0], dilation[0]},
        cols{x.sizes[3],     y.sizes[3],      call.kernel_size[1],
             call.stride[1], call.padding[1], dilation[1]} {}

  template <class Int>
  PoolWindow<Int> pool() const {
    return {PoolDim<Int>(rows), PoolDim<Int>(cols)};
  }
  // Whether 32 bits do for coordinates.
  bool is_small() const {
    constexpr int64_t kLimit = int64_t{1} << 29;
    return rows.is_below(kLimit) && cols.is_below(kLimit);
  }
  // The taps of square windows, and how many of them overlap; 0 where that is not one number.
  int64_t taps() const { return rows.kernel == cols.kernel ? rows.kernel : 0; }
  int64_t overlap() const { return rows.overlap() == cols.overlap() ? rows.overlap() : 0; }
};

template <class Int, class Call>
Average<Int> make_average(const Extents& extents, const Call& call) {
  return {extents.pool<Int>(), call.count_include_pad, call.divisor_override};
}

// f(packet width, the most cells of a side if it is kFirst or kSecond, else 0, kind of integer).
template <class T, int kFirst, int kSecond, class F>
int32_t visit(bool small, bool packets, int64_t most, const F& f) {
  if (!small) return f(Count<1>(), Count<0>(), int64_t());
  const auto with = [&](auto width) {
    if constexpr (std::is_same_v<Widened<T>, float>) {
      if (most == kFirst) return f(width, Count<kFirst>(), int32_t());
      if (most == kSecond) return f(width, Count<kSecond>(), int32_t());
    }
    return f(width, Count<0>(), int32_t());
  };
  if constexpr (std::is_floating_point_v<Widened<T>>) {
    if (packets) return with(Count<kPacketWidth<T>>());
  }
  return with(Count<1>());
}

// Whether neighbouring channels of all views can be moved together.
template <class T>
bool have_channel_packets(const dt_view& a, const dt_view& b) {
  constexpr int kWidth = kPacketWidth<T>;
  return has_channel_packets(a, kWidth, sizeof(T)) && has_channel_packets(b, kWidth, sizeof(T));
}

template <class T>
bool have_channel_packets(const dt_view& a, const dt_view& b, const dt_view& indices) {
  return have_channel_packets<T>(a, b) &&
         has_channel_packets(indices, kPacketWidth<T>, sizeof(int64_t));
}

// How many of the usual windows a thread can take at once; 0: these are other windows.
int outputs_at_once(const Extents& extents, const dt_view& x, const dt_view& y,
                    const dt_view& indices) {
  const Extent &rows = extents.rows, &cols = extents.cols;
  if (!rows.halves() || !cols.halves() || 2 * cols.out != cols.in) return 0;
  const int64_t bytes = bytes_of(x.dtype);
  for (int outputs : {2, 1}) {
    if (has_row_packets(x, 2 * outputs, bytes) && has_row_packets(y, outputs, bytes) &&
        has_row_packets(indices, outputs, sizeof(int64_t)))
      return outputs;
  }
  return 0;
}

// Several rows a thread, if threads enough remain to keep the device busy.
template <class Int>
PixelOrder<Int> order_of(const dt_stream* stream, const dt_view& v, int packet) {
  constexpr int kRows = 4, kResident = 2048;
  const int64_t threads = numel(v) / packet / kRows;
  const bool many = threads >= int64_t{kResident} * multiprocessors(stream->device);
  return PixelOrder<Int>(v, packet, many ? kRows : 1);
}

// The order of groups of `together` neighbouring elements of a row.
PixelOrder<int32_t> group_order(const dt_stream* stream, const dt_view& v, int together) {
  dt_view groups = v;
  groups.sizes[3] /= together;
  groups.strides[3] = 1;
  return order_of<int32_t>(stream, groups, 1);
}

template <class Index>
unsigned blocks_for(Index threads) {
  return static_cast<unsigned>(divide_up(static_cast<int64_t>(threads), kBlock));
}

template <class T>
int32_t run_max_pool(const dt_stream* stream, const calls::MaxPool2d& call) {
  const dt_view &y = call.y, &indices = call.indices, &x = call.x;
  const Extents extents(call, x, y, call.dilation);
  const bool small = is_small(x) && is_small(y) && is_small(indices) && extents.is_small();
  if (const int outputs = small ? outputs_at_once(extents, x, y, indices) : 0) {
    const PixelOrder<int32_t> order = group_order(stream, y, outputs);
    return launch(stream, outputs == 2 ? halve<T, 2> : halve<T, 1>, blocks_for(order.count), kBlock,
                  0, Images<T, int32_t>(y), Images<int64_t, int32_t>(indices),
                  Images<const T, int32_t>(x), order);
  }
  const bool packets = have_channel_packets<T>(x, y, indices);
  return visit<T, 2, 3>(small, packets, extents.taps(), [&](auto width, auto taps, auto integer) {
    using Int = decltype(integer);
    constexpr int kWidth = decltype(width)::value, kTaps = decltype(taps)::value;
    const PixelOrder<Int> order = order_of<Int>(stream, y, kWidth);
    return launch(stream, max_pool<T, kWidth, kTaps, Int>, blocks_for(order.count), kBlock, 0,
                  Images<T, Int>(y), Images<int64_t, Int>(indices), Images<const T, Int>(x),
                  extents.pool<Int>(), order);
  });
}

template <class T>
int32_t run_max_pool_backward(const dt_stream* stream, const calls::MaxPool2dBackward& call) {
  const dt_view &gx = call.gx, &g = call.g, &indices = call.indices;
  const Extents extents(call, gx, g, call.dilation);
  const bool small = is_small(gx) && is_small(g) && is_small(indices) && extents.is_small();
  const int outputs = small ? outputs_at_once(extents, gx, g, indices) : 0;
  if (outputs && 2 * extents.rows.out == extents.rows.in) {
    const PixelOrder<int32_t> order = group_order(stream, gx, 2 * outputs);
    return launch(stream, outputs == 2 ? halve_backward<T, 2> : halve_backward<T, 1>,
                  blocks_for(order.count), kBlock, 0, Images<T, int32_t>(gx),
                  Images<const T, int32_t>(g), Images<const int64_t, int32_t>(indices), order);
  }
  const bool packets = have_channel_packets<T>(gx, g, indices);
  return visit<T, 1, 2>(
      small, packets, extents.overlap(), [&](auto width, auto most, auto integer) {
        using Int = decltype(integer);
        constexpr int kWidth = decltype(width)::value, kOverlap = decltype(most)::value;
        const PixelOrder<Int> order = order_of<Int>(stream, gx, kWidth);
        return launch(stream, max_pool_backward<T, kWidth, kOverlap, Int>, blocks_for(order.count),
                      kBlock, 0, Images<T, Int>(gx), Images<const T, Int>(g),
                      Images<const int64_t, Int>(indices), extents.pool<Int>(), order);
      });
}

// How many threads should have a window together: more than one where windows are so large, and so
// few, that too little would be on its way from memory, or that it would come in pieces.
int team_of(const dt_stream* stream, const Extents& extents, int64_t windows) {
  constexpr int64_t kLarge = 128, kLargest = 8192;  // elements
  const int64_t elements = extents.rows.kernel * extents.cols.kernel;
  const int64_t resident = int64_t{2048} * multiprocessors(stream->device);
  if (elements < kLarge || windows > resident) return 1;
  return elements >= kLargest && windows * kWarp < resident ? kBlock : kWarp;
}

template <class T>
int32_t run_avg_pool(const dt_stream* stream, const calls::AvgPool2d& call) {
  const dt_view &y = call.y, &x = call.x;
  const Extents extents(call, x, y, {1, 1});
  const bool small = is_small(x) && is_small(y) && extents.is_small();
  const bool packets = have_channel_packets<T>(x, y);
  const int team = team_of(stream, extents, numel(y));
  if (team > 1) {
    return visit<T, 0, 0>(small, packets, 0, [&](auto width, auto, auto integer) {
      using Int = decltype(integer);
      constexpr int kWidth = decltype(width)::value;
      const PixelOrder<Int> order(y, kWidth, 1);
      return launch(stream, avg_pool_by_teams<T, kWidth, Int>, blocks_for(order.count * team),
                    kBlock, 0, Images<T, Int>(y), Images<const T, Int>(x),
                    make_average<Int>(extents, call), order, team);
    });
  }
  return visit<T, 2, 3>(small, packets, extents.taps(), [&](auto width, auto taps, auto integer) {
    using Int = decltype(integer);
    constexpr int kWidth = decltype(width)::value, kTaps = decltype(taps)::value;
    const PixelOrder<Int> order = order_of<Int>(stream, y, kWidth);
    return launch(stream, avg_pool<T, kWidth, kTaps, Int>, blocks_for(order.count), kBlock, 0,
                  Images<T, Int>(y), Images<const T, Int>(x), make_average<Int>(extents, call),
                  order);
  });
}

template <class T>
int32_t run_avg_pool_backward(const dt_stream* stream, const calls::AvgPool2dBackward& call) {
  const dt_view &gx = call.gx, &g = call.g;
  const Extents extents(call, gx, g, {1, 1});
  const bool small = is_small(gx) && is_small(g) && extents.is_small();
  const bool packets = have_channel_packets<T>(gx, g);
  return visit<T, 1, 2>(
      small, packets, extents.overlap(), [&](auto width, auto most, auto integer) {
        using Int = decltype(integer);
        constexpr int kWidth = decltype(width)::value, kOverlap = decltype(most)::value;
        const PixelOrder<Int> order = order_of<Int>(stream, gx, kWidth);
        return launch(stream, avg_pool_backward<T, kWidth, kOverlap, Int>, blocks_for(order.count),
                      kBlock, 0, Images<T, Int>(gx), Images<const T, Int>(g),
                      make_average<Int>(extents, call), order);
      });
}

}  // namespace

int32_t kernels::max_pool2d(const dt_stream* stream, const calls::MaxPool2d& call) {
  return visit_stored_number(call.y.dtype, [&](auto type) {
    return run_max_pool<typename decltype(type)::type>(stream, call);
  });
}

int32_t kernels::max_pool2d_backward(const dt_stream* stream,
                                     const calls::MaxPool2dBackward& call) {
  return visit_stored_floating(call.gx.dtype, [&](auto type) {
    return run_max_pool_backward<typename decltype(type)::type>(stream, call);
  });
}

int32_t kernels::avg_pool2d(const dt_stream* stream, const calls::AvgPool2d& call) {
  return visit_stored_floating(call.y.dtype, [&](auto type) {
    return run_avg_pool<typename decltype(type)::type>(stream, call);
  });
}

int32_t kernels::avg_pool2d_backward(const dt_stream* stream,
                                     const calls::AvgPool2dBackward& call) {
  return visit_stored_floating(call.gx.dtype, [&](auto type) {
    return run_avg_pool_backward<typename decltype(type)::type>(stream, call);
  });
}

}  // namespace dt::cuda
