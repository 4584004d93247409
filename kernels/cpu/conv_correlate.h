// Correlation of images with a kernel: conv2d and its gradient with respect to the input.
//
// Channel by channel and tap by tap, a weight meets a vector of stage elements: the matrix product
// of the weights [channels out, channels in x taps] with the stage, whose rows are listed by their
// offsets instead of being copied out.
#pragma once

#include "kernels/cpu/conv_stage.h"
#include "kernels/cpu/gemm_pack.h"
#include "kernels/cpu/micro.h"
#include "kernels/cpu/workers.h"

namespace dt::cpu {
namespace {

// weight(o, c, r, q) = data[o * out_step + c * in_step + r * row_step + q * col_step] for channels
// o and c of a group.
template <class T>
struct KernelWeights {
  const T* data;
  int64_t group_step, out_step, in_step, row_step, col_step;
};

template <class T>
struct Correlation {
  ConvAxis rows, cols;
  int64_t groups, in_channels, out_channels;  // channels per group
  Images<const T> x;
  Images<T> y;
  KernelWeights<T> weights;
  const T* bias;  // NULL: none
  int64_t bias_step;
};

// With few output channels a tile is wide instead of high, to have enough sums under way.
#if defined(__AVX512F__)
constexpr int64_t kWideRows = 3;
#else
constexpr int64_t kWideRows = 2;
#endif
constexpr int kWideVectors = 4, kWidestVectors = 8;
// Of wide vectors a tile of one saves much where few outputs are left.
constexpr bool kHasNarrowTiles = kVectorBytes > 32;

// How many vectors a tile of so many rows has.
inline int64_t tile_vectors(int64_t rows) {
  return rows == 1 ? kWidestVectors : rows <= kWideRows ? kWideVectors : 2;
}

struct CorrelationPlan {
  StageLayout stage;
  int64_t height, panels;            // of the packed weights of a group
  int64_t channels_per_block;        // how many input channels a tile adds up at a time
  int64_t tile;                      // elements per tile
  int64_t group_block, panel_block;  // what an item covers
  int64_t image_items, row_items, group_items, panel_items;
  int64_t results;  // elements per channel in an item's results
  int64_t stage_size, workers;
  bool parallel;
  bool packs_weights;
};

constexpr int64_t kStageBytes =
    768 * 1024;  // stage and results of an item stay in the second-level cache

template <class T>
int64_t correlation_cycles(const Correlation<T>& k) {
  const int64_t elements = k.y.n * k.rows.out_count * (k.cols.out_count + k.cols.halo());
  return elements * k.groups * k.out_channels * (k.in_channels * k.rows.taps * k.cols.taps + 4) /
         (2 * kLanes<T>);
}

// Rows per item, so that the caches hold it and there are enough items.
template <class T>
int64_t choose_rows(const Correlation<T>& k, int64_t wanted) {
  const int64_t width = k.cols.out_count + k.cols.halo();
  const int64_t lanes = max<int64_t>(1, k.rows.lanes() * k.cols.lanes());
  const int64_t row_bytes =
      (k.in_channels * lanes + k.out_channels) * width * static_cast<int64_t>(sizeof(T));
  int64_t rows = max<int64_t>(
      1, min(k.rows.out_count, kStageBytes / max<int64_t>(1, row_bytes) - k.rows.halo()));
  rows = ceil_div(k.rows.out_count, ceil_div(k.rows.out_count, rows));
  while (k.y.n * k.groups * ceil_div(k.rows.out_count, rows) < wanted &&
         rows * width > 8 * kTileCols<T> && rows > 1) {
    rows = ceil_div(rows, 2);
  }
  return rows;
}

// Small images are computed several at a time, to fill tiles.
template <class T>
int64_t choose_images(const Correlation<T>& k, int64_t rows) {
  if (rows < k.rows.out_count) return 1;
  const int64_t elements = (k.rows.out_count + k.rows.halo()) * (k.cols.out_count + k.cols.halo());
  return max<int64_t>(1, min(k.y.n, 4 * kTileCols<T> / max<int64_t>(1, elements)));
}

// Weights that lie in the order in which a tile reads them stay where they are if so few tiles meet
// them that packing would take longer than what their rows cost, which lie far apart.
template <class T>
bool packs_weights(const Correlation<T>& k, const CorrelationPlan& p) {
  constexpr int64_t kFewTiles = 8;
  const KernelWeights<T>& w = k.weights;
  const bool ordered = k.rows.tap_step * w.row_step == k.cols.taps &&
                       k.cols.tap_step * w.col_step == 1 && w.in_step == p.stage.taps();
  return !ordered || p.image_items * p.row_items * (p.results / p.tile) > kFewTiles;
}

template <class T>
CorrelationPlan plan_correlation(const dt_stream* stream, const Correlation<T>& k) {
  CorrelationPlan p = {};
  p.parallel = worth_threads(stream, correlation_cycles(k));
  p.workers = p.parallel ? stream->threads : 1;
  const int64_t wanted = p.parallel ? 4 * stream->threads : 1;
  const int64_t rows = choose_rows(k, wanted);
  p.stage = stage_layout<T>(k.rows, k.cols, choose_images(k, rows), rows, true);
  p.image_items = ceil_div(k.y.n, p.stage.images);
  p.row_items = ceil_div(k.rows.out_count, rows);

  p.height = ceil_div(k.out_channels, ceil_div(k.out_channels, kTileRows));
  p.panels = ceil_div(k.out_channels, p.height);
  p.tile = tile_vectors(p.height) * kLanes<T>;
  p.results = ceil_div(p.stage.elements(p.stage.images, rows), p.tile) * p.tile;
  const int64_t blocks = ceil_div(k.in_channels * p.stage.taps(), 320);
  p.channels_per_block = max<int64_t>(1, ceil_div(k.in_channels, max<int64_t>(1, blocks)));

  // Groups of few channels are taken together, or copying single channels out of channels-last
  // images would be slow.
  p.group_block = min(k.groups, ceil_div(16, max<int64_t>(1, max(k.in_channels, k.out_channels))));
  p.group_items = ceil_div(k.groups, p.group_block);
  p.panel_block = p.panels;
  const int64_t items = p.image_items * p.row_items * p.group_items;
  while (items * ceil_div(p.panels, p.panel_block) < wanted && p.panel_block > 2)
    p.panel_block = ceil_div(p.panel_block, 2);
  p.panel_items = ceil_div(p.panels, p.panel_block);
  p.stage_size = p.group_block * k.in_channels * p.stage.channel + p.tile;
  p.packs_weights = packs_weights(k, p);
  return p;
}

template <class T>
struct CorrelationScratch {
  T *weights, *stages, *results;  // stages and results: one area for each worker
  int64_t* offsets;
  int64_t panel_size, results_size;

