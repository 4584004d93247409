// The stage: a padded copy of a piece of a batch of images in which every element that a tap of the kernel reads for
// consecutive outputs lies consecutively, whatever the layout, padding, stride and dilation. The copy costs one pass over
// the piece, and each element is then read many times, from the second-level cache.
#pragma once

#include "kernels/cpu/conv_axis.h"
#include "kernels/cpu/simd.h"

namespace dt::cpu {
namespace {

// A batch of images [n, c, h, w] in any strides.
template <class T>
struct Images {
  T* data;
  int64_t n, c, h, w;                  // sizes
  int64_t n_step, c_step, h_step, w_step;  // strides

  T* at(int64_t in, int64_t ic, int64_t ih, int64_t iw) const {
    return data + in * n_step + ic * c_step + ih * h_step + iw * w_step;
  }
};

template <class T>
Images<T> images(const dt_view& v) {
  return {static_cast<T*>(v.data), v.sizes[0],   v.sizes[1],   v.sizes[2],  v.sizes[3],
          v.strides[0],            v.strides[1], v.strides[2], v.strides[3]};
}

// A stage is [channel][row lane][column lane][image][height][width]. Output position (image, i, j) of its piece has the
// number (image * height + i) * width + j, and the numbers of a tap's inputs differ from it by a constant: whole vectors
// of outputs can be computed across the ends of rows. What is computed for the halo is thrown away.
struct StageLayout {
  Axis rows, cols;
  int64_t images, out_rows;  // the piece: so many images, or so many rows of one
  int64_t height, width, plane, channel;
  int64_t guard;  // zeros behind the last image, so that a vector may begin in it

  int64_t image() const { return height * width; }
  int64_t number(int64_t in, int64_t i, int64_t j) const { return in * image() + i * width + j; }
  // One more than the number of the piece's last output.
  int64_t numbers(int64_t image_count, int64_t row_count) const {
    return number(image_count - 1, row_count - 1, rows_width());
  }
  int64_t rows_width() const { return cols.out_count; }
  int64_t taps() const { return rows.taps * cols.taps; }
  int64_t tap_offset(int64_t row_tap, int64_t col_tap) const {
    const int64_t lane = row_tap % rows.lanes() * cols.lanes() + col_tap % cols.lanes();
    return lane * plane + (rows.reach(row_tap) - rows.first_reach()) * width + cols.reach(col_tap) - cols.first_reach();
  }
};

template <class T>
StageLayout stage_layout(const Axis& rows, const Axis& cols, int64_t images, int64_t out_rows) {
  StageLayout s = {rows, cols, images, out_rows, out_rows + rows.halo(), cols.out_count + cols.halo(), 0, 0, kLanes<T>};
  s.plane = images * s.height * s.width + s.guard;
  // An odd number of cache lines, or the channels would crowd into a few sets of the first-level cache.
  constexpr int64_t kLine = 64 / sizeof(T);
  s.channel = (ceil_div(max<int64_t>(1, rows.lanes() * cols.lanes()) * s.plane, kLine) | 1) * kLine;
  return s;
}

// offset[c * taps + t]: how far in the stage the input of a channel and a tap lies from the output's number.
inline void list_offsets(const StageLayout& s, int64_t channels, int64_t* offset) {
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t r = 0; r < s.rows.taps; ++r) {
      for (int64_t q = 0; q < s.cols.taps; ++q) *offset++ = c * s.channel + s.tap_offset(r, q);
    }
  }
}

template <class T>
inline void fill_zero(T* y, int64_t count) {
  for (int64_t i = 0; i < count; ++i) y[i] = 0;
}

// y[i * y_step] = x[i * x_step].
template <class T>
inline void copy_row(T* y, int64_t y_step, const T* x, int64_t x_step, int64_t count) {
  if (y_step == 1 && x_step == 1) {
    int64_t i = 0;
    for (; i + kLanes<T> <= count; i += kLanes<T>) store(y + i, load(x + i));
    if (i < count) store_first(y + i, load_first(x + i, count - i), count - i);
  } else {
    for (int64_t i = 0; i < count; ++i) y[i * y_step] = x[i * x_step];
  }
}

