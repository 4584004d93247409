// The stage: a padded copy of a piece of a batch of images in which every element that a tap of the
// kernel reads for consecutive outputs lies consecutively, whatever the layout, padding, stride and
// dilation. The copy costs one pass over the piece, and each element is then read many times, from
// the second-level cache.
#pragma once

#include "kernels/cpu/conv_axis.h"
#include "kernels/cpu/simd.h"

namespace dt::cpu {
namespace {

// A batch of images [n, c, h, w] in any strides.
template <class T>
struct Images {
  T* data;
  int64_t n, c, h, w;                      // sizes
  int64_t n_step, c_step, h_step, w_step;  // strides

  T* at(int64_t in, int64_t ic, int64_t ih, int64_t iw) const {
    return data + in * n_step + ic * c_step + ih * h_step + iw * w_step;
  }
};

template <class T>
Images<T> images(const dt_view& v) {
  return {static_cast<T*>(v.data),
          v.sizes[0],
          v.sizes[1],
          v.sizes[2],
          v.sizes[3],
          v.strides[0],
          v.strides[1],
          v.strides[2],
          v.strides[3]};
}

// A stage is [channel][row lane][column lane][image][height][width]. Output position (image, i, j)
// of its piece has the number (image * height + i) * width + j, and the numbers of a tap's inputs
// differ from it by a constant: whole vectors of outputs can be computed across the ends of rows.
// What is computed for the halo is thrown away.
struct StageLayout {
  ConvAxis rows, cols;
  int64_t images, out_rows;  // the piece: so many images, or so many rows of one
  int64_t height, width, plane, channel;
  // Zeros behind the last image: its padding, and so that a vector may begin in it. Whole vectors.
  int64_t guard;

