// Maximum pooling and its gradient.
#pragma once

#include "kernels/calls/pool.gen.h"
#include "kernels/cpu/lanes.h"
#include "kernels/cpu/pool_window.h"

namespace dt::cpu {
namespace {

// What windows are compared in, narrow integers in int32, and a type of the same width for
// positions inside a window: then a comparison of vectors of one selects among vectors of the
// other.
template <class T>
struct MaxTypes {
  using Value = std::conditional_t<sizeof(T) < sizeof(int32_t), int32_t, T>;
  using Position = std::conditional_t<sizeof(T) == sizeof(int64_t), int64_t, int32_t>;
};

template <class T, int kWidth>
struct Lanes {
  typedef T type __attribute__((vector_size(sizeof(T) * kWidth)));
};

template <class T>
struct MaxPool {
  using Value = typename MaxTypes<T>::Value;
  using Position = typename MaxTypes<T>::Position;
  static constexpr int kWidest = kVectorBytes / sizeof(Value);
  static constexpr bool kNarrow = sizeof(T) == 4 && sizeof(Value) == 4;  // see every_second

  PoolWindow pool;
  Images<const T> x;
  Images<T> y;
  Images<int64_t> indices;
  bool halving = false, staged = false;

  template <int kWidth>
  struct Best {
    typename Lanes<Value, kWidth>::type value = {};
    typename Lanes<Position, kWidth>::type position = {};
  };

  // kWidth elements that lie `step` apart.
  template <int kWidth>
  static void gather(const T* from, int64_t step, typename Lanes<Value, kWidth>::type* value) {
    T elements[kWidth];
    for (int i = 0; i < kWidth; ++i) elements[i] = from[i * step];
    if constexpr (sizeof(T) == sizeof(Value)) {
      __builtin_memcpy(value, step == 1 ? from : elements, sizeof *value);
    } else {
      for (int i = 0; i < kWidth; ++i) (*value)[i] = elements[i];
    }
  }

  // Each second of 2 * kWidth elements, from the first (`odd` = 0) or the second on: as the halves
  // of integers of twice the width, which vectors narrow at once.
  template <int kWidth>
  static void every_second(const T* from, int odd, typename Lanes<Value, kWidth>::type* value) {
    typename Lanes<uint64_t, kWidth>::type pairs;
    __builtin_memcpy(&pairs, from, sizeof pairs);
    const auto halves =
        __builtin_convertvector(pairs >> 32 * odd, typename Lanes<uint32_t, kWidth>::type);
    __builtin_memcpy(value, &halves, sizeof *value);
  }

  // Whether windows lie so that `every_second` reads elements of the windows only.
  static bool has_pairs(int64_t step, const SharedTaps& taps) {
    return step == 2 && taps.col_end - taps.col_begin > 1;
  }

  // The largest of kWidth windows that begin `step` apart: the first element, then larger ones and
  // NaN. With kPairs the step is 2, and a tap is read together with its neighbour on the right or,
  // if it is the last one, on the left.
  template <int kWidth, bool kPairs>
  void largest(const T* corner, int64_t step, const SharedTaps& taps, Best<kWidth>* best) const {
    for (int64_t r = taps.row_begin; r < taps.row_end; ++r) {
      for (int64_t s = taps.col_begin; s < taps.col_end; ++s) {
        const T* from =
            corner + r * pool.rows.dilation * x.h_step + s * pool.cols.dilation * x.w_step;
        typename Lanes<Value, kWidth>::type value;
        if constexpr (kPairs) {
          const int odd = s + 1 == taps.col_end;
          every_second<kWidth>(from - odd, odd, &value);
        } else {
          gather<kWidth>(from, step, &value);
        }
        const auto where =
            static_cast<Position>(r * pool.rows.dilation * x.w + s * pool.cols.dilation) +
            typename Lanes<Position, kWidth>::type{};
        const bool first = r == taps.row_begin && s == taps.col_begin;
        const auto take = (value > best->value) | (value != value) | -static_cast<Position>(first);
        best->value = take ? value : best->value;
        best->position = take ? where : best->position;
      }
    }
  }

  // The same of one window. Larger elements are rare, so that branches are guessed right.
  void largest_alone(const T* corner, const SharedTaps& taps, Best<1>* best) const {
    const int64_t h_step = pool.rows.dilation * x.h_step, w_step = pool.cols.dilation * x.w_step;
    auto value = static_cast<Value>(corner[taps.row_begin * h_step + taps.col_begin * w_step]);
    int64_t row = taps.row_begin, col = taps.col_begin;
    for (int64_t r = taps.row_begin; r < taps.row_end; ++r) {
      const T* const from = corner + r * h_step;
      for (int64_t s = taps.col_begin; s < taps.col_end; ++s) {
        const auto next = static_cast<Value>(from[s * w_step]);
        if (next <= value) continue;
        if (next > value || next != next) value = next, row = r, col = s;
      }
    }
    best->value[0] = value;
    best->position[0] =
        static_cast<Position>(row * pool.rows.dilation * x.w + col * pool.cols.dilation);
  }

