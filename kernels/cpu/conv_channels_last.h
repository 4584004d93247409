// Convolutions of channels-last images: vectors lie along the channels of the output, so that
// nothing is transposed, and a row of the kernel meets a run of the input. All that is copied are
// the rows of the input, between zeros; they are read where they lie if there is no padding.
#pragma once

#include "kernels/cpu/conv_correlate.h"

namespace dt::cpu {
namespace {

constexpr int64_t kShortRun = 8;  // is not worth a pass over the output

constexpr int64_t kMostOfLines = 256;  // elements of weights that are turned at a time

inline int64_t reach_of_taps(const ConvAxis& a) {
  return (a.taps - 1) * a.tap_step + 1;
}

// Weights that a panel of output channels is packed from fast: channels of either kind side by
// side, or taps. A few are packed in any order.
template <class T>
bool packs_fast(const Correlation<T>& k) {
  constexpr int64_t kFewChannels = 8;
  const KernelWeights<T>& w = k.weights;
  const bool lines = w.col_step == 1 && reach_of_taps(k.cols) <= kMostOfLines;
  return w.in_step == 1 || w.out_step == 1 || lines || k.in_channels <= kFewChannels;
}

template <class T>
bool is_channels_last(const Correlation<T>& k) {
  const int64_t lanes = ceil_div(k.out_channels, kLanes<T>) * kLanes<T>;
  const auto is_dense = [](const ConvAxis& a) {
    return a.taps > 0 && a.shift_step * a.shift_step == 1;
  };
  return k.groups == 1 && k.in_channels * k.cols.taps >= kShortRun && k.in_channels == k.x.w_step &&
         k.x.c_step == 1 && k.y.c_step == 1 && is_dense(k.rows) && is_dense(k.cols) &&
         4 * lanes <= 5 * k.out_channels && packs_fast(k);
}

// Of the input, what so many outputs read, and where that begins.
inline int64_t reach_of(const ConvAxis& a, int64_t outputs) {
  return (outputs - 1) * a.in_step + a.taps;
}
inline int64_t first_shift(const ConvAxis& a) {
  return min(a.shift(0), a.shift(a.taps - 1));
}
inline bool has_no_padding(const ConvAxis& a) {
  return first_shift(a) >= 0 && first_shift(a) + reach_of(a, a.out_count) <= a.in_size;
}
// Which of the input's positions that an output reaches a tap reads, and the tap that reads one.
inline int64_t place_of(const ConvAxis& a, int64_t tap) {
  return a.shift_step > 0 ? tap : a.taps - 1 - tap;
}
inline int64_t tap_at(const ConvAxis& a, int64_t i) {
  return a.tap_first + place_of(a, i) * a.tap_step;
}
// Outputs that read a position of the image at places [first, last] of those that they reach.
struct Outputs {
  int64_t begin, end;
};
__attribute__((noinline)) inline Outputs outputs_inside(const ConvAxis& a, int64_t first,
                                                        int64_t last) {
  const int64_t shift = first_shift(a);
  const int64_t begin = max<int64_t>(0, -floor_div(shift + last, a.in_step));
  const int64_t end = floor_div(a.in_size - 1 - shift - first, a.in_step) + 1;
  return {begin, max(begin, min(a.out_count, end))};
}

// What share of what taps read is not zeros around the image.
__attribute__((noinline)) inline double share_inside(const ConvAxis& a) {
  int64_t inside = 0;
  for (int64_t i = 0; i < a.taps; ++i) {
    const Outputs outputs = outputs_inside(a, i, i);
    inside += outputs.end - outputs.begin;
  }
  return static_cast<double>(inside) / static_cast<double>(a.taps * a.out_count);
}

template <class T>
class ChannelsLastConvolution {
 public:
  ChannelsLastConvolution(const dt_stream* stream, const Correlation<T>& k, Workspace workspace)
      : k_(k),
        in_place_(has_no_padding(k.rows) && has_no_padding(k.cols)),
        run_(k.cols.taps * k.in_channels),
        skips_(!in_place_ && run_ * (1 - share_inside(k.rows) * share_inside(k.cols)) > kPass),
        run_block_(block_of(
            skips_ && k.in_channels * (1 - share_inside(k.cols)) > kPass ? k.in_channels : run_)),
        taps_together_(max<int64_t>(1, min(k.rows.taps, kMostOfRun / run_))),
        width_(reach_of(k.cols, k.cols.out_count) * k.in_channels),
        panels_(ceil_div(k.out_channels, kTileCols<T>)),
        parallel_(worth_threads(
            stream, k.y.n * k.rows.out_count * k.cols.out_count * panels_ * k.rows.taps * run_)) {
    const int64_t workers = parallel_ ? stream->threads : 1;
    divide(parallel_ ? 4 * workers : 1);
    bias_ = workspace.take<T>(panels_ * kTileCols<T>);
    packs_late_ = places() == 1;
    weights_ = workspace.take<T>((packs_late_ ? workers : panels_) * panel());
    stage_ = in_place_ ? 0 : images_ * reach_of(k.rows, rows_) * width_;
    stages_ = workspace.take<T>(workers * stage_);
    bytes_ = workspace.bytes();
  }

