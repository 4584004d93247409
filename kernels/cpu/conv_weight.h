// The gradient of conv2d with respect to weight and bias.
//
// Each element of the weight's gradient is an inner product over all images and output positions of
// an output channel's gradient with the input channel that a tap saw. The images are divided into
// splits, a number that depends on the shapes alone; each split adds its products into partial sums
// of its own, and these are added up in order at the end.
//
// With few channels, vectors lie along the positions and are summed at the end. With many, each tap
// is a matrix product of the input, [channels in, positions], with the gradient, [positions,
// channels out], and vectors lie along the output channels.
#pragma once

#include "kernels/cpu/conv_stage.h"
#include "kernels/cpu/gemm_pack.h"
#include "kernels/cpu/micro.h"
#include "kernels/cpu/workers.h"

namespace dt::cpu {
namespace {

template <class T>
struct WeightGradient {
  ConvAxis rows, cols;                        // forward
  int64_t groups, in_channels, out_channels;  // channels per group
  Images<const T> g, x;
  Images<T> gw;  // [out, in, kernel height, kernel width]
  T* gb;         // NULL: not wanted
  int64_t gb_step;
};

struct WeightPlan {
  StageLayout x_stage, g_stage;
  bool wide;        // many channels
  int64_t columns;  // weights per output channel
  int64_t batches, batches_per_split, splits;
  int64_t row_blocks;                    // batches per group of images
  int64_t group_block, group_items;      // groups that an item covers
  int64_t channel_block, channel_items;  // output channels of each of them
  int64_t x_size, g_size, workers;
  bool parallel;
};

// How many elements a batch should have: its rows of g stay in the first-level cache.
constexpr int64_t kBatchElements = 2048;
// A split should have enough positions to be worth a set of partial sums.
constexpr int64_t kSplitPositions = 2048;
constexpr int64_t kPartialBytes = int64_t{1} << 24;

// The stage of g: like that of x, but every number that is not an output is zero.
template <class T>
StageLayout gradient_layout(const Images<const T>& g, const StageLayout& x) {
  ConvAxis rows = {g.h, 1, g.h, 0, 1, 1, 0, 1, 0, 1}, cols = {g.w, 1, g.w, 0, 1, 1, 0, 1, 0, 1};
  StageLayout s = stage_layout<T>(rows, cols, x.images, x.out_rows, false);
  s.height = x.height, s.width = x.width;
  s.guard = x.guard;
  s.plane = x.images * s.image() + s.guard;
  constexpr int64_t kLine = 64 / sizeof(T);
  s.channel = (ceil_div(s.plane, kLine) | 1) * kLine;
  return s;
}

// Rows and images per batch and the number of splits. Only shapes decide, so that results do not
// depend on threads.
template <class T>
void divide_batches(const WeightGradient<T>& k, WeightPlan* p) {
  const int64_t width = k.cols.out_count + k.cols.halo(), lanes = k.rows.lanes() * k.cols.lanes();
  const int64_t element_bytes =
      (k.in_channels * lanes + k.out_channels) * static_cast<int64_t>(sizeof(T));
  const int64_t elements = min(kBatchElements, (int64_t{1} << 20) / max<int64_t>(1, element_bytes));
  int64_t rows = min(k.rows.out_count, max<int64_t>(1, elements / width));
  rows = ceil_div(k.rows.out_count, ceil_div(k.rows.out_count, rows));
  const int64_t image = (rows + k.rows.halo()) * width;
  const int64_t images =
      rows < k.rows.out_count ? 1 : max<int64_t>(1, min(k.g.n, elements / image));
  p->x_stage = stage_layout<T>(k.rows, k.cols, images, rows, p->wide);
  p->g_stage = gradient_layout(k.g, p->x_stage);
  p->row_blocks = ceil_div(k.rows.out_count, rows);
  p->batches = ceil_div(k.g.n, images) * p->row_blocks;

  const int64_t weights = k.groups * k.out_channels * p->columns;
  const int64_t positions = k.g.n * k.g.h * k.g.w;
  int64_t splits = min<int64_t>(64, positions / kSplitPositions);
  splits = min(splits, kPartialBytes / max<int64_t>(1, weights * static_cast<int64_t>(sizeof(T))));
  splits = max<int64_t>(1, min(splits, p->batches));
  p->batches_per_split = ceil_div(p->batches, splits);
  p->splits = ceil_div(p->batches, p->batches_per_split);
}

template <class T>
WeightPlan plan_weight(const dt_stream* stream, const WeightGradient<T>& k) {
  WeightPlan p = {};
  p.columns = k.in_channels * k.rows.taps * k.cols.taps;
  p.wide = k.in_channels >= kTileRows && k.out_channels >= kLanes<T>;
  divide_batches(k, &p);
  const int64_t sums = k.groups * k.out_channels * p.columns;
  p.parallel = worth_threads(stream, k.g.n * k.g.h * p.x_stage.width * sums / (2 * kLanes<T>));
  p.workers = p.parallel ? stream->threads : 1;
  const int64_t wanted = p.parallel ? 4 * stream->threads : 1;
  // Groups of few channels are taken together, or copying single channels out of channels-last
  // images would be slow.
  p.group_block = min(k.groups, ceil_div(16, max<int64_t>(1, max(k.in_channels, k.out_channels))));
  p.group_items = ceil_div(k.groups, p.group_block);
  p.channel_block = k.out_channels;
  while (p.group_block == 1 && p.channel_block > 2 * kTileCols<T> &&
         p.splits * k.groups * ceil_div(k.out_channels, p.channel_block) < wanted) {
    p.channel_block = ceil_div(p.channel_block, 2 * kTileCols<T>) * kTileCols<T>;
  }
  p.channel_items = ceil_div(k.out_channels, p.channel_block);
  p.x_size = p.group_block * k.in_channels * p.x_stage.channel;
  p.g_size = p.group_block * (p.wide ? ceil_div(p.channel_block, kTileCols<T>) * kTileCols<T> *
                                           p.x_stage.images * p.x_stage.image()
                                     : p.channel_block * p.g_stage.channel);
  return p;
}

template <class T>
struct WeightScratch {
  // Partial sums: [split][output channel][column] or, if wide, [split][group][panel of channels
  // out] [column][channel out]; [split][output channel].
  T *weights, *bias;
  T *x, *g;  // stages, one for each worker
  int64_t* offsets;

