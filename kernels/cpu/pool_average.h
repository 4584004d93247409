// Average pooling and its gradient.
#pragma once

#include "kernels/cpu/pool_max.h"
#include "kernels/cpu/simd.h"

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

  // Whether there are windows, and they cover the images.
  bool covers() const {
    return pool.rows.is_cover() && pool.cols.is_cover() && pool.rows.out > 0 && pool.cols.out > 0;
  }

  // How many elements of a window count, in one dimension. Elements beyond the padding never do.
  int64_t extent(const PoolDim& d, int64_t i) const {
    if (d.is_cover()) return d.last_tap(i);
    const int64_t start = d.start(i), end = min(start + d.kernel, d.in + d.padding);
    return count_padding ? end - start : min(end, d.in) - max<int64_t>(start, 0);
  }
  int64_t divisor(int64_t p, int64_t q) const {
    return fixed_divisor != 0 ? fixed_divisor : extent(pool.rows, p) * extent(pool.cols, q);
  }
};

constexpr int64_t kBand = 512;  // columns of windows that cover an image which are at hand at once

template <class T>
struct AveragePoolForward {
  AveragePool average;
  Images<const T> x;
  Images<T> y;

  // Sums of neighbouring columns over the rows of a window. Those of one row are the row itself.
  struct Columns {
    const T* sums;
    int64_t left, right;
    T buffer[kBand];

    void add_up(const T* from, int64_t h_step, int64_t height) {
      const int64_t width = right - left;
      __builtin_memcpy(buffer, from, static_cast<size_t>(width) * sizeof(T));
      reduce_rows<Sum<T>>(buffer, from + h_step, h_step, height - 1, width);
      sums = buffer;
    }
  };

  // An output row of windows that cover a plane of dense rows: sums along the columns, and of those
  // along the rows.
  void cover_row(int64_t n, int64_t c, int64_t p, const CoverWalk& row) const {
    const int64_t height = row.end() - row.begin();
    Columns columns;
    columns.sums = x.at(n, c, row.begin(), 0);
    columns.left = 0, columns.right = height == 1 ? x.w : 0;
    T* to = y.at(n, c, p, 0);
    CoverWalk col(average.pool.cols, 0);
    for (int64_t q = 0; q < y.w; ++q, col.next(), to += y.w_step) {
      const int64_t end = col.end();
      T sum = 0;
      for (int64_t at = col.begin(), stop; at < end; at = stop) {
        stop = height == 1 ? end : min(end, at + kBand);
        if (stop > columns.right) {
          columns.left = at, columns.right = min(x.w, at + kBand);
          columns.add_up(x.at(n, c, row.begin(), at), x.h_step, height);
        }
        sum += reduce_span<Sum<T>>(columns.sums + at - columns.left, stop - at);
      }
      *to = sum / static_cast<T>(height * (end - col.begin()));
    }
  }

  // The means of kVectors vectors of windows that begin side by side, or of the first `count`.
  template <int kVectors, bool kWhole>
  void dense_means(const T* corner, const SharedTaps& taps, T divisor, T* to, int64_t count) const {
    Vector<T> sums[kVectors] = {};
    for (int64_t r = taps.row_begin; r < taps.row_end; ++r) {
      const T* from = corner + r * x.h_step + taps.col_begin * x.w_step;
      for (int64_t s = taps.col_begin; s < taps.col_end; ++s, from += x.w_step) {
        DT_UNROLL
        for (int k = 0; k < kVectors; ++k)
          sums[k] += kWhole ? load(from + k * kLanes<T>) : load_first(from, count);
      }
    }
    if (!kWhole) return store_few(to, sums[0] / divisor, count);
    DT_UNROLL
    for (int k = 0; k < kVectors; ++k) store(to + k * kLanes<T>, sums[k] / divisor);
  }

  void dense_line(const T* corner, const SharedTaps& taps, T divisor, T* to, int64_t count) const {
    constexpr int64_t kAll = kLanes<T>;
    int64_t i = 0;
    for (; i + 4 * kAll <= count; i += 4 * kAll)
      dense_means<4, true>(corner + i, taps, divisor, to + i, kAll);
    for (; i + kAll <= count; i += kAll)
      dense_means<1, true>(corner + i, taps, divisor, to + i, kAll);
    if (i < count) dense_means<1, false>(corner + i, taps, divisor, to + i, count - i);
  }