  int64_t bytes() const { return bytes_; }

  void run(const dt_stream* stream) const {
    fill_zero(bias_, panels_ * kTileCols<T>);
    if (k_.bias != nullptr) copy_row(bias_, 1, k_.bias, k_.bias_step, k_.out_channels);
    if (!packs_late_) {
      for_each_item(stream, panels_, parallel_ && worth_threads(stream, panels_ * panel()),
                    [&](int64_t p, int64_t) { pack(p, weights_ + p * panel()); });
    }
    const int64_t panel_items = ceil_div(panels_, panels_together_);
    for_each_item(stream, places() * panel_items, parallel_, [&](int64_t item, int64_t worker) {
      T* const stage = stages_ + worker * stage_;
      const Piece piece = piece_at(item / panel_items);
      if (!in_place_) fill(stage, piece);
      const int64_t first = item % panel_items * panels_together_;
      for (int64_t p = first; p < min(panels_, first + panels_together_); ++p) {
        T* const weights = weights_ + (packs_late_ ? worker : p) * panel();
        if (packs_late_) pack(p, weights);
        multiply(stage, piece, p, weights);
      }
    });
  }

 private:
  // An item's input and output stay in the second-level cache, and so much of a run's weights in
  // the first.
  static constexpr int64_t kItemBytes = 768 * 1024, kMostOfRun = 256;
  static constexpr int64_t kManyOutputs = 512;  // that weights are worth being fetched for
  static constexpr double kPass =
      8;  // steps of a tile that a pass over its output takes as long as

  struct Piece {
    int64_t image, images, row, rows;
  };

  static int64_t block_of(int64_t run) { return ceil_div(run, ceil_div(run, kMostOfRun)); }

  int64_t panel() const { return k_.rows.taps * run_ * kTileCols<T>; }
  int64_t row_places() const { return ceil_div(k_.rows.out_count, rows_); }
  int64_t places() const { return ceil_div(k_.y.n, images_) * row_places(); }

  Piece piece_at(int64_t place) const {
    const int64_t n = place / row_places() * images_, row = place % row_places() * rows_;
    return {n, min(images_, k_.y.n - n), row, min(rows_, k_.rows.out_count - row)};
  }

  // What an item covers: so much of the images that weights are met often, or less if threads want
  // more items.
  void divide(int64_t wanted) {
    const int64_t out_rows = k_.rows.out_count;
    const int64_t row = width_ * k_.rows.in_step + k_.cols.out_count * k_.out_channels;
    const int64_t row_bytes = row * static_cast<int64_t>(sizeof(T));
    rows_ = min(out_rows, max<int64_t>(1, kItemBytes / row_bytes));
    rows_ = ceil_div(out_rows, ceil_div(out_rows, rows_));
    const int64_t images = ceil_div(kManyOutputs, k_.cols.out_count * rows_);
    images_ = rows_ == out_rows ? min(k_.y.n, images) : 1;
    while (k_.y.n * row_places() < wanted && rows_ > 1 && rows_ * k_.cols.out_count > kManyOutputs)
      rows_ = ceil_div(rows_, 2);
    panels_together_ = panels_;
    while (places() * ceil_div(panels_, panels_together_) < wanted && panels_together_ > 1)
      panels_together_ = ceil_div(panels_together_, 2);
  }