  WeightScratch(const WeightGradient<T>& k, const WeightPlan& p, Workspace* workspace) {
    const int64_t channels = k.groups * k.out_channels;
    const int64_t padded = ceil_div(k.out_channels, kTileCols<T>) * kTileCols<T>;
    weights = workspace->take<T>(p.splits * (p.wide ? k.groups * padded : channels) * p.columns);
    bias = workspace->take<T>(k.gb == nullptr ? 0 : p.splits * channels);
    x = workspace->take<T>(p.workers * p.x_size);
    g = workspace->take<T>(p.workers * p.g_size);
    offsets = workspace->take<int64_t>(p.columns);
  }
};

// An item: one split and some output channels, either of one group or all of several.
template <class T>
struct WeightItem {
  const WeightGradient<T>& k;
  const WeightPlan& p;
  const WeightScratch<T>& scratch;
  int64_t split, group, group_count, o, o_count;  // o counts over all groups
  T *x, *g;

  WeightItem(const WeightGradient<T>& k, const WeightPlan& p, const WeightScratch<T>& scratch,
             int64_t item, int64_t worker)
      : k(k),
        p(p),
        scratch(scratch),
        x(scratch.x + worker * p.x_size),
        g(scratch.g + worker * p.g_size) {
    const int64_t first = item % p.channel_items * p.channel_block;
    item /= p.channel_items;
    group = item % p.group_items * p.group_block;
    group_count = min(p.group_block, k.groups - group);
    split = item / p.group_items;
    o = group * k.out_channels + first;
    o_count = group_count * min(p.channel_block, k.out_channels - first);
  }

  T* partial(int64_t channel) const {
    return scratch.weights + (split * k.groups * k.out_channels + o + channel) * p.columns;
  }
  T* partial_bias() const { return scratch.bias + split * k.groups * k.out_channels + o; }