  CorrelationScratch(const Correlation<T>& k, const CorrelationPlan& p, Workspace* workspace) {
    panel_size = p.height * k.in_channels * p.stage.taps();
    results_size = p.group_block * p.panel_block * p.height * p.results;
    weights = workspace->take<T>(p.packs_weights ? k.groups * p.panels * panel_size : 0);
    offsets = workspace->take<int64_t>(p.channels_per_block * p.stage.taps());
    stages = workspace->take<T>(p.workers * p.stage_size);
    results = workspace->take<T>(p.workers * results_size);
  }
};

// The weights of a panel from input channel c on, and the distances of two output channels and of
// two input channels' taps.
template <class T>
struct PanelWeights {
  const T* data;
  int64_t row, step;
};

template <class T>
PanelWeights<T> weights_of_panel(const Correlation<T>& k, const CorrelationPlan& p,
                                 const CorrelationScratch<T>& scratch, int64_t g, int64_t panel,
                                 int64_t c) {
  const KernelWeights<T>& w = k.weights;
  if (p.packs_weights) {
    const T* const packed = scratch.weights + (g * p.panels + panel) * scratch.panel_size;
    return {packed + c * p.stage.taps() * p.height, 1, p.height};
  }
  return {w.data + g * w.group_step + panel * p.height * w.out_step + c * w.in_step +
              k.rows.tap_first * w.row_step + k.cols.tap_first * w.col_step,
          w.out_step, 1};
}

// Packs some input channels of a panel of `rows` output channels: [channel in][tap][channel out].
template <class T>
void pack_channels(const Correlation<T>& k, const CorrelationPlan& p, const T* from, int64_t rows,
                   int64_t channels, T* to) {
  const KernelWeights<T>& w = k.weights;
  const int64_t row_step = k.rows.tap_step * w.row_step, col_step = k.cols.tap_step * w.col_step;
  const int64_t taps = k.rows.taps * k.cols.taps;
  const bool dense = col_step == 1 && row_step == k.cols.taps;
  const int64_t together = dense && w.in_step == taps ? channels : 1;
  for (int64_t c = 0; c < channels; c += together, from += together * w.in_step) {
    if (dense) {
      pack_panel(to, p.height, from, w.out_step, rows, int64_t{1}, together * taps);
      to += together * taps * p.height;
      continue;
    }
    for (int64_t r = 0; r < k.rows.taps; ++r) {
      for (int64_t q = 0; q < k.cols.taps; ++q, to += p.height) {
        const T* tap = from + r * row_step + q * col_step;
        DT_UNROLL
        for (int64_t j = 0; j < kTileRows; ++j) {
          if (j < p.height) to[j] = j < rows ? tap[j * w.out_step] : T(0);
        }
      }
    }
  }
}

// Packs panels [begin, end) of all groups' weights in the order in which they lie in memory. Some
// channels of a panel follow each other: panels begin in the same few sets of a cache.
template <class T>
void pack_weights(const Correlation<T>& k, const CorrelationPlan& p,
                  const CorrelationScratch<T>& scratch, int64_t begin, int64_t end) {
  const KernelWeights<T>& w = k.weights;
  const int64_t taps = k.rows.taps * k.cols.taps;
  const int64_t some = w.in_step > w.out_step ? 8 : max<int64_t>(1, k.in_channels);
  for (int64_t c = 0; c < k.in_channels; c += some) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t o = i % p.panels * p.height;
      pack_channels(k, p,
                    w.data + i / p.panels * w.group_step + o * w.out_step + c * w.in_step +
                        k.rows.tap_first * w.row_step + k.cols.tap_first * w.col_step,
                    min(p.height, k.out_channels - o), min(some, k.in_channels - c),
                    scratch.weights + i * scratch.panel_size + c * taps * p.height);
    }
  }
}