  // The weights of a panel's channels lie side by side, in the order in which the input lies.
  void pack(int64_t p, T* to) const {
    const KernelWeights<T>& w = k_.weights;
    const int64_t o = p * kTileCols<T>, c = k_.in_channels;
    if (w.in_step != 1 && w.out_step != 1 && w.col_step == 1 &&
        reach_of_taps(k_.cols) <= kMostOfLines)
      return pack_lines(o, to);
    for (int64_t r = 0; r < k_.rows.taps; ++r) {
      for (int64_t q = 0; q < k_.cols.taps; ++q, to += c * kTileCols<T>) {
        pack_panel(to, kTileCols<T>,
                   w.data + o * w.out_step + tap_at(k_.rows, r) * w.row_step +
                       tap_at(k_.cols, q) * w.col_step,
                   w.out_step, min<int64_t>(kTileCols<T>, k_.out_channels - o), w.in_step, c);
      }
    }
  }

  // The same of weights whose taps lie side by side: as many taps, and channels of them, as make a
  // buffer full are turned at a time. Small steps from tap to tap would be slow.
  void pack_lines(int64_t o, T* to) const {
    const KernelWeights<T>& w = k_.weights;
    const ConvAxis &rows = k_.rows, &cols = k_.cols;
    const int64_t row_step = rows.tap_step * w.row_step, line = reach_of_taps(cols);
    const int64_t all = (rows.taps - 1) * row_step + line;
    const bool whole = all <= kMostOfLines, side_by_side = whole && w.in_step <= kMostOfLines;
    const int64_t lines = whole ? rows.taps : 1, reach = whole ? all : line;
    const int64_t length = side_by_side ? w.in_step : reach, some = kMostOfLines / length;
    const int64_t o_count = min<int64_t>(kTileCols<T>, k_.out_channels - o);
    T buffer[kMostOfLines * kTileCols<T>] = {};
    for (int64_t c = 0; c < k_.in_channels; c += some) {
      const int64_t c_count = min(some, k_.in_channels - c), runs = side_by_side ? 1 : c_count;
      for (int64_t r = 0; r < rows.taps; r += lines) {
        const T* const from = w.data + o * w.out_step + c * w.in_step +
                              (rows.tap_first + r * rows.tap_step) * w.row_step + cols.tap_first;
        for (int64_t k = 0; k < runs; ++k) {
          turn_lines(buffer + k * length * kTileCols<T>, from + k * w.in_step, o_count,
                     (c_count - runs) * length + reach);
        }
        for (int64_t i = 0; i < lines * cols.taps; ++i) {
          const int64_t tap_row = i / cols.taps, tap_col = i % cols.taps;
          const int64_t tap = place_of(rows, r + tap_row) * cols.taps + place_of(cols, tap_col);
          const T* x = buffer + (tap_row * row_step + tap_col * cols.tap_step) * kTileCols<T>;
          T* y = to + (tap * k_.in_channels + c) * kTileCols<T>;
          for (int64_t k = 0; k < c_count; ++k, y += kTileCols<T>, x += length * kTileCols<T>) {
            store(y, load(x));
            store(y + kLanes<T>, load(x + kLanes<T>));
          }
        }
      }
    }
  }

  __attribute__((noinline)) void turn_lines(T* to, const T* from, int64_t rows,
                                            int64_t cols) const {
    constexpr int64_t kFew = 3;  // for which blocks would be made of next to nothing
    const int64_t step = k_.weights.out_step;
    if (cols > kFew) return copy_transposed(to, kTileCols<T>, from, step, rows, cols);
    for (int64_t j = 0; j < cols; ++j) {
      for (int64_t i = 0; i < rows; ++i) to[j * kTileCols<T> + i] = from[i * step + j];
    }
  }

  // Rows of the input that a piece reads.
  void fill(T* stage, const Piece& piece) const {
    const int64_t c = k_.in_channels, left = -first_shift(k_.cols) * c, size = k_.cols.in_size * c;
    const int64_t begin = min(width_, max<int64_t>(0, left));
    const int64_t end = max(begin, min(width_, left + size));
    for (int64_t n = 0; n < piece.images; ++n) {
      const int64_t first = piece.row * k_.rows.in_step + first_shift(k_.rows);
      for (int64_t i = 0; i < reach_of(k_.rows, piece.rows); ++i, stage += width_) {
        const int64_t h = first + i;
        if (h < 0 || h >= k_.rows.in_size) {
          fill_zero(stage, width_);
          continue;
        }
        fill_zero(stage, begin);
        copy_row(stage + begin, 1, k_.x.at(piece.image + n, 0, h, 0) + begin - left, 1,
                 end - begin);
        fill_zero(stage + end, width_ - end);
      }
    }
  }

