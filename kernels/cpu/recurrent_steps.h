// How the steps of a recurrent layer are shared out to threads, forward and backward.
//
// Sequences do not read each other. Where there are enough of them, each thread goes through all
// steps with sequences of its own, and waits for nobody; else threads share the columns of each
// step's product. An element's sum has one order either way.
#pragma once

#include "kernels/activation.gen.h"
#include "kernels/calls/recurrent.gen.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/micro.h"
#include "kernels/cpu/workers.h"
#include "kernels/recurrent_shape.h"

namespace dt::cpu {
namespace {

// What all steps multiply by, packed for the tile kernel in blocks of its rows.
template <class T>
class PackedFactor {
 public:
  PackedFactor(int64_t k, int64_t n, Workspace* workspace)
      : k_(k), n_(n), panels_(workspace->take<T>(panel_elements<T>(k, n))) {}

  int64_t blocks() const { return ceil_div(k_, kDepth); }

  // A block of x [k, n], or of the transpose of x [n, k].
  __attribute__((noinline)) void pack(const T* x, bool transposed, int64_t block) const {
    const int64_t first = block * kDepth, depth = min(kDepth, k_ - first);
    T* const to = panels_ + panel_elements<T>(first, n_);
    if (transposed) {
      pack_transposed(to, x + first, k_, depth, n_);
    } else {
      pack_panels(to, x + first * n_, n_, depth, n_);
    }
  }

  // y [m, n] += a [m, k] @ this, in one of `parts` parts of the columns.
  __attribute__((noinline)) void multiply_add(int64_t m, const T* a, int64_t a_row, T* y,
                                              int64_t y_row, int64_t part, int64_t parts) const {
    constexpr int64_t kWidth = kTileCols<T>;
    const int64_t panels = ceil_div(n_, kWidth);
    const int64_t begin = panels * part / parts * kWidth,
                  end = panels * (part + 1) / parts * kWidth;
    for (int64_t k = 0; k < k_; k += kDepth) {
      BlockProduct<T> product = {};
      product.m = m, product.n = min(end, n_) - begin, product.k = min(kDepth, k_ - k);
      product.a = a + k, product.a_row = a_row, product.a_k = 1;
      product.b = panels_ + panel_elements<T>(k, n_) + begin * product.k;
      product.y = y + begin, product.y_row = y_row;
      product.alpha = 1, product.adds = true;
      multiply_block(product);
    }
  }

 private:
  static constexpr int64_t kDepth = 256;  // of a panel that stays in the first-level cache

  int64_t k_, n_;
  T* panels_;
};

// Sequences [first, first + n) in one step, whose elements follow each other from `element` on.
struct StepPart {
  int64_t element, first, n;
};

// What a step consists of: a product, in one of `parts` parts of its columns, and the update of an
// element. The code that shares it out serves all types.
struct StepWork {
  const void* self;
  void (*pack)(const void* self, int64_t block);
  void (*multiply)(const void* self, const StepPart& at, int64_t part, int64_t parts);
  void (*update)(const void* self, int64_t element, int64_t sequence);
  int64_t blocks;        // to pack
  int64_t weight_bytes;  // which each step reads
  int64_t cycles;        // of an element
  bool multiplies_first;
};

template <class T, class Work>
StepWork describe(const Work& work) {
  StepWork w = {};
  w.self = &work;
  w.pack = [](const void* self, int64_t block) { static_cast<const Work*>(self)->pack(block); };
  w.multiply = [](const void* self, const StepPart& at, int64_t part, int64_t parts) {
    static_cast<const Work*>(self)->multiply(at, part, parts);
  };
  w.update = [](const void* self, int64_t element, int64_t sequence) {
    static_cast<const Work*>(self)->update(element, sequence);
  };
  const int64_t weight = work.shape.products() * work.shape.hidden;
  w.blocks = work.factor.blocks();
  w.weight_bytes = weight * static_cast<int64_t>(sizeof(T));
  w.cycles = weight / kTileCols<T>;
  w.multiplies_first = Work::kMultipliesFirst;
  return w;
}

// How many sequences a thread takes through all steps; 0: threads share each step.
inline int64_t sequences_each(const dt_stream* stream, const RecurrentShape& s, const StepWork& w) {
  // Where a weight stays in a thread's own cache, fewer are worth its being read.
  constexpr int64_t kNearBytes = 1 << 20, kLeast = 4, kLeastOfFar = 16, kMost = 64;
  const int64_t even = ceil_div(s.batch, stream->threads);
  if (even < (w.weight_bytes <= kNearBytes ? kLeast : kLeastOfFar) &&
      worth_threads(stream, s.batch * w.cycles))
    return 0;
  return ceil_div(s.batch, ceil_div(s.batch, min(max(even, kLeast), kMost)));
}

__attribute__((noinline)) void take_step(const dt_stream* stream, const StepWork& w,
                                         const StepPart& at, int64_t parts) {
  const auto multiply = [&] {
    for_each_item(stream, parts, true,
                  [&](int64_t part, int64_t) { w.multiply(w.self, at, part, parts); });
  };
  if (w.multiplies_first) multiply();
  for_each_item(stream, parts, true, [&](int64_t part, int64_t) {
    for (int64_t i = at.n * part / parts; i < at.n * (part + 1) / parts; ++i)
      w.update(w.self, at.element + i, at.first + i);
  });
  if (!w.multiplies_first) multiply();
}

__attribute__((noinline)) void take_steps(const dt_stream* stream, const RecurrentShape& s,
                                          const StepWork& w) {
  for_each_item(stream, w.blocks, true, [&](int64_t block, int64_t) { w.pack(w.self, block); });
  const int64_t each = sequences_each(stream, s, w);
  const bool alone = each > 0, parallel = alone && worth_threads(stream, s.elements * w.cycles);
  for_each_item(stream, alone ? ceil_div(s.batch, each) : 1, parallel, [&](int64_t item, int64_t) {
    const int64_t first = item * each;
    s.for_each_step([&](int64_t element, int64_t n) {
      const StepPart at = {element + first, first, alone ? min(n - first, each) : n};
      if (at.n > 0) take_step(stream, w, at, alone ? 1 : stream->threads);
      return DT_KERNEL_OK;
    });
  });
}

// Element-wise functions of a row.
template <class F, class T>
__attribute__((noinline)) void map_row(T* row, int64_t n) {
  map_in_place<F>(row, n);
}

template <class T>
void copy_row(T* __restrict y, const T* __restrict x, int64_t n) {
  for (int64_t j = 0; j < n; ++j) y[j] = x[j];
}

}  // namespace
}  // namespace dt::cpu