  void clear() const;
  void stage_gradient(int64_t n, int64_t n_count, int64_t row, int64_t row_count) const;
  Runs runs(int64_t n_count, int64_t row_count) const;
  void add_products(const Runs& runs, int64_t index, int64_t channels) const;
  void add_bias(int64_t n_count) const;
  void stage_panels(int64_t n, int64_t n_count, int64_t row, int64_t row_count, int64_t index,
                    int64_t channels) const;
  void add_panel_products(int64_t elements, int64_t index, int64_t channels, bool first) const;
  void run() const;
};

template <class T>
void WeightItem<T>::clear() const {
  fill_zero(partial(0), o_count * p.columns);
  if (k.gb != nullptr) fill_zero(partial_bias(), o_count);
}

template <class T>
void WeightItem<T>::stage_gradient(int64_t n, int64_t n_count, int64_t row,
                                   int64_t row_count) const {
  const StageLayout& s = p.g_stage;
  fill_stage(s, k.g, n, n_count, o, o_count, row, g);
  for (int64_t channel = 0; channel < o_count && row_count < s.height; ++channel) {
    fill_zero(g + channel * s.channel + row_count * s.width, (s.height - row_count) * s.width);
  }
}

// The zeros behind the outputs of an image make up whole vectors. If there are too few of them all
// images are one run.
template <class T>
Runs WeightItem<T>::runs(int64_t n_count, int64_t row_count) const {
  const StageLayout& s = p.x_stage;
  const auto whole_vectors = [](int64_t elements) {
    return ceil_div(elements, kLanes<T>) * kLanes<T>;
  };
  const int64_t length = whole_vectors(s.elements(1, row_count));
  if (length <= s.image()) return {n_count, length, s.image(), s.image()};
  return {1, whole_vectors(s.elements(n_count, row_count)), 0, 0};
}

// The weights of the item's group number `index`, of which it covers so many channels.
template <class T>
void WeightItem<T>::add_products(const Runs& runs, int64_t index, int64_t channels) const {
  T sums[kDotRows * kDotCols];
  const T* input = x + index * k.in_channels * p.x_stage.channel;
  for (int64_t i = index * channels; i < (index + 1) * channels; i += kDotRows) {
    const int64_t rows = min<int64_t>(kDotRows, (index + 1) * channels - i);
    const T* a = g + i * p.g_stage.channel;
    for (int64_t j = 0; j < p.columns; j += kDotCols) {
      const int64_t cols = min<int64_t>(kDotCols, p.columns - j);
      if (rows == 1) {
        inner_tile<T, 1, kDotCols>(runs, a, 0, 1, input, scratch.offsets + j, cols, sums);
      } else {
        inner_tile<T, kDotRows, kDotCols>(runs, a, p.g_stage.channel, rows, input,
                                          scratch.offsets + j, cols, sums);
      }
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t c = 0; c < cols; ++c) partial(i + r)[j + c] += sums[r * kDotCols + c];
      }
    }
  }
}

template <class T>
void WeightItem<T>::add_bias(int64_t n_count) const {
  T* bias = partial_bias();
  for (int64_t i = 0; i < o_count; ++i) {
    bias[i] += reduce_span<Sum<T>>(g + i * p.g_stage.channel, n_count * p.g_stage.image());
  }
}

// Wide: the gradients of one group's channels as panels of a matrix [positions, channels], zero
// where a position is no output.
template <class T>
void WeightItem<T>::stage_panels(int64_t n, int64_t n_count, int64_t row, int64_t row_count,
                                 int64_t index, int64_t channels) const {
  const StageLayout& s = p.x_stage;
  const int64_t count = s.cols.out_count, room = s.images * s.image();
  for (int64_t j = 0; j < channels; j += kTileCols<T>) {
    for (int64_t in = 0; in < n_count; ++in) {
      T* image = g + (j * room + s.number(in, 0, 0) * kTileCols<T>);
      for (int64_t i = 0; i < row_count; ++i) {
        T* to = image + i * s.width * kTileCols<T>;
        pack_panel(to, kTileCols<T>, k.g.at(n + in, o + index * channels + j, row + i, 0),
                   k.g.c_step, min<int64_t>(kTileCols<T>, channels - j), k.g.w_step, count);
        fill_zero(to + count * kTileCols<T>, (s.width - count) * kTileCols<T>);
      }
      fill_zero(image + row_count * s.width * kTileCols<T>,
                (s.height - row_count) * s.width * kTileCols<T>);
    }
  }
}

