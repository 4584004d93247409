// Convolutions of channels-last images of few channels: vectors lie along the channels of the
// output, so that nothing is transposed, and a row of the kernel meets a run of the input. All that
// is copied are the rows of the input, between zeros.
#pragma once

#include "kernels/cpu/conv_correlate.h"

namespace dt::cpu {
namespace {

constexpr int64_t kFewChannels = 8;
constexpr int64_t kShortRun = 8;  // is not worth a pass over the output

// Taps in the kernel's order, as the weights are packed: of a gradient they run backwards.
inline bool has_taps_in_order(const ConvAxis& a) {
  return a.tap_first == 0 && a.tap_step == 1;
}

template <class T>
bool is_narrow(const Correlation<T>& k) {
  return has_taps_in_order(k.rows) && has_taps_in_order(k.cols) && k.groups == 1 &&
         k.in_channels <= kFewChannels && k.in_channels == k.x.w_step &&
         k.in_channels * k.cols.taps >= kShortRun && k.out_channels % kTileCols<T> == 0 &&
         k.x.c_step == 1 && k.y.c_step == 1 && k.cols.shift_step == 1 && k.rows.shift_step > 0 &&
         k.rows.out_step == 1 && k.cols.out_step == 1;
}

template <class T>
class NarrowConvolution {
 public:
  NarrowConvolution(const dt_stream* stream, const Correlation<T>& k, Workspace workspace)
      : k_(k),
        run_(k.cols.taps * k.in_channels),
        width_(((k.cols.out_count - 1) * k.cols.in_step + k.cols.taps) * k.in_channels),
        panels_(k.out_channels / kTileCols<T>),
        rows_(max<int64_t>(1, min(k.rows.out_count,
                                  kBlockBytes / (width_ * k.rows.in_step * int64_t{sizeof(T)})))),
        offsets_(workspace.take<int64_t>(run_)),
        bias_(workspace.take<T>(k.out_channels)),
        weights_(workspace.take<T>(panels_ * panel())),
        stages_(workspace.take<T>(stream->threads * stage_rows(rows_) * width_)),
        bytes_(workspace.bytes()) {}

  int64_t bytes() const { return bytes_; }

  void run(const dt_stream* stream) const {
    pack();
    const int64_t blocks = ceil_div(k_.rows.out_count, rows_);
    const int64_t cycles =
        k_.y.n * k_.rows.out_count * k_.cols.out_count * panels_ * k_.rows.taps * run_;
    for_each_item(stream, k_.y.n * blocks, worth_threads(stream, cycles),
                  [&](int64_t item, int64_t worker) {
                    const int64_t first = item % blocks * rows_;
                    const int64_t rows = min(rows_, k_.rows.out_count - first);
                    T* const stage = stages_ + worker * stage_rows(rows_) * width_;
                    fill(stage, item / blocks, first, rows);
                    for (int64_t i = 0; i < rows; ++i)
                      multiply_row(stage + i * k_.rows.in_step * width_, item / blocks, first + i);
                  });
  }

 private:
  static constexpr int64_t kBlockBytes = 65536;

  int64_t panel() const { return k_.rows.taps * run_ * kTileCols<T>; }
  // Of the input, for so many rows of the output.
  int64_t stage_rows(int64_t rows) const {
    return (rows - 1) * k_.rows.in_step + (k_.rows.taps - 1) * k_.rows.shift_step + 1;
  }

  // The weights of a panel's channels lie side by side.
  void pack() const {
    const KernelWeights<T>& w = k_.weights;
    for (int64_t t = 0; t < run_; ++t) offsets_[t] = t * kTileCols<T>;
    fill_zero(bias_, k_.out_channels);
    if (k_.bias != nullptr) copy_row(bias_, 1, k_.bias, k_.bias_step, k_.out_channels);
    for (int64_t p = 0; p < panels_; ++p) {
      const T* const from = w.data + p * kTileCols<T> * w.out_step;
      T* to = weights_ + p * panel();
      for (int64_t r = 0; r < k_.rows.taps; ++r) {
        for (int64_t t = 0; t < run_; ++t, to += kTileCols<T>) {
          const int64_t q = t / k_.in_channels, c = t % k_.in_channels;
          copy_row(to, 1, from + c * w.in_step + r * w.row_step + q * w.col_step, w.out_step,
                   kTileCols<T>);
        }
      }
    }
  }

  // Rows of the input that so many rows of the output read from `first` on.
  void fill(T* stage, int64_t image, int64_t first, int64_t rows) const {
    const int64_t c = k_.in_channels, left = -k_.cols.shift_first * c, size = k_.cols.in_size * c;
    const int64_t begin = min(width_, max<int64_t>(0, left));
    const int64_t end = max(begin, min(width_, left + size));
    for (int64_t i = 0; i < stage_rows(rows); ++i, stage += width_) {
      const int64_t h = first * k_.rows.in_step + k_.rows.shift_first + i;
      if (h < 0 || h >= k_.rows.in_size) {
        fill_zero(stage, width_);
        continue;
      }
      fill_zero(stage, begin);
      copy_row(stage + begin, 1, k_.x.at(image, 0, h, 0) + begin - left, 1, end - begin);
      fill_zero(stage + end, width_ - end);
    }
  }

  // A row of the output: the rows of the kernel add to what lies there.
  void multiply_row(const T* stage, int64_t image, int64_t i) const {
    const int64_t step = k_.cols.in_step * k_.in_channels, pixels = k_.cols.out_count;
    const int64_t height = ceil_div(pixels, ceil_div(pixels, kTileRows));
    for (int64_t p = 0; p < panels_; ++p) {
      const int64_t o = p * kTileCols<T>;
      for (int64_t j = 0; j < pixels; j += height) {
        T* const y = k_.y.at(image, o, i, j);
        TileOutput<T> out = {y, k_.y.w_step, bias_ + o, 0, nullptr, T(1), T(1)};
        for (int64_t r = 0; r < k_.rows.taps; ++r) {
          const T* const b = weights_ + p * panel() + r * run_ * kTileCols<T>;
          outer_tile<T, 2>(min(height, pixels - j), run_,
                           stage + r * k_.rows.shift_step * width_ + j * step, step, 1, b,
                           ListedRows{offsets_}, kTileCols<T>, out, Ahead<T>{b, 0});
          out.c = y, out.c_row = k_.y.w_step;
        }
      }
    }
  }

  const Correlation<T>& k_;
  const int64_t run_, width_, panels_, rows_;  // width_: elements of a row of the stage
  int64_t* const offsets_;
  T *const bias_, *const weights_, *const stages_;
  const int64_t bytes_;
};

}  // namespace
}  // namespace dt::cpu