template <class T>
void pack_all_weights(const dt_stream* stream, const Correlation<T>& k, const CorrelationPlan& p,
                      const CorrelationScratch<T>& scratch) {
  const int64_t panels = k.groups * p.panels;
  const bool many_weights = p.parallel && worth_threads(stream, panels * scratch.panel_size);
  const int64_t together = many_weights ? ceil_div(panels, 2 * stream->threads) : panels;
  for_each_item(stream, ceil_div(panels, together), many_weights, [&](int64_t item, int64_t) {
    pack_weights(k, p, scratch, item * together, min(panels, (item + 1) * together));
  });
}

// An item: some images or rows, some groups, some panels of each group's output channels.
template <class T>
struct CorrelationItem {
  const Correlation<T>& k;
  const CorrelationPlan& p;
  const CorrelationScratch<T>& scratch;
  int64_t n, n_count, row, row_count, group, group_count, panel, panel_count;

  CorrelationItem(const Correlation<T>& k, const CorrelationPlan& p,
                  const CorrelationScratch<T>& scratch, int64_t item)
      : k(k), p(p), scratch(scratch) {
    panel = item % p.panel_items * p.panel_block;
    panel_count = min(p.panel_block, p.panels - panel);
    item /= p.panel_items;
    group = item % p.group_items * p.group_block;
    group_count = min(p.group_block, k.groups - group);
    item /= p.group_items;
    row = item % p.row_items * p.stage.out_rows;
    row_count = min(p.stage.out_rows, k.rows.out_count - row);
    n = item / p.row_items * p.stage.images;
    n_count = min(p.stage.images, k.y.n - n);
  }

  void tile(const T* stage, T* results, int64_t g, int64_t panel_index, int64_t c, int64_t number,
            int64_t cols) const;
  void correlate_group(const T* stage, T* results, int64_t g) const;
  void run(int64_t worker) const;
};