// Wide: the weights of the item's group number `index` over so many positions, which are taken in
// blocks whose panels stay in the first-level cache for all taps.
template <class T>
void WeightItem<T>::add_panel_products(int64_t elements, int64_t index, int64_t channels,
                                       bool first) const {
  const int64_t c_count = k.in_channels, taps = p.x_stage.taps();
  const int64_t height = ceil_div(c_count, ceil_div(c_count, kTileRows));
  const int64_t length = ceil_div(elements, ceil_div(elements, 256));
  const int64_t room = p.x_stage.images * p.x_stage.image(), channel = p.x_stage.channel;
  const int64_t sum_row = taps * kTileCols<T>, panels = ceil_div(k.out_channels, kTileCols<T>);
  const int64_t first_panel = (split * k.groups + group + index) * panels;
  T* const sums = scratch.weights + (first_panel * kTileCols<T> + o % k.out_channels) * p.columns;
  const T one = 1;
  for (int64_t from = 0; from < elements; from += length, first = false) {
    const int64_t count = min(length, elements - from);
    for (int64_t j = 0; j < channels; j += kTileCols<T>) {
      const T* b = g + j * room + from * kTileCols<T>;
      const auto add = [&](int64_t rows, const T* a, int64_t a_row, int64_t a_step, T* y) {
        const TileOutput<T> out = {y, sum_row, first ? nullptr : y, sum_row, nullptr, 1, 1};
        const int64_t cols = min<int64_t>(kTileCols<T>, channels - j);
        const EvenRows even = {kTileCols<T>};
        if (cols <= kLanes<T>) {
          outer_tile<T, 1>(rows, count, a, a_row, a_step, b, even, cols, out, {b, 0});
        } else {
          outer_tile<T, 2>(rows, count, a, a_row, a_step, b, even, cols, out, {b, 0});
        }
      };
      for (int64_t c = 0; c < c_count; c += height) {
        const T* a = x + (index * c_count + c) * channel + from;
        for (int64_t t = 0; t < taps; ++t) {
          add(min(height, c_count - c), a + scratch.offsets[t], channel, 1,
              sums + j * p.columns + c * sum_row + t * kTileCols<T>);
        }
      }
      if (k.gb != nullptr) add(1, &one, 0, 0, partial_bias() + index * channels + j);
    }
  }
}

template <class T>
void WeightItem<T>::run() const {
  if (!p.wide) clear();
  const int64_t begin = split * p.batches_per_split;
  const int64_t last = min(p.batches, begin + p.batches_per_split);
  for (int64_t batch = begin; batch < last; ++batch) {
    const int64_t row = batch % p.row_blocks * p.x_stage.out_rows;
    const int64_t row_count = min(p.x_stage.out_rows, k.rows.out_count - row);
    const int64_t n = batch / p.row_blocks * p.x_stage.images;
    const int64_t n_count = min(p.x_stage.images, k.g.n - n);
    fill_stage(p.x_stage, k.x, n, n_count, group * k.in_channels, group_count * k.in_channels, row,
               x);
    const int64_t channels = o_count / group_count;
    if (p.wide) {
      for (int64_t i = 0; i < group_count; ++i) {
        stage_panels(n, n_count, row, row_count, i, channels);
        add_panel_products(p.x_stage.elements(n_count, row_count), i, channels, batch == begin);
      }
      continue;
    }
    stage_gradient(n, n_count, row, row_count);
    const Runs all = runs(n_count, row_count);
    for (int64_t i = 0; i < group_count; ++i) add_products(all, i, channels);
    if (k.gb != nullptr) add_bias(n_count);
  }
}

// Adds the splits' partial sums, in order.
template <class T>
void add_splits(T* sum, int64_t count, int64_t splits, int64_t distance) {
  for (int64_t s = 1; s < splits; ++s) {
    const T* part = sum + s * distance;
    for (int64_t j = 0; j < count; ++j) sum[j] += part[j];
  }
}