// One row of one column lane, for `channels` channels.
template <class T>
inline void stage_row(const StageLayout& s, const Images<const T>& x, const T* row, int64_t channels, int64_t lane, T* y) {
  const Axis& axis = s.cols;
  // Stage column u is input column (u + first_reach) * in_step + residue; columns [begin, end) are inside the image.
  const int64_t origin = axis.first_reach() * axis.in_step + axis.residue(lane);
  const int64_t begin = min(s.width, max<int64_t>(0, -floor_div(origin, axis.in_step)));
  const int64_t end = max(begin, min(s.width, floor_div(axis.in_size - 1 - origin, axis.in_step) + 1));
  for (int64_t c = 0; c < channels; ++c) {
    fill_zero(y + c * s.channel, begin);
    fill_zero(y + c * s.channel + end, s.width - end);
  }
  if (begin == end) return;
  const T* from = row + (origin + begin * axis.in_step) * x.w_step;
  const int64_t step = axis.in_step * x.w_step;
  if (channels > 1 && x.c_step == 1) {
    copy_transposed(y + begin, s.channel, from, step, end - begin, channels);
  } else {
    for (int64_t c = 0; c < channels; ++c) copy_row(y + c * s.channel + begin, 1, from + c * x.c_step, step, end - begin);
  }
}

// The plane of one pair of lanes, for `channels` channels.
template <class T>
inline void stage_plane(const StageLayout& s, const Images<const T>& x, int64_t n, int64_t n_count, int64_t c,
                        int64_t channels, int64_t first_row, int64_t row_lane, int64_t col_lane, T* y) {
  const Axis& axis = s.rows;
  for (int64_t in = 0; in < n_count; ++in) {
    for (int64_t u = 0; u < s.height; ++u) {
      const int64_t h = (first_row + u + axis.first_reach()) * axis.in_step + axis.residue(row_lane);
      T* row = y + in * s.image() + u * s.width;
      if (h >= 0 && h < axis.in_size) {
        stage_row(s, x, x.at(n + in, c, h, 0), channels, col_lane, row);
      } else {
        for (int64_t k = 0; k < channels; ++k) fill_zero(row + k * s.channel, s.width);
      }
    }
  }
  for (int64_t k = 0; k < channels; ++k) fill_zero(y + k * s.channel + n_count * s.image(), s.guard);
}

// Copies what outputs of images [n, n + n_count), from row first_row on, read of channels [c, c + c_count).
template <class T>
void fill_stage(const StageLayout& s, const Images<const T>& x, int64_t n, int64_t n_count, int64_t c, int64_t c_count,
                int64_t first_row, T* stage) {
  // With channels last all channels of a row are copied together, else channel by channel.
  const int64_t together = x.c_step == 1 && x.w_step != 1 ? c_count : 1;
  for (int64_t k = 0; k < c_count; k += together) {
    for (int64_t r = 0; r < s.rows.lanes(); ++r) {
      for (int64_t q = 0; q < s.cols.lanes(); ++q) {
        stage_plane(s, x, n, n_count, c + k, together, first_row, r, q,
                    stage + k * s.channel + (r * s.cols.lanes() + q) * s.plane);
      }
    }
  }
}

// Copies results, numbered as in the stage and `channel` apart, to rows [first_row, first_row + row_count) of y.
template <class T>
void write_results(const StageLayout& s, const T* results, int64_t channel, const Images<T>& y, int64_t n, int64_t n_count,
                   int64_t c, int64_t c_count, int64_t first_row, int64_t row_count) {
  const bool transpose = y.c_step == 1 && c_count > 1;
  const int64_t together = transpose ? c_count : 1, step = s.cols.out_step * y.w_step;
  for (int64_t k = 0; k < c_count; k += together) {
    for (int64_t in = 0; in < n_count; ++in) {
      for (int64_t i = 0; i < row_count; ++i) {
        const T* from = results + k * channel + s.number(in, i, 0);
        T* to = y.at(n + in, c + k, s.rows.out_first + (first_row + i) * s.rows.out_step, s.cols.out_first);
        if (transpose) {
          copy_transposed(to, step, from, channel, c_count, s.cols.out_count);
        } else {
          copy_row(to, step, from, 1, s.cols.out_count);
        }
      }
    }
  }
}

}  // namespace
}  // namespace dt::cpu
