// Depthwise convolutions of channels-last images: each channel meets a kernel of its own, and
// vectors lie along the channels. There is nothing to pack but the weights: the taps that lie
// inside the image are read where they are.
#pragma once

#include "kernels/cpu/conv_correlate.h"
#include "kernels/cpu/conv_weight.h"

namespace dt::cpu {
namespace {

// With vectors of two or four numbers it is not worth its code, nor for channels that do not fill
// a vector.
constexpr bool kHasDepthwise = kVectorBytes > 16;

template <class T>
bool is_depthwise(const Correlation<T>& k) {
  return kHasDepthwise && k.in_channels == 1 && k.out_channels == 1 && k.groups >= kLanes<T> &&
         k.x.c_step == 1 && k.y.c_step == 1;
}

template <class T>
bool is_depthwise(const WeightGradient<T>& k) {
  return kHasDepthwise && k.in_channels == 1 && k.out_channels == 1 && k.groups >= kLanes<T> &&
         k.x.c_step == 1 && k.g.c_step == 1;
}

// Taps [begin, end) of an axis reach the input from output position i.
struct TapRange {
  int64_t begin, end;
};

inline TapRange taps_inside(const ConvAxis& axis, int64_t i) {
  const auto inside = [&](int64_t tap) {
    const int64_t at = i * axis.in_step + axis.shift(tap);
    return at >= 0 && at < axis.in_size;
  };
  TapRange range = {0, axis.taps};
  while (range.begin < range.end && !inside(range.begin)) ++range.begin;
  while (range.begin < range.end && !inside(range.end - 1)) --range.end;
  return range;
}

// Channels are worked off a few vectors at a time, to have enough sums under way; the rest one by
// one, the last one partly. body(c, vectors, lanes) gets the number of vectors as a type.
template <int kVectors>
struct VectorCount {
  static constexpr int value = kVectors;
};

template <class T, int kMany, class Body>
inline void for_each_channel_block(int64_t channels, const Body& body) {
  int64_t c = 0;
  for (; c + kMany * kLanes<T> <= channels; c += kMany * kLanes<T>)
    body(c, VectorCount<kMany>(), kLanes<T>);
  if (kMany > 2 && c + 2 * kLanes<T> <= channels) {
    body(c, VectorCount<2>(), kLanes<T>);
    c += 2 * kLanes<T>;
  }
  for (; c < channels; c += kLanes<T>)
    body(c, VectorCount<1>(), min<int64_t>(kLanes<T>, channels - c));
}

template <bool kPart, class T>
inline Vector<T> load_channels(const T* p, int64_t lanes) {
  return kPart ? load_first(p, lanes) : load(p);
}

// Pixels of a row that see the same taps, which share the weights that are read; channels from c
// on. weights[tap][channel], then the bias.
template <class T, int kVectors, int kPixels>
inline void depthwise_pixels(const Correlation<T>& k, const T* x, const T* weights, TapRange rows,
                             TapRange cols, int64_t lanes, T* y) {
  constexpr bool kPart = kVectors == 1;
  const int64_t x_pixel = k.cols.in_step * k.x.w_step, y_pixel = k.cols.out_step * k.y.w_step;
  const int64_t row_step = k.rows.shift_step * k.x.h_step,
                col_step = k.cols.shift_step * k.x.w_step;
  Vector<T> sums[kPixels][kVectors];
  const T* bias = weights + k.rows.taps * k.cols.taps * k.groups;
  DT_UNROLL
  for (int v = 0; v < kVectors; ++v) {
    sums[0][v] = load_channels<kPart>(bias + v * kLanes<T>, lanes);
    DT_UNROLL
    for (int p = 1; p < kPixels; ++p) sums[p][v] = sums[0][v];
  }
  x += k.rows.shift(rows.begin) * k.x.h_step + k.cols.shift(cols.begin) * k.x.w_step;
  weights += (rows.begin * k.cols.taps + cols.begin) * k.groups;
  for (int64_t r = rows.begin; r < rows.end; ++r) {
    const T *from = x, *weight = weights;
    for (int64_t q = cols.begin; q < cols.end; ++q) {
      DT_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        const Vector<T> factor = load_channels<kPart>(weight + v * kLanes<T>, lanes);
        DT_UNROLL
        for (int p = 0; p < kPixels; ++p) {
          sums[p][v] = multiply_add(load_channels<kPart>(from + p * x_pixel + v * kLanes<T>, lanes),
                                    factor, sums[p][v]);
        }
      }
      from += col_step, weight += k.groups;
    }
    x += row_step, weights += k.cols.taps * k.groups;
  }
  DT_UNROLL
  for (int p = 0; p < kPixels; ++p) {
    DT_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      T* const to = y + p * y_pixel + v * kLanes<T>;
      kPart ? store_first(to, sums[p][v], lanes) : store(to, sums[p][v]);
    }
  }
}