  template <int kWidth>
  void find_largest(const T* corner, int64_t step, const SharedTaps& taps,
                    Best<kWidth>* best) const {
    if constexpr (kWidth == 1) {
      if (taps.row_begin < taps.row_end && taps.col_begin < taps.col_end)
        largest_alone(corner, taps, best);
      return;
    }
    if constexpr (kNarrow) {
      if (has_pairs(step, taps)) return largest<kWidth, true>(corner, 2, taps, best);
    }
    if (step == 1) return largest<kWidth, false>(corner, 1, taps, best);
    largest<kWidth, false>(corner, step, taps, best);
  }

  // Writes what `largest` found; with kDense the results lie side by side.
  template <int kWidth, bool kDense>
  static void write(const Best<kWidth>& best, T* to, int64_t y_step, int64_t* index,
                    int64_t index_step, int64_t origin, int64_t next) {
    Value value[kWidth];
    Position position[kWidth];
    __builtin_memcpy(value, &best.value, sizeof value);
    __builtin_memcpy(position, &best.position, sizeof position);
    if (kDense) y_step = index_step = 1;
    for (int i = 0; i < kWidth; ++i) to[i * y_step] = static_cast<T>(value[i]);
    for (int i = 0; i < kWidth; ++i) index[i * index_step] = origin + i * next + position[i];
  }

  template <int kWidth>
  void block(const T* corner, const SharedTaps& taps, int64_t n, int64_t c, int64_t p,
             int64_t q) const {
    const bool along_channels = channels_last(x);
    const int64_t step = along_channels ? 1 : pool.cols.stride * x.w_step;
    Best<kWidth> best;
    find_largest<kWidth>(corner, step, taps, &best);
    const int64_t y_step = along_channels ? y.c_step : y.w_step;
    const int64_t index_step = along_channels ? indices.c_step : indices.w_step;
    int64_t origin = pool.rows.start(p) * x.w + pool.cols.start(q),
            next = along_channels ? 0 : pool.cols.stride;
    if (taps.row_begin >= taps.row_end || taps.col_begin >= taps.col_end) {
      // Dilated taps may all lie in the padding, which never wins.
      best.value = best.value + Limits<Value>::kLowest;
      origin = -1, next = 0;
    }
    const auto put = y_step == 1 && index_step == 1 ? write<kWidth, true> : write<kWidth, false>;
    put(best, y.at(n, c, p, q), y_step, indices.at(n, c, p, q), index_step, origin, next);
  }

  // The usual windows, 2 x 2 side by side in dense rows, need no loops over taps.
  bool is_halving() const {
    const bool row_of_pairs =
        pool.cols.dilation == 1 && x.w_step == 1 && y.w_step == 1 && indices.w_step == 1;
    return row_of_pairs && halves(pool.rows) && halves(pool.cols);
  }
  static bool halves(const PoolDim& d) {
    return d.kernel == 2 && d.stride == 2 && d.padding == 0 && d.inner_end() == d.out;
  }

  template <int kWidth>
  static void take(typename Lanes<Value, kWidth>::type value, int64_t position,
                   Best<kWidth>* best) {
    const auto larger = (value > best->value) | (value != value);
    best->value = larger ? value : best->value;
    best->position =
        larger ? typename Lanes<Position, kWidth>::type{} + static_cast<Position>(position)
               : best->position;
  }

  void halve_row(const T* above, int64_t below, int64_t origin, T* to, int64_t* index) const {
    cover<kWidest>(y.w, [&](int64_t q, auto width) {
      constexpr int kWidth = decltype(width)::value;
      typename Lanes<Value, kWidth>::type value;
      Best<kWidth> best;
      every_second<kWidth>(above + 2 * q, 0, &best.value);
      every_second<kWidth>(above + 2 * q, 1, &value);
      take<kWidth>(value, 1, &best);
      every_second<kWidth>(above + 2 * q + below, 0, &value);
      take<kWidth>(value, pool.rows.dilation * x.w, &best);
      every_second<kWidth>(above + 2 * q + below, 1, &value);
      take<kWidth>(value, pool.rows.dilation * x.w + 1, &best);
      write<kWidth, true>(best, to + q, 1, index + q, 1, origin + 2 * q, 2);
    });
  }

