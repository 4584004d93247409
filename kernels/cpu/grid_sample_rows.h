// Sampling of channels that lie side by side: an image's elements become rows of a few channels, a
// tap of a place reads or adds to one of them, and what comes out is turned back.
#pragma once

#include "kernels/cpu/grid_sample_places.h"

namespace dt::cpu {
namespace {

// Rows of 64 bytes of floats where there are that many channels.
constexpr int64_t kWideRow = 16, kNarrowRow = 4;
constexpr int64_t kTask = 1024;  // elements or places that are worth a thread's while
constexpr int64_t kMaxRowsBytes = int64_t{64} << 20;

// Turning an image with many more elements than are sampled would be most of the work.
template <class T>
bool are_rows_worth(const Sampler<T>& sampler) {
  const int64_t bytes = sampler.plane() * kWideRow * static_cast<int64_t>(sizeof(T));
  return sampler.plane() <= 4 * sampler.places() && bytes <= kMaxRowsBytes;
}

// Few channels are gathered faster than they are turned.
template <class T>
bool is_sampled_by_rows(const calls::GridSample& call, const Sampler<T>& sampler) {
  return call.x.sizes[1] > kNarrowRow && are_rows_worth(sampler);
}

// The row and the weight of each tap of each place of all images: [image][place][tap]. Outside of
// the image lies the row behind its last.
template <class T>
struct TapTable {
  int64_t places, taps;
  int32_t* row;
  T* weight;

  TapTable(const Sampler<T>& sampler, int64_t images, Workspace* memory)
      : places(sampler.places()),
        taps(sampler.taps()),
        row(memory->take<int32_t>(images * places * taps)),
        weight(memory->take<T>(images * places * taps)) {}

  void fill(const dt_stream* stream, const Sampler<T>& sampler, int64_t images) const {
    parallel_for(stream, images * sampler.blocks(), images * places * taps * 8, [&](int64_t item) {
      const int64_t n = item / sampler.blocks(), b = item % sampler.blocks();
      PlaceBlock<T> block;
      sampler.read(n, b, &block);
      const int64_t first = (n * places + b * kBlock) * taps;
      for (int64_t i = 0; i < block.count; ++i) {
        for (int64_t k = 0; k < taps; ++k) {
          const int64_t offset = block.offset[k][i];
          row[first + i * taps + k] = static_cast<int32_t>(offset < 0 ? sampler.plane() : offset);
          weight[first + i * taps + k] = block.weight[k][i];
        }
      }
    });
  }
};

// The loops over places, for rows of kVectors vectors.
template <class T, class V, int kVectors>
struct RowLoops {
  static constexpr int64_t kLane = sizeof(V) / sizeof(T), kWidth = kVectors * kLane;

  static V read(const T* p) {
    V v;
    __builtin_memcpy(&v, p, sizeof(v));
    return v;
  }
  static void write(T* p, V v) { __builtin_memcpy(p, &v, sizeof(v)); }

  static void sample(const TapTable<T>& table, int64_t first, int64_t count, const T* rows, T* y) {
    const int32_t* row = table.row + first * table.taps;
    const T* weight = table.weight + first * table.taps;
    for (int64_t i = 0; i < count; ++i, y += kWidth) {
      V sum[kVectors] = {};
      for (int64_t k = 0; k < table.taps; ++k, ++row, ++weight) {
        const T* from = rows + *row * kWidth;
        for (int v = 0; v < kVectors; ++v) sum[v] += *weight * read(from + v * kLane);
      }
      for (int v = 0; v < kVectors; ++v) write(y + v * kLane, sum[v]);
    }
  }

  static void spread(const TapTable<T>& table, int64_t first, int64_t count, const T* g, T* rows) {
    const int32_t* row = table.row + first * table.taps;
    const T* weight = table.weight + first * table.taps;
    for (int64_t i = 0; i < count; ++i, g += kWidth) {
      for (int64_t k = 0; k < table.taps; ++k, ++row, ++weight) {
        T* to = rows + *row * kWidth;
        for (int v = 0; v < kVectors; ++v)
          write(to + v * kLane, read(to + v * kLane) + *weight * read(g + v * kLane));
      }
    }
  }
};

template <class T>
using WideLoops = RowLoops<T, Vector<T>, kWideRow * sizeof(T) / kVectorBytes>;
template <class T>
using NarrowLoops = RowLoops<T, typename SmallVector<T>::type, kNarrowRow * sizeof(T) / 16>;

// The channels of a batch [images, channels, ...] in chunks that become rows, each an item.
template <class T>
struct RowPlan {
  int64_t images, channels, plane, width, chunks;

  RowPlan(const Sampler<T>& sampler, int64_t images, int64_t channels, bool wide)
      : images(images),
        channels(channels),
        plane(sampler.plane()),
        width(wide ? kWideRow : kNarrowRow),
        chunks(ceil_div(channels, width)) {}