// What the next pixels of a row see and these do not, and where they are written, of as many
// channels as depthwise_pixels takes: so many short streams are not foreseen.
// Inlined at once: the compiler leaves out calls of a function that only fetches.
template <class T, int kVectors, int kPixels>
__attribute__((always_inline)) inline void fetch_next_pixels(const Correlation<T>& k,
                                                             const T* newest, T* y) {
  constexpr int64_t kLine = 64 / sizeof(T), kWidth = kVectors * kLanes<T>;
  const int64_t x_pixel = k.cols.in_step * k.x.w_step, y_pixel = k.cols.out_step * k.y.w_step;
  DT_UNROLL
  for (int64_t c = 0; c < kWidth; c += kLine) {
    for (int64_t r = 0; r < min(k.rows.in_step, k.rows.taps); ++r) {
      for (int64_t q = 0; q < min(k.cols.in_step, k.cols.taps); ++q) {
        const T* const from = newest + q * k.x.w_step - r * k.x.h_step + c;
        DT_UNROLL
        for (int p = 0; p < kPixels; ++p) __builtin_prefetch(from + (kPixels + p) * x_pixel);
      }
    }
    DT_UNROLL
    for (int p = 0; p < kPixels; ++p) __builtin_prefetch(y + (kPixels + p) * y_pixel + c, 1);
  }
}

// Whether images come from beyond a core's caches, in pixels so long that a row is not one stream.
template <class T>
bool is_far(const Correlation<T>& k) {
  constexpr int64_t kLongPixel = 384, kFar = 8 << 20;  // bytes
  const int64_t pixel = k.groups * int64_t{sizeof(T)}, reads = k.rows.in_step * k.cols.in_step;
  return pixel >= kLongPixel &&
         k.y.n * k.rows.out_count * k.cols.out_count * (1 + reads) * pixel >= kFar;
}

template <class T>
__attribute__((noinline)) void depthwise_row(const Correlation<T>& k, int64_t n, int64_t i,
                                             const T* weights) {
  constexpr int kTogether = 4;
  const TapRange rows = taps_inside(k.rows, i);
  const int64_t inner_begin = -k.cols.first_reach(),
                inner_end =
                    min(k.cols.out_count, k.cols.in_size / k.cols.in_step - k.cols.last_reach());
  const bool fetches = is_far(k);
  // From the first pixel's place to the lowest row that it sees and the last columns there.
  const int64_t newest =
      max(k.rows.shift(rows.begin), k.rows.shift(rows.end - 1)) * k.x.h_step +
      (max(k.cols.shift(0), k.cols.shift(k.cols.taps - 1)) - k.cols.in_step + 1) * k.x.w_step;
  for (int64_t j = 0, count = 1; j < k.cols.out_count; j += count) {
    const bool is_inside = j >= inner_begin && j < inner_end;
    const TapRange cols = is_inside ? TapRange{0, k.cols.taps} : taps_inside(k.cols, j);
    count = is_inside && j + kTogether <= inner_end ? kTogether : 1;
    const T* x = k.x.at(n, 0, i * k.rows.in_step, j * k.cols.in_step);
    T* y = k.y.at(n, 0, k.rows.out_first + i * k.rows.out_step,
                  k.cols.out_first + j * k.cols.out_step);
    for_each_channel_block<T, 2>(k.groups, [&](int64_t c, auto vectors, int64_t lanes) {
      constexpr int kVectors = decltype(vectors)::value;
      if (count == kTogether) {
        if (fetches) fetch_next_pixels<T, kVectors, kTogether>(k, x + newest + c, y + c);
        depthwise_pixels<T, kVectors, kTogether>(k, x + c, weights + c, rows, cols, lanes, y + c);
      } else {
        depthwise_pixels<T, kVectors, 1>(k, x + c, weights + c, rows, cols, lanes, y + c);
      }
    });
  }
}