  void halve_rows(int64_t n, int64_t c, int64_t first, int64_t last) const {
    for (int64_t p = first; p < last; ++p) {
      halve_row(x.at(n, c, 2 * p, 0), pool.rows.dilation * x.h_step, 2 * p * x.w, y.at(n, c, p, 0),
                indices.at(n, c, p, 0));
    }
  }

  // Of small planes with borders the border is much of all: rows are copied with it, so that a
  // vector takes windows there as well.
  static constexpr int64_t kStage = 4096;  // elements
  static constexpr bool kStages = kNarrow && kIsFloating<T>;

  int64_t stage_width() const {
    return ceil_div(y.w, kWidest) * kWidest * pool.cols.stride + pool.cols.kernel;
  }
  bool is_staged() const {
    const bool has_rows = x.w_step == 1 && y.w_step == 1 && indices.w_step == 1;
    const bool steps = pool.cols.stride == 1 || pool.cols.stride == 2;
    const bool has_holes = pool.rows.dilation != 1 || pool.cols.dilation != 1;
    return kStages && !channels_last(x) && has_rows && steps && !has_holes &&
           pool.cols.padding > 0 && y.w <= 2 * kWidest && x.h * stage_width() <= kStage;
  }

  // Rows [top, bottom) of a plane.
  void fill_stage(int64_t n, int64_t c, int64_t top, int64_t bottom, T* stage) const {
    const int64_t width = stage_width(), padding = pool.cols.padding,
                  copied = min(x.w, width - padding);
    for (int64_t h = top; h < bottom; ++h, stage += width) {
      const T* from = x.at(n, c, h, 0);
      for (int64_t i = 0; i < padding; ++i) stage[i] = Limits<T>::kLowest;
      for (int64_t i = 0; i < copied; ++i) stage[padding + i] = from[i];
      for (int64_t i = padding + copied; i < width; ++i) stage[i] = Limits<T>::kLowest;
    }
  }

  // kWidest windows of output row p, whose first tap in the image is at `from`. Where no element is
  // larger than the lowest, the first one in the image is taken.
  void stage_block(const T* from, int64_t p, int64_t q, Best<kWidest>* best) const {
    const int64_t begin = pool.rows.first_tap(p), end = pool.rows.last_tap(p);
    Position position[kWidest];
    for (int i = 0; i < kWidest; ++i)
      position[i] = static_cast<Position>(begin * x.w + pool.cols.first_tap(q + i));
    __builtin_memcpy(&best->position, position, sizeof position);
    best->value = typename Lanes<Value, kWidest>::type{} + Limits<Value>::kLowest;
    for (int64_t r = begin; r < end; ++r, from += stage_width()) {
      for (int64_t s = 0; s < pool.cols.kernel; ++s) {
        typename Lanes<Value, kWidest>::type value;
        if (pool.cols.stride == 2) {
          every_second<kWidest>(from + s, 0, &value);
        } else {
          gather<kWidest>(from + s, 1, &value);
        }
        take<kWidest>(value, r * x.w + s, best);
      }
    }
  }

  void staged_rows(int64_t n, int64_t c, int64_t first, int64_t last) const {
    if (first >= last) return;
    T stage[kStage + 2 * kWidest];
    const int64_t top = max<int64_t>(0, pool.rows.start(first)), width = stage_width();
    fill_stage(n, c, top, min(x.h, pool.rows.start(last - 1) + pool.rows.kernel), stage);
    for (int64_t p = first; p < last; ++p) {
      const int64_t row = pool.rows.start(p) + pool.rows.first_tap(p) - top;
      for (int64_t q = 0; q < y.w; q += kWidest) {
        Best<kWidest> best;
        stage_block(stage + row * width + q * pool.cols.stride, p, q, &best);
        const int64_t origin = pool.rows.start(p) * x.w + pool.cols.start(q);
        T* const to = y.at(n, c, p, q);
        int64_t* const index = indices.at(n, c, p, q);
        for (int64_t i = 0; i < min<int64_t>(kWidest, y.w - q); ++i) {
          to[i] = static_cast<T>(best.value[i]);
          index[i] = origin + i * pool.cols.stride + best.position[i];
        }
      }
    }
  }

  void line(int64_t n, int64_t c, int64_t channels, int64_t p, int64_t q, int64_t count) const {
    const SharedTaps taps = taps_of(pool, p, q);
    const bool along_channels = channels_last(x);
    cover<kWidest>(channels * count, [&](int64_t first, auto width) {
      const int64_t channel = along_channels ? c + first : c,
                    column = along_channels ? q : q + first;
      const T* corner = x.at(n, channel, pool.rows.start(p), pool.cols.start(column));
      block<decltype(width)::value>(corner, taps, n, channel, p, column);
    });
  }

