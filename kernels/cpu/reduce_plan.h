// How a reduction is cut into pieces: axes in the order of memory, blocks of outputs, chunks of the
// reduced elements.
#pragma once

#include "kernels/cpu/common.h"

namespace dt::cpu {
namespace {

// One dimension with the strides, in elements, of the input and of up to two outputs.
struct Axis {
  int64_t size, x, y, z;
};

struct Axes {
  int n = 0;
  Axis axis[DT_MAX_DIMS];

  int64_t count() const {
    int64_t product = 1;
    for (int d = 0; d < n; ++d) product *= axis[d].size;
    return product;
  }
  // Of the input's elements, which some axes repeat.
  __attribute__((noinline)) int64_t distinct() const {
    int64_t product = 1;
    for (int d = 0; d < n; ++d) product *= axis[d].x == 0 ? 1 : axis[d].size;
    return product;
  }
  const Axis& inner() const { return axis[n - 1]; }
};

inline int64_t magnitude(int64_t stride) {
  return stride < 0 ? -stride : stride;
}

// Inserts an axis so that the strides of x fall; repeated elements (stride 0) are walked outermost.
inline void insert_by_stride(Axes* axes, const Axis& axis) {
  auto is_outside = [](const Axis& a, const Axis& b) {
    if (a.x == 0 || b.x == 0) return a.x == 0 && b.x != 0;
    return magnitude(a.x) > magnitude(b.x);
  };
  int at = axes->n++;
  for (; at > 0 && is_outside(axis, axes->axis[at - 1]); --at) axes->axis[at] = axes->axis[at - 1];
  axes->axis[at] = axis;
}

// Merges neighbours that all operands walk as one.
inline void coalesce(Axes* axes) {
  if (axes->n == 0) return;
  int last = 0;
  for (int d = 1; d < axes->n; ++d) {
    Axis& outer = axes->axis[last];
    const Axis& inner = axes->axis[d];
    if (outer.x == inner.x * inner.size && outer.y == inner.y * inner.size &&
        outer.z == inner.z * inner.size) {
      outer = Axis{outer.size * inner.size, inner.x, inner.y, inner.z};
    } else {
      axes->axis[++last] = inner;
    }
  }
  axes->n = last + 1;
}

// Walks axes in row-major order, the first `dims` of them, keeping the offsets of all operands.
class Walk {
 public:
  Walk(const Axes& axes, int dims, int64_t index) : axes_(axes), dims_(dims) {
    for (int d = dims - 1; d >= 0; --d) {
      const Axis& a = axes.axis[d];
      at_[d] = index % a.size;
      index /= a.size;
      x += at_[d] * a.x, y += at_[d] * a.y, z += at_[d] * a.z;
    }
  }

  void next() {
    for (int d = dims_ - 1; d >= 0; --d) {
      const Axis& a = axes_.axis[d];
      x += a.x, y += a.y, z += a.z;
      if (++at_[d] < a.size) return;
      at_[d] = 0;
      x -= a.size * a.x, y -= a.size * a.y, z -= a.size * a.z;
    }
  }

  int64_t x = 0, y = 0, z = 0;

 private:
  const Axes& axes_;
  int dims_;
  int64_t at_[DT_MAX_DIMS];
};

// The pieces of a reduction. They follow from the shapes and strides alone, so the order of
// operations, and with it every bit of the result, is the same for any number of threads.
//
// Rows: an output's elements are a stream that is read in tiles of kTile elements.
// Columns: a block of outputs lies side by side in memory; each reduced position adds a row to all
// of them at once.
struct ReducePlan {
  static constexpr int64_t kTile = 2048;  // elements of a stream that are reduced at once
  static constexpr int64_t kLeafRows =
      64;  // rows that are added up before sums are combined pairwise
  static constexpr int64_t kColumnBytes = 4096;  // a block of columns: partial results stay in L1
  static constexpr int64_t kChunkWork =
      65536;                              // elements that are worth a partial result of their own
  static constexpr int64_t kPieces = 64;  // pieces that balance well over any number of threads

  Axes kept, reduced;
  int64_t outputs,
      length;  // how many elements are kept, and how many are reduced into each of them
  bool columns;
  int64_t width;  // outputs in a block
  int64_t blocks;
  int64_t fold;  // columns: dense rows that are handled as one, because they are short
  int64_t chunks, chunk_length;