template <class T>
int64_t depthwise_workspace(const Correlation<T>& k) {
  Workspace workspace(nullptr);
  workspace.take<T>((k.rows.taps * k.cols.taps + 1) * k.groups);
  return workspace.bytes();
}

// Puts the taps of each channel side by side, and the bias behind them.
template <class T>
__attribute__((noinline)) const T* pack_depthwise(const Correlation<T>& k, Workspace* workspace) {
  const int64_t taps = k.rows.taps * k.cols.taps;
  T* weights = workspace->take<T>((taps + 1) * k.groups);
  const KernelWeights<T>& w = k.weights;
  for (int64_t r = 0; r < k.rows.taps; ++r) {
    for (int64_t q = 0; q < k.cols.taps; ++q) {
      const T* from = w.data + (k.rows.tap_first + r * k.rows.tap_step) * w.row_step +
                      (k.cols.tap_first + q * k.cols.tap_step) * w.col_step;
      copy_row(weights + (r * k.cols.taps + q) * k.groups, 1, from, w.group_step, k.groups);
    }
  }
  T* bias = weights + taps * k.groups;
  if (k.bias == nullptr) {
    fill_zero(bias, k.groups);
  } else {
    copy_row(bias, 1, k.bias, k.bias_step, k.groups);
  }
  return weights;
}

// Correlations of the same images that share their passes over them: the phases of a gradient read
// the same rows and write rows that lie side by side.
template <class T>
struct DepthwisePhases {
  static constexpr int kMost = 4;
  Correlation<T> phase[kMost];
  int count = 0;

  static int64_t workspace(const Correlation<T>& k) { return kMost * depthwise_workspace(k); }

  __attribute__((noinline)) void run(const dt_stream* stream, Workspace workspace) const {
    if (!kHasDepthwise) return;
    const T* weights[kMost];
    int64_t rows = 0, cycles = 0;
    for (int p = 0; p < count; ++p) {
      const Correlation<T>& k = phase[p];
      weights[p] = pack_depthwise(k, &workspace);
      rows = max(rows, k.rows.out_count);
      cycles += k.y.n * k.rows.out_count * k.cols.out_count * k.groups *
                (k.rows.taps * k.cols.taps + 4) / kLanes<T>;
    }
    for_each_item(stream, count == 0 ? 0 : phase[0].y.n * rows, worth_threads(stream, cycles),
                  [&](int64_t item, int64_t) {
                    const int64_t n = item / rows, i = item % rows;
                    for (int p = 0; p < count; ++p) {
                      if (i < phase[p].rows.out_count) depthwise_row(phase[p], n, i, weights[p]);
                    }
                  });
  }
};

// ---- the gradient of the weights: rows of the output are divided into splits, a number that the
// shapes decide, and each has sums of its own: [tap][channel], then those of the bias.

struct DepthwiseSplits {
  int64_t rows, splits, rows_per_split, sums;
};

template <class T>
DepthwiseSplits divide_depthwise(const WeightGradient<T>& k) {
  DepthwiseSplits s = {};
  s.rows = k.g.n * k.rows.out_count;
  s.rows_per_split = ceil_div(s.rows, min<int64_t>(32, s.rows));
  s.splits = ceil_div(s.rows, s.rows_per_split);
  s.sums = (k.rows.taps * k.cols.taps + 1) * k.groups;
  return s;
}