  int64_t items() const { return images * chunks; }
  int64_t image(int64_t item) const { return item / chunks; }
  int64_t first_channel(int64_t item) const { return item % chunks * width; }
  int64_t channel_count(int64_t item) const { return min(width, channels - first_channel(item)); }
  // Of the first channel's line in a tensor with so many elements per channel.
  int64_t start(int64_t item, int64_t elements) const {
    return (image(item) * channels + first_channel(item)) * elements;
  }
  int64_t rows_size() const { return (plane + 1) * width; }
};

template <class T>
void zero_rows(T* rows, int64_t count) {
  for (int64_t i = 0; i < count; ++i) rows[i] = 0;
}

// Calls body(first, count) for blocks of [0, n).
template <class Body>
void for_each_block(const dt_stream* stream, int64_t n, bool parallel, const Body& body) {
  for_each_item(stream, ceil_div(n, kTask), parallel, [&](int64_t task, int64_t) {
    const int64_t end = min(n, (task + 1) * kTask);
    for (int64_t first = task * kTask; first < end; first += kBlock)
      body(first, min(kBlock, end - first));
  });
}

// With no memory only its size is worked out. Where there are fewer items than threads, each item
// is computed by all of them.
template <class T>
void sample_by_rows(const dt_stream* stream, const calls::GridSample& call,
                    const Sampler<T>& sampler, Workspace* memory) {
  const int64_t images = call.x.sizes[0], channels = call.x.sizes[1], places = sampler.places();
  const RowPlan<T> plan(sampler, images, channels, channels > kNarrowRow);
  const bool parallel = worth_threads(stream, images * channels * places * sampler.taps());
  const bool by_items = parallel && plan.items() >= stream->threads;
  const TapTable<T> table(sampler, images, memory);
  T* all_rows = memory->take<T>((by_items ? stream->threads : 1) * plan.rows_size());
  if (all_rows == nullptr) return;
  table.fill(stream, sampler, images);
  for_each_item(stream, plan.items(), by_items, [&](int64_t item, int64_t worker) {
    T* rows = all_rows + worker * plan.rows_size();
    const int64_t count = plan.channel_count(item), width = plan.width;
    if (count < width) zero_rows(rows, plan.rows_size());
    zero_rows(rows + plan.plane * width, width);
    const T* x = data<const T>(call.x) + plan.start(item, plan.plane);
    for_each_block(stream, plan.plane, parallel && !by_items, [&](int64_t first, int64_t n) {
      copy_transposed(rows + first * width, width, x + first, plan.plane, count, n);
    });
    T* y = data<T>(call.y) + plan.start(item, places);
    for_each_block(stream, places, parallel && !by_items, [&](int64_t first, int64_t n) {
      T turned[kBlock * kWideRow];
      const int64_t from = plan.image(item) * places + first;
      if (width == kWideRow) {
        WideLoops<T>::sample(table, from, n, rows, turned);
      } else {
        NarrowLoops<T>::sample(table, from, n, rows, turned);
      }
      copy_transposed(y + first, places, turned, width, n, count);
    });
  });
}

// The gradient of the input. With no memory only its size is worked out.
template <class T>
void spread_by_rows(const dt_stream* stream, const calls::GridSampleBackward& call,
                    const Sampler<T>& sampler, Workspace* memory) {
  const int64_t images = call.gx->sizes[0], channels = call.gx->sizes[1], places = sampler.places();
  const bool parallel = worth_threads(stream, images * channels * places * sampler.taps());
  const bool wide = channels > kNarrowRow &&
                    (!parallel || images * ceil_div(channels, kWideRow) >= stream->threads);
  const RowPlan<T> plan(sampler, images, channels, wide);
  const TapTable<T> table(sampler, images, memory);
  T* all_rows = memory->take<T>((parallel ? stream->threads : 1) * plan.rows_size());
  if (all_rows == nullptr) return;
  table.fill(stream, sampler, images);
  for_each_item(stream, plan.items(), parallel, [&](int64_t item, int64_t worker) {
    T* rows = all_rows + worker * plan.rows_size();
    const int64_t count = plan.channel_count(item), width = plan.width;
    zero_rows(rows, plan.rows_size());
    const T* g = data<const T>(call.g) + plan.start(item, places);
    T turned[kBlock * kWideRow] = {};
    for_each_block(stream, places, false, [&](int64_t first, int64_t n) {
      copy_transposed(turned, width, g + first, places, count, n);
      const int64_t from = plan.image(item) * places + first;
      if (wide) {
        WideLoops<T>::spread(table, from, n, turned, rows);
      } else {
        NarrowLoops<T>::spread(table, from, n, turned, rows);
      }
    });
    T* gx = data<T>(*call.gx) + plan.start(item, plan.plane);
    for_each_block(stream, plan.plane, false, [&](int64_t first, int64_t n) {
      copy_transposed(gx + first, plan.plane, rows + first * width, width, n, count);
    });
  });
}

}  // namespace
}  // namespace dt::cpu