  int64_t work() const { return outputs * length; }
  // Repeated ones are there once.
  int64_t elements_in_memory() const { return kept.distinct() * reduced.distinct(); }
  int64_t leaf_rows() const { return kLeafRows * fold; }
  Axis kept_inner() const { return kept.n == 0 ? Axis{1, 1, 1, 1} : kept.inner(); }
};

// `shortest_dense`: how long a dense row must be to be reduced on its own.
inline bool prefers_columns(const Axes& kept, const Axes& reduced, int64_t shortest_dense) {
  if (kept.n == 0) return false;
  if (reduced.n == 0) return true;
  const int64_t along_kept = magnitude(kept.inner().x),
                along_reduced = magnitude(reduced.inner().x);
  if (along_kept == 0 || along_reduced == 0) return along_reduced == 0;
  if (along_kept < along_reduced) return true;
  // Many short rows: side by side they fill vectors, one by one they would cost a call each. Dense
  // ones fill a vector by themselves unless they are very short.
  const int64_t short_row = along_reduced == 1 ? shortest_dense : 33;
  return reduced.n == 1 && reduced.inner().size < short_row && kept.inner().size >= 32;
}

// So many rows of `size` elements make about `most`, and whole lines, if not too many more.
inline int64_t rows_in_a_fold(int64_t size, int64_t most, int64_t line) {
  int64_t step = line;
  while (step > 1 && size * (step / 2) % line == 0) step /= 2;
  const int64_t rows = most / size, whole = rows / step * step;
  return whole > 0 ? whole : step * size <= 2 * most ? step : rows;
}

inline void cut_columns(ReducePlan* plan, int64_t value_bytes, bool foldable) {
  const Axis inner = plan->kept.inner();
  const int64_t widest = ReducePlan::kColumnBytes / value_bytes;
  plan->width = min(inner.size, widest);
  plan->blocks = plan->outputs / inner.size * ceil_div(inner.size, plan->width);
  const bool dense = plan->reduced.n > 0 && inner.x == 1 && plan->reduced.inner().x == inner.size;
  if (foldable && dense && inner.size <= widest / 8) {
    plan->fold =
        min(rows_in_a_fold(inner.size, widest / 4, 64 / value_bytes), plan->reduced.inner().size);
  }
  if (plan->blocks >= ReducePlan::kPieces / 2 || plan->work() < 2 * ReducePlan::kChunkWork) return;
  const int64_t leaf = plan->leaf_rows();
  const int64_t rows = max(ReducePlan::kChunkWork / plan->width,
                           ceil_div(plan->length * plan->blocks, ReducePlan::kPieces));
  plan->chunk_length = ceil_div(rows, leaf) * leaf;
  plan->chunks = ceil_div(plan->length, plan->chunk_length);
}

inline void cut_rows(ReducePlan* plan) {
  plan->width = min(plan->outputs, max<int64_t>(1, ReducePlan::kTile * 16 / plan->length));
  if (plan->outputs < ReducePlan::kPieces / 2 && plan->length >= 2 * ReducePlan::kChunkWork) {
    plan->width = 1;
    const int64_t elements =
        max(ReducePlan::kChunkWork, ceil_div(plan->work(), ReducePlan::kPieces));
    plan->chunk_length = ceil_div(elements, ReducePlan::kTile) * ReducePlan::kTile;
    plan->chunks = ceil_div(plan->length, plan->chunk_length);
  }
  plan->blocks = ceil_div(plan->outputs, plan->width);
}

// x's elements and y's, where y's size is 1, are reduced; z may be absent. Needs at least one
// element. It is large, and there are many engines.
__attribute__((noinline)) inline ReducePlan make_plan(const dt_view& x, const dt_view& y,
                                                      const dt_view* z, int64_t value_bytes,
                                                      bool foldable) {
  ReducePlan plan;
  for (int d = 0; d < x.ndim; ++d) {
    if (x.sizes[d] == 1) continue;
    const bool is_kept = y.sizes[d] != 1;
    const Axis axis{x.sizes[d], x.strides[d], is_kept ? y.strides[d] : 0,
                    is_kept && z ? z->strides[d] : 0};
    insert_by_stride(is_kept ? &plan.kept : &plan.reduced, axis);
  }
  coalesce(&plan.kept);
  coalesce(&plan.reduced);
  plan.outputs = plan.kept.count();
  plan.length = plan.reduced.count();
  plan.fold = 1;
  plan.chunks = 1;
  plan.chunk_length = plan.length;
  plan.columns = prefers_columns(plan.kept, plan.reduced, foldable ? 2 : 33);
  if (plan.reduced.n == 0)
    plan.reduced.axis[plan.reduced.n++] = Axis{1, 1, 0, 0};  // so that there is an inner axis
  if (plan.columns) {
    cut_columns(&plan, value_bytes, foldable);
  } else {
    cut_rows(&plan);
  }
  return plan;
}

}  // namespace
}  // namespace dt::cpu