  void piece(int64_t n, int64_t c, int64_t channels, int64_t first, int64_t last) const {
    if constexpr (kNarrow) {
      if (halving && channels == 1) return halve_rows(n, c, first, last);
    }
    if constexpr (kStages) {
      if (staged && channels == 1) return staged_rows(n, c, first, last);
    }
    for (int64_t p = first; p < last; ++p) {
      for_each_line(pool.cols, channels_last(x), c, channels,
                    [&](int64_t k, int64_t k_count, int64_t q, int64_t count) {
                      line(n, k, k_count, p, q, count);
                    });
    }
  }
};

template <class T>
void run_max_pool(const dt_stream* stream, const calls::MaxPool2d& call) {
  MaxPool<T> m = {make_window(call, call.x, call.y, call.dilation), images<const T>(call.x),
                  images<T>(call.y), images<int64_t>(call.indices)};
  m.halving = m.is_halving();
  m.staged = m.is_staged();
  const int64_t cycles =
      m.y.n * m.y.c * m.y.h * m.y.w * (call.kernel_size[0] * call.kernel_size[1] + 2) / 2;
  for_each_piece(stream, m.y.n, m.y.c, channels_last(m.x), m.y.h, true, cycles,
                 [&](int64_t n, int64_t c, int64_t channels, int64_t first, int64_t last) {
                   m.piece(n, c, channels, first, last);
                 });
}

// Clears channels [c, c + channels) of image n.
template <class T>
void clear_planes(const Images<T>& gx, int64_t n, int64_t c, int64_t channels) {
  if (channels == 1 && gx.w_step == 1 && gx.h_step == gx.w)
    return fill_zero(gx.at(n, c, 0, 0), gx.h * gx.w);
  for (int64_t h = 0; h < gx.h; ++h) {
    for (int64_t w = 0; w < gx.w; ++w) {
      T* pixel = gx.at(n, c, h, w);
      for (int64_t k = 0; k < channels; ++k) pixel[k * gx.c_step] = 0;
    }
  }
}

template <class T>
struct MaxPoolBackward {
  Images<const T> g;
  Images<const int64_t> indices;
  Images<T> gx;

  // Adds the gradients of `count` outputs that lie g_step apart to their places in planes that lie
  // `plane_step` apart.
  void scatter(const T* from, int64_t g_step, const int64_t* index, int64_t index_step, T* plane,
               int64_t plane_step, int64_t count) const {
    if (gx.h_step == gx.w * gx.w_step) {
      for (int64_t i = 0; i < count; ++i) {
        const int64_t at = index[i * index_step];
        if (at >= 0) plane[i * plane_step + at * gx.w_step] += from[i * g_step];
      }
      return;
    }
    for (int64_t i = 0; i < count; ++i) {
      const int64_t at = index[i * index_step];
      if (at >= 0)
        plane[i * plane_step + at / gx.w * gx.h_step + at % gx.w * gx.w_step] += from[i * g_step];
    }
  }

  void piece(int64_t n, int64_t c, int64_t channels) const {
    clear_planes(gx, n, c, channels);
    for (int64_t p = 0; p < g.h; ++p) {
      if (channels == 1) {
        scatter(g.at(n, c, p, 0), g.w_step, indices.at(n, c, p, 0), indices.w_step,
                gx.at(n, c, 0, 0), 0, g.w);
        continue;
      }
      for (int64_t q = 0; q < g.w; ++q) {
        scatter(g.at(n, c, p, q), g.c_step, indices.at(n, c, p, q), indices.c_step,
                gx.at(n, c, 0, 0), gx.c_step, channels);
      }
    }
  }
};

template <class T>
void run_max_pool_backward(const dt_stream* stream, const calls::MaxPool2dBackward& call) {
  const MaxPoolBackward<T> m = {images<const T>(call.g), images<const int64_t>(call.indices),
                                images<T>(call.gx)};
  const int64_t cycles = m.gx.n * m.gx.c * (m.gx.h * m.gx.w / 8 + m.g.h * m.g.w * 4);
  for_each_piece(
      stream, m.gx.n, m.gx.c, channels_last(m.gx), 1, false, cycles,
      [&](int64_t n, int64_t c, int64_t channels, int64_t, int64_t) { m.piece(n, c, channels); });
}

}  // namespace
}  // namespace dt::cpu