// sums += the sum over `count` pixels of g * x; without x, of g.
template <class T, int kVectors>
inline void add_pixels(T* sums, const T* g, int64_t g_step, const T* x, int64_t x_step,
                       int64_t count, int64_t lanes) {
  constexpr bool kPart = kVectors == 1;
  Vector<T> sum[kVectors] = {};
  for (int64_t j = 0; j < count; ++j, g += g_step) {
    DT_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      const Vector<T> gradient = load_channels<kPart>(g + v * kLanes<T>, lanes);
      if (x == nullptr) {
        sum[v] += gradient;
      } else {
        sum[v] = multiply_add(gradient, load_channels<kPart>(x + j * x_step + v * kLanes<T>, lanes),
                              sum[v]);
      }
    }
  }
  DT_UNROLL
  for (int v = 0; v < kVectors; ++v) {
    T* to = sums + v * kLanes<T>;
    const Vector<T> total = load_channels<kPart>(to, lanes) + sum[v];
    if (kPart) {
      store_first(to, total, lanes);
    } else {
      store(to, total);
    }
  }
}

// Adds what one row of the output contributes.
template <class T>
void add_depthwise_row(const WeightGradient<T>& k, int64_t n, int64_t i, T* sums) {
  const auto add = [&](T* to, int64_t first, int64_t count, const T* x) {
    const T* g = k.g.at(n, 0, i, first);
    for_each_channel_block<T, 4>(k.groups, [&](int64_t c, auto vectors, int64_t lanes) {
      add_pixels<T, decltype(vectors)::value>(to + c, g + c, k.g.w_step,
                                              x == nullptr ? nullptr : x + c,
                                              k.cols.in_step * k.x.w_step, count, lanes);
    });
  };
  const TapRange rows = taps_inside(k.rows, i);
  for (int64_t r = rows.begin; r < rows.end; ++r) {
    for (int64_t q = 0; q < k.cols.taps; ++q) {
      // Outputs [first, last) see the image through this tap.
      const int64_t shift = k.cols.shift(q), step = k.cols.in_step;
      const int64_t first = max<int64_t>(0, -floor_div(shift, step));
      const int64_t last = min(k.cols.out_count, floor_div(k.cols.in_size - 1 - shift, step) + 1);
      if (first >= last) continue;
      add(sums + (r * k.cols.taps + q) * k.groups, first, last - first,
          k.x.at(n, 0, i * k.rows.in_step + k.rows.shift(r), first * step + shift));
    }
  }
  if (k.gb != nullptr)
    add(sums + k.rows.taps * k.cols.taps * k.groups, 0, k.cols.out_count, nullptr);
}

template <class T>
int64_t depthwise_weight_workspace(const WeightGradient<T>& k) {
  const DepthwiseSplits s = divide_depthwise(k);
  Workspace workspace(nullptr);
  workspace.take<T>(s.splits * s.sums);
  return workspace.bytes();
}

template <class T>
void depthwise_weight(const dt_stream* stream, const WeightGradient<T>& k, Workspace workspace) {
  const DepthwiseSplits s = divide_depthwise(k);
  T* sums = workspace.take<T>(s.splits * s.sums);
  const bool parallel = worth_threads(stream, s.rows * k.cols.out_count * s.sums / kLanes<T>);
  for_each_item(stream, s.splits, parallel, [&](int64_t split, int64_t) {
    T* part = sums + split * s.sums;
    fill_zero(part, s.sums);
    const int64_t last = min(s.rows, (split + 1) * s.rows_per_split);
    for (int64_t row = split * s.rows_per_split; row < last; ++row)
      add_depthwise_row(k, row / k.rows.out_count, row % k.rows.out_count, part);
  });
  add_splits(sums, s.sums, s.splits, s.sums);
  for (int64_t r = 0; r < k.rows.taps; ++r) {
    for (int64_t q = 0; q < k.cols.taps; ++q, sums += k.groups)
      copy_row(k.gw.at(0, 0, r, q), k.gw.n_step, sums, 1, k.groups);
  }
  if (k.gb != nullptr) copy_row(k.gb, k.gb_step, sums, 1, k.groups);
}

}  // namespace
}  // namespace dt::cpu
