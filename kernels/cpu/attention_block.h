// What attention's kernels share: how queries and keys are cut into blocks, how these are read, and
// the scores of a block.
//
// A block is copied once into memory of its own, as numbers that are calculated with, and packed
// for the tile kernel (gemm.h). So strides and narrow dtypes cost one pass over a block, which a
// product with it outweighs by as many rows as the other block has.
#pragma once

#include "kernels/calls/attention.gen.h"
#include "kernels/cpu/brain_block.h"
#include "kernels/cpu/convert.h"
#include "kernels/cpu/exp_span.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/workers.h"

namespace dt::cpu {
namespace {

// Rows of blocks, which with what is packed for them should stay in a second-level cache. Whole
// tiles of every instruction set, in rows and in columns. Scores are made and used a strip of rows
// after the other, which stays in the first level.
constexpr int64_t kMostQueries = 192, kMostKeys = 192;
constexpr int64_t kStripQueries = 24, kStripOfTiles = 32;

// n rows in blocks.
struct RowBlocks {
  int64_t n, rows;

  RowBlocks(int64_t n, int64_t most) : n(n), rows(max<int64_t>(1, min(n, most))) {}
  int64_t count() const { return ceil_div(n, rows); }
  int64_t rows_at(int64_t first) const { return min(rows, n - first); }
};

// The sizes of a call: [B,H,M,D], [B,G,N,D], [B,G,N,E].
struct AttentionSizes {
  int64_t batch, heads, shared_heads, features, value_features;
  RowBlocks queries, keys;

  AttentionSizes(const dt_view& query, const dt_view& key, const dt_view& value)
      : batch(query.sizes[0]),
        heads(query.sizes[1]),
        shared_heads(key.sizes[1]),
        features(query.sizes[3]),
        value_features(value.sizes[3]),
        queries(query.sizes[2], kMostQueries),
        keys(key.sizes[2], kMostKeys) {}

  int64_t group() const { return heads / shared_heads; }
  int64_t most_features() const { return max(features, value_features); }
  // Distance of two rows of scores: not a power of 2, which would crowd columns into a few sets of
  // a cache.
  int64_t score_row() const { return ceil_div(keys.rows, 16) * 16 + 16; }
};

// Rows of a matrix as numbers that are calculated with.
template <class T>
struct BlockRows {
  const T* data;
  int64_t row;  // distance of two
};

// What multiplies a call's blocks: the numbers as they are, or rounded to bfloat16, as its operands
// were, where the processor has a unit for that.
template <class T>
struct BlockUnit {
  BrainUnit brain;

  BlockUnit(const dt_stream* stream, const dt_view& query)
      : brain(std::is_same_v<T, float> ? brain_unit(stream, query.dtype) : BrainUnit::kNone) {}

  bool in_floats() const { return brain == BrainUnit::kNone; }
  bool in_tiles() const { return brain == BrainUnit::kTiles; }

  // How many of so many queries are taken together.
  int64_t strip(int64_t queries) const {
    return in_tiles() ? kStripOfTiles : ceil_div(queries, ceil_div(queries, kStripQueries));
  }
  static int64_t panel(int64_t k, int64_t n) {
    return panel_elements<T>(max(k, kBrainPanelRows), n);
  }
  void pack(T* panels, const BlockRows<T>& x, int64_t k, int64_t n) const {
    if constexpr (std::is_same_v<T, float>) {
      if (!in_floats()) return pack_brain_panels(panels, x.data, x.row, k, n);
    }
    pack_panels(panels, x.data, x.row, k, n);
  }
  void pack_turned(T* panels, const BlockRows<T>& x, int64_t k, int64_t n) const {
    if constexpr (std::is_same_v<T, float>) {
      if (!in_floats()) return pack_brain_transposed(panels, x.data, x.row, k, n);
    }
    pack_transposed(panels, x.data, x.row, k, n);
  }
  // A product's factor: tiles of sums are stored as they are, and scaled when they are read.
  template <class Call>
  T alpha(const Call& call) const {
    return in_tiles() ? T(1) : static_cast<T>(call.scale);
  }
  template <class Call>
  void scale(const Call& call, T* sums, int64_t n) const {
    if (!in_tiles()) return;
    const T factor = static_cast<T>(call.scale);
    for (int64_t j = 0; j < n; ++j) sums[j] *= factor;
  }
  void multiply(const BlockProduct<T>& product) const {
    if constexpr (std::is_same_v<T, float>) {
      if (!in_floats()) return multiply_brain_block(brain, product);
    }
    multiply_block(product);
  }
};

// Address of row i of matrix (batch, head).
inline char* row_address(const dt_view& x, int64_t batch, int64_t head, int64_t i) {
  const int64_t at = batch * x.strides[0] + head * x.strides[1] + i * x.strides[2];
  return data<char>(x) + at * bytes_of(x.dtype);
}

// Rows [first, first + rows) of a matrix: where they are, or copied side by side if they are of
// another dtype or lie so that they would crowd into a few sets of a cache.
template <class T>
BlockRows<T> read_block(T* copy, const dt_view& x, int64_t batch, int64_t head, int64_t first,
                        int64_t rows) {
  const int64_t n = x.sizes[3], row = x.strides[2];
  const bool crowds = row != n && row * static_cast<int64_t>(sizeof(T)) % 2048 == 0;
  if (x.dtype == dtype_of<T> && x.strides[3] == 1 && !crowds)
    return {reinterpret_cast<const T*>(row_address(x, batch, head, first)), row};
  for (int64_t i = 0; i < rows; ++i)
    load_run(copy + i * n, row_address(x, batch, head, first + i), x.dtype, x.strides[3], n);
  return {copy, n};
}

template <class T>
void store_block(const dt_view& x, int64_t batch, int64_t head, int64_t first, int64_t rows,
                 const T* from) {
  const int64_t n = x.sizes[3];
  for (int64_t i = 0; i < rows; ++i)
    store_run(row_address(x, batch, head, first + i), x.dtype, 1, from + i * n, n);
}

// Calls f with the type that a floating dtype is calculated with.
template <class F>
int32_t visit_wide(int32_t dtype, const F& f) {
  return visit_floating(is_narrow_float(dtype) ? dtype_of<float> : dtype, f);
}

// The places of a block of scores: rows of queries, columns of keys.
struct ScoreBlock {
  int64_t batch, head;
  int64_t query, queries, key, keys;

  int64_t diagonal() const { return query - key; }
  // How many of its keys come before what row i may not see.
  int64_t visible(bool is_causal, int64_t i) const {
    return is_causal ? max<int64_t>(0, min(keys, i + diagonal() + 1)) : keys;
  }
};

// Adds the mask to `n` scores of row i.
template <class T>
void add_mask(T* scores, const dt_view& mask, const ScoreBlock& at, int64_t i, int64_t n) {
  T run[kMostKeys];
  const int64_t stride = mask.strides[3];
  const void* const from =
      row_address(mask, at.batch, at.head, at.query + i) + at.key * stride * bytes_of(mask.dtype);
  load_run(run, from, mask.dtype, stride, n);
  if (mask.dtype == dtype_of<bool>) {
    for (int64_t j = 0; j < n; ++j) run[j] = run[j] != 0 ? T(0) : Limits<T>::kLowest;
  }
  for (int64_t j = 0; j < n; ++j) scores[j] += run[j];
}

}  // namespace
}  // namespace dt::cpu