// One tile: a panel of output channels, input channels from c on, `cols` outputs from `number` on,
// and as many more as make whole vectors.
template <class T>
void CorrelationItem<T>::tile(const T* stage, T* results, int64_t g, int64_t panel_index, int64_t c,
                              int64_t number, int64_t cols) const {
  const int64_t taps = p.stage.taps(), channels = min(p.channels_per_block, k.in_channels - c);
  const int64_t o = panel_index * p.height, rows = min(p.height, k.out_channels - o);
  const PanelWeights<T> w = weights_of_panel(k, p, scratch, g, panel_index, c);
  TileOutput<T> out = {
      results + (o - panel * p.height) * p.results + number, p.results, nullptr, 0, nullptr, 1, 1};
  T bias[kTileRows];
  if (c > 0) {
    out.c = out.y, out.c_row = out.y_row;
  } else if (k.bias != nullptr) {
    for (int64_t i = 0; i < rows; ++i) bias[i] = k.bias[(g * k.out_channels + o + i) * k.bias_step];
    out.bias = bias;
  }
  const T* b = stage + c * p.stage.channel + number;
  const ListedRows listed = {scratch.offsets};
  if (p.height == 1) {
    outer_tile<T, kWidestVectors, ListedRows, 1>(1, channels * taps, w.data, w.row, w.step, b,
                                                 listed, p.tile, out, {b, 0});
  } else if (p.height <= kWideRows) {
    outer_tile<T, kWideVectors, ListedRows, kWideRows>(rows, channels * taps, w.data, w.row, w.step,
                                                       b, listed, p.tile, out, {b, 0});
  } else if (kHasNarrowTiles && cols <= kLanes<T>) {
    outer_tile<T, 1>(rows, channels * taps, w.data, w.row, w.step, b, listed, kLanes<T>, out,
                     {b, 0});
  } else {
    outer_tile<T, 2>(rows, channels * taps, w.data, w.row, w.step, b, listed, p.tile, out, {b, 0});
  }
}

template <class T>
void CorrelationItem<T>::correlate_group(const T* stage, T* results, int64_t g) const {
  // Of outputs and panels of weights, those that take more room pass by once, and the others stay
  // in a near cache meanwhile.
  const int64_t elements = p.stage.elements(n_count, row_count), tiles = ceil_div(elements, p.tile);
  const bool outputs_outside = p.stage.channel > panel_count * p.height * p.stage.taps();
  const int64_t outer = outputs_outside ? tiles : panel_count;
  const int64_t inner = outputs_outside ? panel_count : tiles;
  int64_t c = 0;
  do {  // once even if there are no input channels: y = bias
    for (int64_t a = 0; a < outer; ++a) {
      for (int64_t b = 0; b < inner; ++b) {
        const int64_t number = (outputs_outside ? a : b) * p.tile;
        tile(stage, results, g, panel + (outputs_outside ? b : a), c, number, elements - number);
      }
    }
    c += p.channels_per_block;
  } while (c < k.in_channels);
}

template <class T>
void CorrelationItem<T>::run(int64_t worker) const {
  T* stage = scratch.stages + worker * p.stage_size;
  T* results = scratch.results + worker * scratch.results_size;
  fill_stage(p.stage, k.x, n, n_count, group * k.in_channels, group_count * k.in_channels, row,
             stage);
  // The last tile may reach beyond what is staged. Its sums there are thrown away, but would take
  // many times as long if what lies there were tiny numbers.
  const int64_t used = p.stage.lanes() * p.stage.plane;
  for (int64_t c = 0; c < group_count * k.in_channels; ++c)
    fill_zero(stage + c * p.stage.channel + used, p.stage.channel - used);
  fill_zero(stage + p.stage_size - p.tile, p.tile);
  const int64_t o = panel * p.height, channels = min(panel_count * p.height, k.out_channels - o);
  for (int64_t i = 0; i < group_count; ++i) {
    correlate_group(stage + i * k.in_channels * p.stage.channel, results + i * channels * p.results,
                    group + i);
  }
  if (channels == k.out_channels) {  // the groups' results follow each other
    write_results(p.stage, results, p.results, k.y, n, n_count, group * channels,
                  group_count * channels, row, row_count);
    return;
  }
  for (int64_t i = 0; i < group_count; ++i) {
    write_results(p.stage, results + i * channels * p.results, p.results, k.y, n, n_count,
                  (group + i) * k.out_channels + o, channels, row, row_count);
  }
}

template <class T>
int64_t correlation_workspace(const dt_stream* stream, const Correlation<T>& k) {
  Workspace workspace(nullptr);
  CorrelationScratch<T>(k, plan_correlation(stream, k), &workspace);
  return workspace.bytes();
}

template <class T>
void correlate(const dt_stream* stream, const Correlation<T>& k, Workspace workspace) {
  const CorrelationPlan p = plan_correlation(stream, k);
  const CorrelationScratch<T> scratch(k, p, &workspace);
  list_offsets(p.stage, min(p.channels_per_block, k.in_channels), scratch.offsets);
  if (p.packs_weights) pack_all_weights(stream, k, p, scratch);
  for_each_item(
      stream, p.image_items * p.row_items * p.group_items * p.panel_items, p.parallel,
      [&](int64_t item, int64_t worker) { CorrelationItem<T>(k, p, scratch, item).run(worker); });
}

}  // namespace
}  // namespace dt::cpu
