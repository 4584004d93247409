// The geometry of pooling windows, and how pooling is divided into vectors and among threads.
#pragma once

#include "kernels/cpu/conv_stage.h"
#include "kernels/cpu/workers.h"

namespace dt::cpu {
namespace {

// One dimension of the image: output i reads inputs i * stride - padding + tap * dilation, where
// they exist. With a stride of 0 the windows cover the dimension as equally as can be: window i is
// [i * in / out, (i + 1) * in / out), rounded down and up; `kernel` is the size of the largest.
struct PoolDim {
  int64_t in, out, kernel, stride, padding, dilation;

  bool is_cover() const { return stride == 0; }
  int64_t start(int64_t i) const { return is_cover() ? i * in / out : i * stride - padding; }
  int64_t steps(int64_t distance) const {  // ceil(max(0, distance) / dilation)
    if (distance <= 0) return 0;
    return dilation == 1 ? distance : ceil_div(distance, dilation);
  }
  int64_t first_tap(int64_t i) const { return steps(-start(i)); }
  int64_t last_tap(int64_t i) const {
    if (is_cover()) return ceil_div((i + 1) * in, out) - start(i);
    return min(kernel, steps(in - start(i)));
  }
  // The outputs that read the image with all the same taps are [inner_begin, inner_end); the others
  // lie on the border, or their windows are not equal.
  int64_t inner_begin() const { return is_cover() ? 0 : min(out, ceil_div(padding, stride)); }
  int64_t inner_end() const {
    if (is_cover()) return 0;
    const int64_t room = in + padding - (kernel - 1) * dilation;
    return room <= 0 ? inner_begin() : max(inner_begin(), min(out, ceil_div(room, stride)));
  }
};

// Walks the windows of a cover without a division for each.
class CoverWalk {
 public:
  CoverWalk(const PoolDim& d, int64_t first)
      : whole_(d.in / d.out),
        rest_(d.in % d.out),
        out_(d.out),
        begin_(first * d.in / d.out),
        over_(first * d.in % d.out) {}

  int64_t begin() const { return begin_; }
  int64_t end() const {
    const int64_t over = over_ + rest_;
    return begin_ + whole_ + (over > out_ ? 2 : over > 0 ? 1 : 0);
  }
  void next() {
    begin_ += whole_, over_ += rest_;
    if (over_ >= out_) begin_ += 1, over_ -= out_;
  }

 private:
  int64_t whole_, rest_, out_;
  int64_t begin_, over_;  // window i begins at begin + over / out, rounded down
};

struct PoolWindow {
  PoolDim rows, cols;
};

// The windows of a call that leads from x to y.
template <class Call>
PoolWindow make_window(const Call& call, const dt_view& x, const dt_view& y,
                       const int64_t (&dilation)[2]) {
  const auto dim = [&](int d) {
    return PoolDim{x.sizes[2 + d], y.sizes[2 + d],  call.kernel_size[d],
                   call.stride[d], call.padding[d], dilation[d]};
  };
  return {dim(0), dim(1)};
}

// Outputs that share their taps: [row_begin, row_end) x [col_begin, col_end).
struct SharedTaps {
  int64_t row_begin, row_end, col_begin, col_end;
};

inline SharedTaps taps_of(const PoolWindow& pool, int64_t p, int64_t q) {
  return {pool.rows.first_tap(p), pool.rows.last_tap(p), pool.cols.first_tap(q),
          pool.cols.last_tap(q)};
}

// Vectors lie along the channels if those are contiguous, else along a row of outputs.
template <class T>
bool channels_last(const Images<T>& x) {
  return x.c_step == 1 && x.c > 1 && x.w_step != 1;
}

// Calls body(c, channels, q, count) for the lines of an output row: with channels last all channels
// of one output, else runs of outputs of one channel that share their taps.
template <class Body>
inline void for_each_line(const PoolDim& cols, bool along_channels, int64_t c, int64_t channels,
                          const Body& body) {
  if (along_channels) {
    for (int64_t q = 0; q < cols.out; ++q) body(c, channels, q, int64_t{1});
    return;
  }
  const int64_t begin = cols.inner_begin(), end = cols.inner_end();
  for (int64_t k = c; k < c + channels; ++k) {
    for (int64_t q = 0; q < begin; ++q) body(k, int64_t{1}, q, int64_t{1});
    if (begin < end) body(k, int64_t{1}, begin, end - begin);
    for (int64_t q = end; q < cols.out; ++q) body(k, int64_t{1}, q, int64_t{1});
  }
}

// A number that is known to the compiler.
template <int kValue>
struct Constant {
  static constexpr int value = kValue;
};

// Calls block(first, width) with constant widths until [0, count) is covered. The last block of a
// width may overlap the one before: whoever uses this computes each element anew.
template <int kWidth, class Block>
inline void cover(int64_t count, const Block& block) {
  if constexpr (kWidth > 1) {
    if (count < kWidth) return cover<kWidth / 2>(count, block);
  }
  for (int64_t i = 0; i < count; i += kWidth) block(min(i, count - kWidth), Constant<kWidth>());
}

// Calls body(n, c, channels, first row, last row) for pieces of a batch of images that threads may
// take independently. Rows of one channel may be split only if `by_row`.
template <class Body>
void for_each_piece(const dt_stream* stream, int64_t images, int64_t channels, bool along_channels,
                    int64_t rows, bool by_row, int64_t cycles, const Body& body) {
  if (images == 0 || channels == 0 || rows == 0) return;
  const bool parallel = worth_threads(stream, cycles);
  const int64_t wanted = parallel ? 8 * stream->threads : 1;
  int64_t block = along_channels ? channels : 1;
  while (along_channels && !by_row && images * ceil_div(channels, block) < wanted && block > 32) {
    block = ceil_div(block, 2);
  }
  const int64_t blocks = ceil_div(channels, block);
  const int64_t splits = by_row ? max<int64_t>(1, min(rows, wanted / (images * blocks))) : 1;
  const int64_t height = ceil_div(rows, splits);
  const int64_t pieces = images * blocks * splits, together = ceil_div(pieces, 4 * wanted);
  for_each_item(stream, ceil_div(pieces, together), parallel, [&](int64_t item, int64_t) {
    for (int64_t piece = item * together; piece < min(pieces, (item + 1) * together); ++piece) {
      const int64_t c = piece / splits % blocks * block, first = piece % splits * height;
      body(piece / splits / blocks, c, min(block, channels - c), min(first, rows),
           min(rows, first + height));
    }
  });
}

}  // namespace
}  // namespace dt::cpu
