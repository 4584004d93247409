// Average pooling and its gradient.
#pragma once

#include "kernels/cpu/pool_max.h"

namespace dt::cpu {
namespace {

struct AveragePool {
  PoolWindow pool;
  bool count_padding;
  int64_t fixed_divisor;  // 0: none

  template <class Call>
  AveragePool(const Call& call, const dt_view& x, const dt_view& y)
      : pool(make_window(call, x, y, {1, 1})),
        count_padding(call.count_include_pad),
        fixed_divisor(call.divisor_override) {}

  // How many elements of a window count, in one dimension. Elements beyond the padding never do.
  int64_t extent(const PoolDim& d, int64_t i) const {
    const int64_t start = d.start(i), end = min(start + d.kernel, d.in + d.padding);
    return count_padding ? end - start : min(end, d.in) - max<int64_t>(start, 0);
  }
  int64_t divisor(int64_t p, int64_t q) const {
    return fixed_divisor != 0 ? fixed_divisor : extent(pool.rows, p) * extent(pool.cols, q);
  }
};

template <class T>
struct AveragePoolForward {
  AveragePool average;
  Images<const T> x;
  Images<T> y;

  template <int kWidth>
  void add_windows(const T* corner, int64_t step, const Taps& taps, T* sums) const {
    for (int64_t r = taps.row_begin; r < taps.row_end; ++r) {
      for (int64_t s = taps.col_begin; s < taps.col_end; ++s) {
        const T* from = corner + r * x.h_step + s * x.w_step;
        for (int i = 0; i < kWidth; ++i) sums[i] += from[i * step];
      }
    }
  }

  void line(int64_t n, int64_t c, int64_t channels, int64_t p, int64_t q, int64_t count) const {
    const PoolWindow& pool = average.pool;
    const Taps taps = taps_of(pool, p, q);
    const T divisor = static_cast<T>(average.divisor(p, q));
    const bool along_channels = channels_last(x);
    const int64_t step = along_channels ? 1 : pool.cols.stride * x.w_step;
    const int64_t y_step = along_channels ? y.c_step : y.w_step;
    const T* corner = x.at(n, c, pool.rows.start(p), pool.cols.start(q));
    T* to = y.at(n, c, p, q);
    cover<16>(channels * count, [&](int64_t first, auto width) {
      constexpr int kWidth = decltype(width)::value;
      T sums[kWidth] = {};
      if (step == 1) {
        add_windows<kWidth>(corner + first, 1, taps, sums);
      } else if (step == 2) {
        add_windows<kWidth>(corner + first * 2, 2, taps, sums);
      } else {
        add_windows<kWidth>(corner + first * step, step, taps, sums);
      }
      for (int i = 0; i < kWidth; ++i) to[(first + i) * y_step] = sums[i] / divisor;
    });
  }

  void piece(int64_t n, int64_t c, int64_t channels, int64_t first, int64_t last) const {
    for (int64_t p = first; p < last; ++p) {
      for_each_line(average.pool.cols, channels_last(x), c, channels,
                    [&](int64_t k, int64_t k_count, int64_t q, int64_t count) {
                      line(n, k, k_count, p, q, count);
                    });
    }
  }
};

template <class T>
void run_average_pool(const dt_stream* stream, const calls::AvgPool2d& call) {
  const AveragePoolForward<T> a = {AveragePool(call, call.x, call.y), images<const T>(call.x),
                                   images<T>(call.y)};
  const int64_t taps = call.kernel_size[0] * call.kernel_size[1];
  const int64_t cycles = a.y.n * a.y.c * a.y.h * a.y.w * (taps + 4) / 4;
  for_each_piece(stream, a.y.n, a.y.c, channels_last(a.x), a.y.h, true, cycles,
                 [&](int64_t n, int64_t c, int64_t channels, int64_t first, int64_t last) {
                   a.piece(n, c, channels, first, last);
                 });
}

template <class T>
struct AveragePoolBackward {
  AveragePool average;
  Images<const T> g;
  Images<T> gx;

  // Every element of the windows of `count` outputs gets its share of their gradients.
  void line(int64_t n, int64_t c, int64_t channels, int64_t p, int64_t q, int64_t count) const {
    const PoolWindow& pool = average.pool;
    const Taps taps = taps_of(pool, p, q);
    const T divisor = static_cast<T>(average.divisor(p, q));
    const bool along_channels = channels_last(gx);
    const int64_t step = along_channels ? 1 : pool.cols.stride * gx.w_step;
    const int64_t g_step = along_channels ? g.c_step : g.w_step;
    const T* from = g.at(n, c, p, q);
    T* corner = gx.at(n, c, pool.rows.start(p), pool.cols.start(q));
    for (int64_t r = taps.row_begin; r < taps.row_end; ++r) {
      for (int64_t s = taps.col_begin; s < taps.col_end; ++s) {
        T* to = corner + r * gx.h_step + s * gx.w_step;
        if (step == 1 && g_step == 1) {
          for (int64_t i = 0; i < channels * count; ++i) to[i] += from[i] / divisor;
        } else {
          for (int64_t i = 0; i < channels * count; ++i) to[i * step] += from[i * g_step] / divisor;
        }
      }
    }
  }

  void piece(int64_t n, int64_t c, int64_t channels) const {
    clear_planes(gx, n, c, channels);
    for (int64_t p = 0; p < g.h; ++p) {
      for_each_line(average.pool.cols, channels_last(gx), c, channels,
                    [&](int64_t k, int64_t k_count, int64_t q, int64_t count) {
                      line(n, k, k_count, p, q, count);
                    });
    }
  }
};

template <class T>
void run_average_pool_backward(const dt_stream* stream, const calls::AvgPool2dBackward& call) {
  const AveragePoolBackward<T> a = {AveragePool(call, call.gx, call.g), images<const T>(call.g),
                                    images<T>(call.gx)};
  const int64_t taps = call.kernel_size[0] * call.kernel_size[1];
  const int64_t cycles = a.gx.n * a.gx.c * (a.gx.h * a.gx.w + a.g.h * a.g.w * taps) / 4;
  for_each_piece(
      stream, a.gx.n, a.gx.c, channels_last(a.gx), 1, false, cycles,
      [&](int64_t n, int64_t c, int64_t channels, int64_t, int64_t) { a.piece(n, c, channels); });
}

}  // namespace
}  // namespace dt::cpu