  // kStep: how far windows lie apart, if that is known to the compiler, or 0.
  template <int kMost, int kStep>
  void strided_line(const T* corner, int64_t step, const SharedTaps& taps, T divisor, T* to,
                    int64_t y_step, int64_t count) const {
    if (kStep) step = kStep;
    cover<kMost>(count, [&](int64_t first, auto width) {
      constexpr int kWidth = decltype(width)::value;
      T sums[kWidth] = {};
      for (int64_t r = taps.row_begin; r < taps.row_end; ++r) {
        for (int64_t s = taps.col_begin; s < taps.col_end; ++s) {
          const T* from = corner + first * step + r * x.h_step + s * x.w_step;
          for (int i = 0; i < kWidth; ++i) sums[i] += from[i * step];
        }
      }
      for (int i = 0; i < kWidth; ++i) to[(first + i) * y_step] = sums[i] / divisor;
    });
  }

  void line(int64_t n, int64_t c, int64_t channels, int64_t p, int64_t q, int64_t count) const {
    const PoolWindow& pool = average.pool;
    const SharedTaps taps = taps_of(pool, p, q);
    const T divisor = static_cast<T>(average.divisor(p, q));
    const bool along_channels = channels_last(x);
    const int64_t step = along_channels ? 1 : pool.cols.stride * x.w_step;
    const int64_t y_step = along_channels ? y.c_step : y.w_step;
    const T* corner = x.at(n, c, pool.rows.start(p), pool.cols.start(q));
    T* to = y.at(n, c, p, q);
    count *= channels;
    if (step == 1 && y_step == 1) return dense_line(corner, taps, divisor, to, count);
    if (step == 2) return strided_line<16, 2>(corner, 2, taps, divisor, to, y_step, count);
    strided_line<4, 0>(corner, step, taps, divisor, to, y_step, count);
  }

  void piece(int64_t n, int64_t c, int64_t channels, int64_t first, int64_t last) const {
    if (average.covers() && !channels_last(x) && x.w_step == 1) {
      CoverWalk row(average.pool.rows, first);
      for (int64_t p = first; p < last; ++p, row.next()) cover_row(n, c, p, row);
      return;
    }
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

  // Puts value(i) into y[i], i in [begin, end); adds it before `done`, where windows before have
  // put theirs.
  template <class Value>
  static void put(T* y, int64_t begin, int64_t end, int64_t done, const Value& value) {
    for (; begin < min(done, end); ++begin) y[begin] += value(begin);
    for (; begin < end; ++begin) y[begin] = value(begin);
  }

  // Columns [left, right) of the gradient of a plane of dense rows that windows cover: a window
  // row's shares are the same in all rows of it.
  void cover_columns(int64_t n, int64_t c, int64_t left, int64_t right) const {
    const int64_t width = right - left;
    const int64_t first = left * g.w / gx.w, last = ceil_div(right * g.w, gx.w);
    CoverWalk row(average.pool.rows, 0);
    const CoverWalk first_col(average.pool.cols, first);
    int64_t done = 0;
    for (int64_t p = 0; p < g.h; ++p, row.next()) {
      const int64_t height = row.end() - row.begin();
      T shares[kBand];
      CoverWalk col = first_col;
      int64_t shared = 0;
      for (int64_t q = first; q < last; ++q, col.next()) {
        const int64_t elements = height * (col.end() - col.begin());
        const T share = *g.at(n, c, p, q) / static_cast<T>(elements);
        const int64_t end = min(col.end() - left, width);
        put(shares, max<int64_t>(col.begin() - left, 0), end, shared,
            [=](int64_t) { return share; });
        shared = end;
      }
      for (int64_t h = row.begin(); h < row.end(); ++h) {
        put(gx.at(n, c, h, left), 0, width, h < done ? width : 0,
            [&](int64_t i) { return shares[i]; });
      }
      done = row.end();
    }
  }

  // Every element of the windows of `count` outputs gets its share of their gradients.
  void line(int64_t n, int64_t c, int64_t channels, int64_t p, int64_t q, int64_t count) const {
    const PoolWindow& pool = average.pool;
    const SharedTaps taps = taps_of(pool, p, q);
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
    if (average.covers() && !channels_last(gx) && gx.w_step == 1) {
      for (int64_t left = 0; left < gx.w; left += kBand)
        cover_columns(n, c, left, min(gx.w, left + kBand));
      return;
    }
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
