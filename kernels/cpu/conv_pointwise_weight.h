// The gradient of the weights of a convolution with a kernel of one element, with channels last:
// the product of the gradient's transpose [out, positions] with the input [positions, in], both of
// which tiles read where they are. It has few elements and many terms, so the positions are
// divided into splits, whose sums are added up in order: shapes alone say how many.
#pragma once

#include "kernels/cpu/conv_weight.h"

namespace dt::cpu {
namespace {

template <class T>
class PointwiseWeight {
 public:
  // Doubles, and vectors of few numbers, are not worth its code.
  static constexpr bool kServes = std::is_same_v<T, float> && kVectorBytes > 16;

  static bool serves(const WeightGradient<T>& k) {
    return kServes && is_dense(k.g) && is_dense(k.x) && k.in_channels >= kLanes<T> / 2 &&
           k.out_channels >= kLanes<T> / 2;
  }

  PointwiseWeight(const WeightGradient<T>& k, Workspace workspace)
      : k_(k),
        out_{k.g.data, k.g.w_step, k.out_channels},
        in_{k.x.data, k.x.w_step, k.in_channels} {
    is_turned_ = steps(in_.channels, out_.channels) < steps(out_.channels, in_.channels);
    padded_ = ceil_div(right().channels, kLanes<T>) * kLanes<T>;
    const int64_t positions = k.g.n * k.g.h * k.g.w;
    per_split_ =
        ceil_div(positions, max<int64_t>(1, min<int64_t>(64, positions / kSplitPositions)));
    splits_ = ceil_div(positions, per_split_);
    positions_ = positions;
    const int64_t bytes = (left().channels + padded_) * static_cast<int64_t>(sizeof(T));
    block_ = max<int64_t>(16, min<int64_t>(256, kNearBytes / bytes));
    sums_ = workspace.take<T>(splits_ * size());
    last_ = workspace.take<T>(tail() * padded_);
    bytes_ = workspace.bytes();
  }

  int64_t bytes() const { return bytes_; }

  void run(const dt_stream* stream) const {
    if constexpr (kServes) add_all(stream);
  }

 private:
  void add_all(const dt_stream* stream) const {
    for (int64_t p = positions_ - tail(); p < positions_; ++p) {
      const T* const from = right().data + p * right().step;
      T* const to = last_ + (p - positions_ + tail()) * padded_;
      for (int64_t j = 0; j < padded_; ++j) to[j] = j < right().channels ? from[j] : T(0);
    }
    const int64_t work = positions_ * steps(left().channels, right().channels);
    for_each_item(stream, splits_, worth_threads(stream, work),
                  [&](int64_t split, int64_t) { add_split(split); });
    add_splits(sums_, size(), splits_, size());
    for (int64_t i = 0; i < left().channels; ++i) {
      for (int64_t j = 0; j < right().channels; ++j)
        *k_.gw.at(is_turned_ ? j : i, is_turned_ ? i : j, 0, 0) = sums_[i * padded_ + j];
    }
  }

  struct Side {
    const T* data;
    int64_t step, channels;  // distance of two positions
  };

  static constexpr int64_t kNearBytes = 32768;  // what of both sides stays in a first-level cache

  static bool is_dense(const Images<const T>& x) {
    return x.c_step == 1 && (x.n == 1 || x.n_step == x.h * x.w * x.w_step);
  }
  // What tiles of so many rows and columns take for a position: each row's number is spread over a
  // vector, and meets one or two vectors.
  static int64_t steps(int64_t rows, int64_t cols) {
    const int64_t vectors = ceil_div(cols, kLanes<T>), odd = vectors % 2;
    return vectors / 2 * 2 * rows + odd * (rows + rows / 2) + vectors * ceil_div(rows, kTileRows);
  }

  // Rows of tiles are the channels of one side; vectors lie along those of the other.
  const Side& left() const { return is_turned_ ? in_ : out_; }
  const Side& right() const { return is_turned_ ? out_ : in_; }
  int64_t size() const { return left().channels * padded_; }
  // The last positions, behind which a whole vector would be read past the end.
  int64_t tail() const {
    return min(positions_, ceil_div(padded_ - right().channels, max<int64_t>(1, right().step)));
  }

  void add_split(int64_t split) const {
    T* const sums = sums_ + split * size();
    fill_zero(sums, size());
    const int64_t begin = split * per_split_, end = min(positions_, begin + per_split_);
    const int64_t copied = max(begin, min(end, positions_ - tail()));
    for (int64_t p = begin; p < copied; p += block_)
      add_block(sums, p, min(block_, copied - p), right().data + p * right().step, right().step);
    if (copied < end)
      add_block(sums, copied, end - copied, last_ + (copied - positions_ + tail()) * padded_,
                padded_);
  }

  // What tile `number` of a block fetches of the next one: a line of memory for each position.
  Ahead<T> next_block(const T* a, const T* b, int64_t b_row, int64_t count, int64_t number) const {
    constexpr int64_t kLine = 64 / sizeof(T);
    const int64_t of_b = ceil_div(b_row, kLine);
    const T* const from = number < of_b ? b + count * b_row : a + count * left().step;
    return {from + (number < of_b ? number : number - of_b) * count * kLine, kLine};
  }

  void add_block(T* sums, int64_t position, int64_t count, const T* b, int64_t b_row) const {
    const T* const a = left().data + position * left().step;
    const int64_t rows = left().channels, height = ceil_div(rows, ceil_div(rows, kTileRows));
    int64_t number = 0;
    for (int64_t j = 0; j < padded_; j += kTileCols<T>) {
      for (int64_t i = 0; i < rows; i += height, ++number) {
        const Ahead<T> ahead = next_block(a, b, b_row, count, number);
        T* const y = sums + i * padded_ + j;
        const TileOutput<T> out = {y, padded_, y, padded_, nullptr, 1, 1};
        const int64_t here = min(height, rows - i);
        if (padded_ - j <= kLanes<T>) {
          outer_tile<T, 1>(here, count, a + i, 1, left().step, b + j, EvenRows{b_row}, kLanes<T>,
                           out, ahead);
        } else {
          outer_tile<T, 2>(here, count, a + i, 1, left().step, b + j, EvenRows{b_row}, kTileCols<T>,
                           out, ahead);
        }
      }
    }
  }

  const WeightGradient<T>& k_;
  const Side out_, in_;
  bool is_turned_;
  int64_t padded_, positions_, per_split_, splits_, block_;
  T *sums_, *last_;
  int64_t bytes_;
};

}  // namespace
}  // namespace dt::cpu