  int64_t image() const { return height * width; }
  int64_t number(int64_t in, int64_t i, int64_t j) const { return in * image() + i * width + j; }
  // One more than the number of the piece's last output.
  int64_t elements(int64_t image_count, int64_t row_count) const {
    return number(image_count - 1, row_count - 1, rows_width());
  }
  int64_t rows_width() const { return cols.out_count; }
  int64_t taps() const { return rows.taps * cols.taps; }
  int64_t lanes() const { return rows.lanes() * cols.lanes(); }
  int64_t tap_offset(int64_t row_tap, int64_t col_tap) const {
    const int64_t lane = row_tap % rows.lanes() * cols.lanes() + col_tap % cols.lanes();
    return lane * plane + (rows.reach(row_tap) - rows.first_reach()) * width + cols.reach(col_tap) -
           cols.first_reach();
  }
};

// With share_padding, zeros serve two rows at once, and two images if the stage holds whole ones:
// fewer numbers, but images of a round size may lose their alignment.
template <class T>
StageLayout stage_layout(const ConvAxis& rows, const ConvAxis& cols, int64_t images,
                         int64_t out_rows, bool share_padding) {
  const bool share_rows = share_padding && out_rows == rows.out_count;
  const int64_t shared_rows = share_rows ? rows.shared_padding() : 0;
  const int64_t shared_cols = share_padding ? cols.shared_padding() : 0;
  StageLayout s = {rows, cols, images, out_rows, 0, 0, 0, 0, 0};
  s.height = out_rows + rows.halo() - shared_rows;
  s.width = cols.out_count + cols.halo() - shared_cols;
  s.guard = ceil_div(shared_rows * s.width + shared_cols, kLanes<T>) * kLanes<T> + kLanes<T>;
  s.plane = images * s.height * s.width + s.guard;
  // An odd number of cache lines, or the channels would crowd into a few sets of the first-level
  // cache.
  constexpr int64_t kLine = 64 / sizeof(T);
  s.channel = (ceil_div(max<int64_t>(1, rows.lanes() * cols.lanes()) * s.plane, kLine) | 1) * kLine;
  return s;
}

// offset[c * taps + t]: how far in the stage the input of a channel and a tap lies from the
// output's number.
inline void list_offsets(const StageLayout& s, int64_t channels, int64_t* offset) {
  const int64_t taps = s.taps();
  for (int64_t r = 0; r < s.rows.taps; ++r) {
    for (int64_t q = 0; q < s.cols.taps; ++q, ++offset) {
      const int64_t of_tap = s.tap_offset(r, q);
      for (int64_t c = 0; c < channels; ++c) offset[c * taps] = c * s.channel + of_tap;
    }
  }
}

template <class T>
inline void fill_zero(T* y, int64_t count) {
  for (int64_t i = 0; i < count; ++i) y[i] = 0;
}

// Zeros in whole vectors: up to kLanes - 1 elements behind the end become zero too.
template <class T>
inline void fill_zero_and_beyond(T* y, int64_t count) {
  for (int64_t i = 0; i < count; i += kLanes<T>) store(y + i, Vector<T>{});
}

template <class T, size_t... kLane>
inline Vector<T> pick_lanes(Vector<T> low, Vector<T> high, std::index_sequence<kLane...>) {
  return __builtin_shufflevector(low, high, kLane...);
}

// kLanes elements of x, every second one. Nothing behind the last of them is read: the upper half
// is read from one element earlier, where the wanted ones lie in odd lanes.
template <class T, size_t... kLane>
inline Vector<T> load_every_second(const T* x, std::index_sequence<kLane...>) {
  constexpr size_t kHalf = kLanes<T> / 2;
  return pick_lanes<T>(load(x), load(x + kLanes<T> - 1),
                       std::index_sequence<(kLane < kHalf ? 2 * kLane : 2 * kLane + 1)...>());
}

// The same for fewer.
template <class T, size_t... kLane>
inline Vector<T> load_every_second(const T* x, int64_t count, std::index_sequence<kLane...>) {
  const int64_t reach = 2 * count - 1;
  const Vector<T> low = load_first(x, min<int64_t>(kLanes<T>, reach));
  const Vector<T> high = load_first(x + kLanes<T>, max<int64_t>(0, reach - kLanes<T>));
  return pick_lanes<T>(low, high, std::index_sequence<2 * kLane...>());
}

template <class T>
using AllLanes = std::make_index_sequence<kLanes<T>>;

// y[2 * i] = x[i]; the elements between them are written, too, as they are.
template <class T>
inline void write_every_second(T* y, const T* x, int64_t count) {
  using Small = typename SmallVector<T>::type;
  constexpr int64_t kSmall = 16 / sizeof(T);
  int64_t i = 0;
  for (; i + kSmall < count; i += kSmall) {
    Small even, low, high;
    __builtin_memcpy(&even, x + i, sizeof(even));
    __builtin_memcpy(&low, y + 2 * i, sizeof(low));
    __builtin_memcpy(&high, y + 2 * i + kSmall, sizeof(high));
    low = replace_even(even, low, false), high = replace_even(even, high, true);
    __builtin_memcpy(y + 2 * i, &low, sizeof(low));
    __builtin_memcpy(y + 2 * i + kSmall, &high, sizeof(high));
  }
  for (; i < count; ++i) y[2 * i] = x[i];
}

// y[i * y_step] = x[i * x_step].
template <class T>
inline void copy_row(T* y, int64_t y_step, const T* x, int64_t x_step, int64_t count) {
  if (y_step == 1 && x_step == 2 && count >= kLanes<T>) {
    for (int64_t i = 0; i + kLanes<T> < count; i += kLanes<T>)
      store(y + i, load_every_second(x + 2 * i, AllLanes<T>()));
    store(y + count - kLanes<T>, load_every_second(x + 2 * (count - kLanes<T>), AllLanes<T>()));
  } else if (y_step == 1 && x_step == 2 && count > 0) {
    store_few(y, load_every_second(x, count, AllLanes<T>()), count);
  } else if (y_step != 1 || x_step != 1) {
    for (int64_t i = 0; i < count; ++i) y[i * y_step] = x[i * x_step];
  } else if (count < kLanes<T>) {
    store_first(y, load_first(x, count), count);
  } else {
    for (int64_t i = 0; i + kLanes<T> < count; i += kLanes<T>) store(y + i, load(x + i));
    store(y + count - kLanes<T>, load(x + count - kLanes<T>));
  }
}

// Which columns of a lane's rows lie inside the image: [begin, end), the first of them at input
// column `first`.
struct LaneColumns {
  int64_t begin, end, first;
};

inline LaneColumns lane_columns(const StageLayout& s, int64_t lane) {
  // Stage column u is input column u * in_step + origin.
  const ConvAxis& axis = s.cols;
  const int64_t origin = axis.first_reach() * axis.in_step + axis.residue(lane);
  const int64_t begin = min(s.width, max<int64_t>(0, -floor_div(origin, axis.in_step)));
  const int64_t end =
      max(begin, min(s.width, floor_div(axis.in_size - 1 - origin, axis.in_step) + 1));
  return {begin, end, origin + begin * axis.in_step};
}

// Rows of one channel, x_row apart: columns [begin, end) of y are x[i * step], the others 0. Rows
// are written in ascending order and in whole vectors, so what is written beyond the end of a row
// is mended by the next one or lies in the guard.
template <class T>
inline void stage_rows(T* y, int64_t begin, int64_t end, int64_t width, const T* x, int64_t step,
                       int64_t x_row, int64_t row_count) {
  if (step == 1 && width <= kLanes<T>) {
    for (int64_t u = 0; u < row_count; ++u)
      store(y + u * width, load_lanes(x + u * x_row - begin, begin, end));
    return;
  }
  for (int64_t u = 0; u < row_count; ++u, y += width, x += x_row) {
    if (step != 1) {
      fill_zero_and_beyond(y, begin);
      copy_row(y + begin, 1, x, step, end - begin);
      fill_zero_and_beyond(y + end, width - end);
      continue;
    }
    for (int64_t i = 0; i < width; i += kLanes<T>) {
      if (i >= begin && i + kLanes<T> <= end) {
        store(y + i, load(x + i - begin));
        continue;
      }
      const int64_t first = max<int64_t>(0, begin - i), last = min<int64_t>(kLanes<T>, end - i);
      store(y + i, first < last ? load_lanes(x + i - begin, first, last) : Vector<T>{});
    }
  }
}

// The same for several channels that are contiguous in x.
template <class T>
inline void stage_pixels(const StageLayout& s, int64_t channels, T* y, int64_t begin, int64_t end,
                         const T* x, int64_t step) {
  for (int64_t c = 0; c < channels; ++c) {
    fill_zero_and_beyond(y + c * s.channel, begin);
    fill_zero_and_beyond(y + c * s.channel + end, s.width - end);
  }
  copy_transposed(y + begin, s.channel, x, step, end - begin, channels);
}

// One image's plane of a pair of lanes, for `channels` channels, which are more than one only if
// they are contiguous in x. The first row of the plane is input row `first`; x points to input row
// 0 and to the first column that lies inside.
template <class T>
inline void stage_plane(const StageLayout& s, const LaneColumns& columns, const T* x,
                        int64_t h_step, int64_t w_step, int64_t channels, int64_t first, T* y) {
  const ConvAxis& axis = s.rows;
  // Rows [top, bottom) lie inside the image.
  const int64_t top = min(s.height, max<int64_t>(0, -floor_div(first, axis.in_step)));
  const int64_t bottom =
      max(top, min(s.height, floor_div(axis.in_size - 1 - first, axis.in_step) + 1));
  const int64_t step = s.cols.in_step * w_step, x_row = axis.in_step * h_step;
  const T* from = x + first * h_step + top * x_row;
  for (int64_t k = 0; k < channels; ++k) fill_zero_and_beyond(y + k * s.channel, top * s.width);
  if (channels == 1) {
    stage_rows(y + top * s.width, columns.begin, columns.end, s.width, from, step, x_row,
               bottom - top);
  } else {
    for (int64_t u = top; u < bottom; ++u, from += x_row) {
      stage_pixels(s, channels, y + u * s.width, columns.begin, columns.end, from, step);
    }
  }
  for (int64_t k = 0; k < channels; ++k) {
    fill_zero_and_beyond(y + k * s.channel + bottom * s.width, (s.height - bottom) * s.width);
  }
}

// Copies what outputs of images [n, n + n_count), from row first_row on, read of channels [c, c +
// c_count).
template <class T>
void fill_stage(const StageLayout& s, const Images<const T>& x, int64_t n, int64_t n_count,
                int64_t c, int64_t c_count, int64_t first_row, T* stage) {
  // With channels last all channels of a row are copied together, else channel by channel.
  const int64_t together = x.c_step == 1 && x.w_step != 1 ? c_count : 1;
  // The lanes of a channel lie in the same lines of x, which stay in the cache for a few channels.
  const int64_t few = max<int64_t>(together, 8);
  for (int64_t begin = 0; begin < c_count; begin += few) {
    for (int64_t lane = 0; lane < s.lanes(); ++lane) {
      const int64_t r = lane / s.cols.lanes(), q = lane % s.cols.lanes();
      const LaneColumns columns = lane_columns(s, q);
      const int64_t first = (first_row + s.rows.first_reach()) * s.rows.in_step + s.rows.residue(r);
      for (int64_t k = begin; k < min(c_count, begin + few); k += together) {
        T* plane = stage + k * s.channel + lane * s.plane;
        for (int64_t i = 0; i < n_count; ++i) {
          stage_plane(s, columns, x.at(n + i, c + k, 0, columns.first), x.h_step, x.w_step,
                      together, first, plane + i * s.image());
        }
        for (int64_t j = 0; j < together; ++j)
          fill_zero_and_beyond(plane + j * s.channel + n_count * s.image(), s.guard);
      }
    }
  }
}

// Copies rows of results, a stage's width apart, to adjacent rows of y in whole vectors: what is
// written beyond the end of a row is mended by the next one.
template <class T>
inline void pack_rows(const StageLayout& s, T* y, const T* x, int64_t row_count) {
  const int64_t count = s.cols.out_count;
  for (int64_t i = 0; i + 1 < row_count; ++i) {
    for (int64_t j = 0; j < count; j += kLanes<T>)
      store(y + i * count + j, load(x + i * s.width + j));
  }
  copy_row(y + (row_count - 1) * count, 1, x + (row_count - 1) * s.width, 1, count);
}

// Copies results, numbered as in the stage and `channel` apart, to rows [first_row, first_row +
// row_count) of y.
template <class T>
void write_results(const StageLayout& s, const T* results, int64_t channel, const Images<T>& y,
                   int64_t n, int64_t n_count, int64_t c, int64_t c_count, int64_t first_row,
                   int64_t row_count) {
  const int64_t row_step = s.rows.out_step * y.h_step, col_step = s.cols.out_step * y.w_step;
  const bool transpose = y.c_step == 1 && c_count > 1;
  // A spilling vector must not reach beyond the next row.
  const bool adjacent =
      col_step == 1 && row_step == s.cols.out_count && s.cols.out_count >= kLanes<T> / 2;
  // The elements between these are of another phase, which is computed at another time.
  const bool between_phases = s.cols.out_step == 2 && y.w_step == 1;
  for (int64_t k = 0; k < c_count; k += transpose ? c_count : 1) {
    for (int64_t in = 0; in < n_count; ++in) {
      const T* from = results + k * channel + s.number(in, 0, 0);
      T* to = y.at(n + in, c + k, s.rows.out_first + first_row * s.rows.out_step, s.cols.out_first);
      if (adjacent && !transpose) {
        pack_rows(s, to, from, row_count);
        continue;
      }
      for (int64_t i = 0; i < row_count; ++i) {
        if (transpose) {
          copy_transposed(to + i * row_step, col_step, from + i * s.width, channel, c_count,
                          s.cols.out_count);
        } else if (between_phases) {
          write_every_second(to + i * row_step, from + i * s.width, s.cols.out_count);
        } else {
          copy_row(to + i * row_step, col_step, from + i * s.width, 1, s.cols.out_count);
        }
      }
    }
  }
}

}  // namespace
}  // namespace dt::cpu