// The gradients of the weights of one output channel.
template <class T>
void finish_output(const WeightGradient<T>& k, const WeightPlan& p, const WeightScratch<T>& scratch,
                   int64_t o) {
  T* from = scratch.weights + o * p.columns;
  add_splits(from, p.columns, p.splits, k.groups * k.out_channels * p.columns);
  for (int64_t c = 0; c < k.in_channels; ++c) {
    for (int64_t r = 0; r < k.rows.taps; ++r, from += k.cols.taps) {
      copy_row(k.gw.at(o, c, r, 0), k.gw.w_step, from, 1, k.cols.taps);
    }
  }
}

// Wide: those of one panel of output channels. Whole rows of the panel are transposed, since single
// elements would each be written to another page.
template <class T>
void finish_panel(const WeightGradient<T>& k, const WeightPlan& p, const WeightScratch<T>& scratch,
                  int64_t panel) {
  const Images<T>& gw = k.gw;
  const int64_t panels = ceil_div(k.out_channels, kTileCols<T>), size = p.columns * kTileCols<T>;
  const int64_t taps = p.x_stage.taps(), first = panel % panels * kTileCols<T>;
  const int64_t o = panel / panels * k.out_channels + first;
  const int64_t count = min<int64_t>(kTileCols<T>, k.out_channels - first);
  T* const from = scratch.weights + panel * size;
  add_splits(from, size, p.splits, k.groups * panels * size);
  if (gw.c_step == taps && gw.h_step == k.cols.taps && gw.w_step == 1) {
    // Few lines are written at a time, and what is read stays in the first-level cache.
    constexpr int64_t kRows = 64, kCols = 16 / sizeof(T);
    for (int64_t i = 0; i < p.columns; i += kRows) {
      for (int64_t j = 0; j < count; j += kCols) {
        copy_transposed(gw.at(o + j, 0, 0, 0) + i, gw.n_step, from + i * kTileCols<T> + j,
                        kTileCols<T>, min(kRows, p.columns - i), min(kCols, count - j));
      }
    }
    return;
  }
  for (int64_t t = 0; t < taps; ++t) {
    T* const to = gw.at(o, 0, t / k.cols.taps, t % k.cols.taps);
    const T* const row = from + t * kTileCols<T>;
    if (gw.c_step == 1) {
      copy_transposed(to, gw.n_step, row, taps * kTileCols<T>, k.in_channels, count);
      continue;
    }
    for (int64_t c = 0; c < k.in_channels; ++c)
      copy_row(to + c * gw.c_step, gw.n_step, row + c * taps * kTileCols<T>, 1, count);
  }
}

template <class T>
int64_t weight_workspace(const dt_stream* stream, const WeightGradient<T>& k) {
  Workspace workspace(nullptr);
  WeightScratch<T>(k, plan_weight(stream, k), &workspace);
  return workspace.bytes();
}

template <class T>
void weight_gradient(const dt_stream* stream, const WeightGradient<T>& k, Workspace workspace) {
  const WeightPlan p = plan_weight(stream, k);
  const WeightScratch<T> scratch(k, p, &workspace);
  list_offsets(p.x_stage, k.in_channels, scratch.offsets);
  for_each_item(
      stream, p.splits * p.group_items * p.channel_items, p.parallel,
      [&](int64_t item, int64_t worker) { WeightItem<T>(k, p, scratch, item, worker).run(); });
  const int64_t channels = k.groups * k.out_channels;
  const bool parallel = p.parallel && worth_threads(stream, p.splits * channels * p.columns);
  if (p.wide) {
    for_each_item(stream, k.groups * ceil_div(k.out_channels, kTileCols<T>), parallel,
                  [&](int64_t panel, int64_t) { finish_panel(k, p, scratch, panel); });
  } else {
    for_each_item(stream, channels, parallel,
                  [&](int64_t o, int64_t) { finish_output(k, p, scratch, o); });
  }
  if (k.gb == nullptr) return;
  add_splits(scratch.bias, channels, p.splits, channels);
  copy_row(k.gb, k.gb_step, scratch.bias, 1, channels);
}

}  // namespace
}  // namespace dt::cpu
