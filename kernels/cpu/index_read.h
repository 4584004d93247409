// Reading through indices: y[i, ...] = x[index[i], ...], for index, index_select and gather.
// Elements are moved as bits, so only their size matters.
#pragma once

#include "kernels/cpu/copy_run.h"
#include "kernels/cpu/index_plan.h"

namespace dt::cpu {
namespace {

template <class T>
inline void copy_slice(T* y, int64_t y_stride, const T* x, int64_t x_stride, int64_t n) {
  if (y_stride == 1 && x_stride == 1) {
    copy_run(y, x, n);
  } else {
    for (int64_t i = 0; i < n; ++i) y[i * y_stride] = x[i * x_stride];
  }
}

// n slices of a list, or elements [begin, begin + length) of each.
struct Slices {
  int64_t n, begin, length;
};

template <class T>
inline void read_slices(const IndexLists& lists, const Slices& slices, T* y, int64_t y_step,
                        const T* x, const int64_t* offsets) {
  if (lists.run == 1 && y_step == 1) {
    for (int64_t i = 0; i < slices.n; ++i) y[i] = x[offsets[i]];
    return;
  }
  y += slices.begin * lists.plain_stride;
  x += slices.begin * lists.indexed_stride;
  for (int64_t i = 0; i < slices.n; ++i) {
    copy_slice(y + i * y_step, lists.plain_stride, x + offsets[i], lists.indexed_stride,
               slices.length);
  }
}

// How the lists are cut: a block is as much of a list as its offsets fit in a table, and of each
// slice no more than is worth a task. A task takes several blocks if they are small.
struct ListBlocks {
  int64_t entries, parts;  // of a list
  int64_t length, pieces;  // of a slice
  int64_t count, group;    // blocks in all, and in a task

  explicit ListBlocks(const IndexLists& lists) {
    length = min(lists.run, kSerialWork / 2);
    pieces = ceil_div(lists.run, length);
    entries = min(min(lists.size, kIndexTile), max<int64_t>(1, kSerialWork / 2 / length));
    parts = ceil_div(lists.size, entries);
    count = lists.count * parts * pieces;
    group = max<int64_t>(1, kSerialWork / 2 / (length * entries));
  }
};

constexpr int64_t kShortList = 16, kListsTogether = 256;

// n lists side by side that select the same elements: one element of each after another.
template <class T>
__attribute__((noinline)) void read_across(const IndexPlan& plan, const IndexLists& lists,
                                           int64_t n, T* y, const T* x, const int64_t* offsets) {
  const int64_t y_step = lists.plain_step(plan), y_stride = plan.plain[lists.list - 1],
                x_stride = plan.indexed[lists.list - 1];
  for (int64_t i = 0; i < lists.size; ++i) {
    for (int64_t k = 0; k < n; ++k) y[i * y_step + k * y_stride] = x[offsets[i] + k * x_stride];
  }
}

// Elements one by one along a list, of one index: their offsets are not worth a table.
template <class T>
__attribute__((noinline)) void read_singles(const Selector& selector, int64_t stride,
                                            const int64_t* values, int64_t n, T* y, const T* x) {
  const Selector s = selector;  // a copy, which no element that is written might be part of
  for (int64_t i = 0; i < n; ++i) y[i] = x[offset_of(s, values[i * stride])];
}

template <class T>
void read_blocks(const IndexPlan& plan, const IndexLists& lists, const ListBlocks& blocks,
                 int64_t begin, int64_t end, T* y, const T* x) {
  const int64_t y_step = lists.plain_step(plan), per_list = blocks.parts * blocks.pieces;
  const bool offsets_stay = lists.fixed && blocks.parts == 1;
  const bool goes_across =
      offsets_stay && lists.run == 1 && lists.list > 0 && lists.size <= kShortList;
  const bool singles = lists.run == 1 && y_step == 1 && plan.selectors == 1 && !offsets_stay &&
                       plan.indexed[lists.list] == 0;
  IndexWalk walk(plan, max(lists.list, 0), begin / per_list);
  int64_t part = begin % per_list / blocks.pieces, piece = begin % blocks.pieces;
  int64_t offsets[kIndexTile];
  for (int64_t block = begin; block < end; ++block) {
    const int64_t first = part * blocks.entries, from = piece * blocks.length;
    const Slices slices = {min(blocks.entries, lists.size - first), from,
                           min(blocks.length, lists.run - from)};
    if (!singles && (block == begin || !offsets_stay))
      selected_offsets(plan, lists.list, walk, first, slices.n, offsets);
    if (goes_across) {
      const int64_t n = min(min(end - block, walk.left()), kListsTogether);
      read_across(plan, lists, n, y + walk.plain, x + walk.indexed, offsets);
      walk.skip(n);
      block += n - 1;
      continue;
    }
    T* const to = y + walk.plain + first * y_step;
    if (singles) {
      const Selector& s = plan.selector[0];
      const int64_t stride = s.strides[lists.list];
      read_singles(s, stride, s.data + walk.selector[0] + first * stride, slices.n, to,
                   x + walk.indexed);
    } else {
      read_slices(lists, slices, to, y_step, x + walk.indexed, offsets);
    }
    if (++piece < blocks.pieces) continue;
    piece = 0;
    if (++part < blocks.parts) continue;
    part = 0;
    walk.next();
  }
}

template <class T>
void read_elements(const dt_stream* stream, const IndexPlan& plan, T* y, const T* x) {
  const IndexLists lists(plan);
  const ListBlocks blocks(lists);
  parallel_for(stream, ceil_div(blocks.count, blocks.group), plan.count(), [&](int64_t task) {
    read_blocks(plan, lists, blocks, task * blocks.group,
                min(blocks.count, (task + 1) * blocks.group), y, x);
  });
}

inline int32_t read(const dt_stream* stream, const IndexPlan& plan, const dt_view& y,
                    const dt_view& x) {
  if (plan.count() == 0) return DT_KERNEL_OK;
  return visit_width(y.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    read_elements(stream, plan, data<T>(y), data<const T>(x));
  });
}

}  // namespace
}  // namespace dt::cpu