  // What row i of a piece's image n reads first.
  const T* input(const T* stage, const Piece& piece, int64_t n, int64_t i) const {
    if (!in_place_)
      return stage + (n * reach_of(k_.rows, piece.rows) + i * k_.rows.in_step) * width_;
    return k_.x.at(piece.image + n, 0, (piece.row + i) * k_.rows.in_step + first_shift(k_.rows),
                   first_shift(k_.cols));
  }

  // Panel p: a block of its weights meets all outputs of the piece, to which each adds.
  void multiply(const T* stage, const Piece& piece, int64_t p, const T* weights) const {
    if (skips_) multiply_block(stage, piece, p, {nullptr, weights, 0, 1, 0, 0, true});
    for (int64_t r = 0; r < k_.rows.taps; r += taps_together_) {
      for (int64_t t = 0; t < run_; t += run_block_) {
        multiply_block(
            stage, piece, p,
            {nullptr, weights + t * kTileCols<T>, r, min(r + taps_together_, k_.rows.taps),
             min(run_block_, run_ - t), t, !skips_ && t == 0});
      }
    }
  }

  // Rows [tap, tap_end) of the kernel, and of each a part of its run.
  struct Share {
    const T *input, *weights;  // of row 0 of the kernel
    int64_t tap, tap_end, length, first;
    bool begins;  // a run
  };

  __attribute__((noinline)) void multiply_block(const T* stage, const Piece& piece, int64_t p,
                                                Share share) const {
    for (int64_t n = 0; n < piece.images; ++n) {
      for (int64_t i = 0; i < piece.rows; ++i) {
        share.input = input(stage, piece, n, i) + share.first;
        multiply_row(share, piece.image + n, piece.row + i, p * kTileCols<T>);
      }
    }
  }

  // Row i of an image's output, with channels from o on. What would meet nothing but zeros around
  // the image is left out. A share of no length makes outputs begin with the bias.
  void multiply_row(const Share& share, int64_t image, int64_t i, int64_t o) const {
    const int64_t step = k_.cols.in_step * k_.in_channels;
    const bool skips = skips_ && share.length > 0;
    const Outputs pixels = skips ? outputs_inside(k_.cols, share.first / k_.in_channels,
                                                  (share.first + share.length - 1) / k_.in_channels)
                                 : Outputs{0, k_.cols.out_count};
    if (pixels.begin == pixels.end) return;
    const int64_t count = pixels.end - pixels.begin;
    const int64_t height = ceil_div(count, ceil_div(count, kTileRows));
    const int64_t cols = min<int64_t>(kTileCols<T>, k_.out_channels - o);
    const int64_t input_row = in_place_ ? k_.x.h_step : width_;
    const int64_t y_step = k_.cols.out_step * k_.y.w_step;
    const EvenRows even = {kTileCols<T>};
    for (int64_t j = pixels.begin; j < pixels.end; j += height) {
      T* const y = k_.y.at(image, o, k_.rows.out_first + i * k_.rows.out_step,
                           k_.cols.out_first + j * k_.cols.out_step);
      const int64_t rows = min(height, pixels.end - j);
      for (int64_t r = share.tap; r < share.tap_end; ++r) {
        const int64_t h = i * k_.rows.in_step + first_shift(k_.rows) + r;
        if (skips && (h < 0 || h >= k_.rows.in_size)) continue;
        const bool is_first = r == 0 && share.begins;
        const TileOutput<T> out = {
            y, y_step, is_first ? bias_ + o : y, is_first ? 0 : y_step, nullptr, T(1), T(1)};
        const T* const a = share.input + r * input_row + j * step;
        const T* const b = share.weights + r * run_ * kTileCols<T>;
        if (cols <= kLanes<T>) {
          outer_tile<T, 1>(rows, share.length, a, step, 1, b, even, cols, out, Ahead<T>{b, 0});
        } else {
          outer_tile<T, 2>(rows, share.length, a, step, 1, b, even, cols, out, Ahead<T>{b, 0});
        }
      }
    }
  }

  const Correlation<T>& k_;
  const bool in_place_;
  const int64_t run_;
  const bool skips_;                         // what meets zeros around the image
  const int64_t run_block_, taps_together_;  // of a block of weights
  const int64_t width_, panels_;             // width_: elements of a row of the stage
  const bool parallel_;
  int64_t rows_, images_, panels_together_;  // of an item
  bool packs_late_;                          // one panel at a time, if it meets one item only
  int64_t stage_, bytes_;
  T *bias_, *weights_, *stages_;
};

}  // namespace
}  // namespace dt::cpu
