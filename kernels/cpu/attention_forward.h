// Attention without a matrix of all scores: a block of queries meets one block of keys after the
// other and keeps, for each of its rows, the largest score so far, the sum of exponentials that are
// relative to it, and their sum with the values (arXiv 1805.02867, 2205.14135). A block of queries
// is worked off by one thread in the order of the keys.
#pragma once

#include "kernels/cpu/attention_dropout.h"
#include "kernels/cpu/attention_few.h"

namespace dt::cpu {
namespace {

template <class T>
struct AttentionScratch {
  T *query, *rows, *packed_key, *packed_value, *scores, *sums;
  T *top, *total;  // of each row: the largest score, the sum of exponentials

  AttentionScratch(const AttentionSizes& s, Workspace* w)
      : query(w->take<T>(s.queries.rows * s.features)),
        rows(w->take<T>(s.keys.rows * s.most_features())),
        packed_key(w->take<T>(BlockUnit<T>::panel(s.features, s.keys.rows))),
        packed_value(w->take<T>(BlockUnit<T>::panel(s.keys.rows, s.value_features))),
        scores(w->take<T>(max(kStripQueries, kStripOfTiles) * s.score_row())),
        sums(w->take<T>(s.queries.rows * s.value_features)),
        top(w->take<T>(s.queries.rows)),
        total(w->take<T>(s.queries.rows)) {}
};

// A block of queries on its way along the keys.
template <class T>
struct AttentionRows {
  const calls::Attention& call;
  const AttentionSizes& sizes;
  AttentionScratch<T> scratch;
  BlockUnit<T> unit;
  const WeightDropout<T>& dropout;
  ScoreBlock at;
  BlockRows<T> query;

  int64_t shared_head() const { return at.head / sizes.group(); }
  Above above(Above kind) const { return call.is_causal ? kind : Above::kCounts; }

  void begin();
  void pack_keys() const;
  AttentionRows strip(int64_t first, int64_t count) const;
  void meet_keys() const;
  void meet_keys_of_few(int64_t end) const;
  void score() const;
  void score_few() const;
  void weigh_row(int64_t i) const;
  void add_values() const;
  void add_values_of_few(int64_t end) const;
  void finish() const;
};

template <class T>
void AttentionRows<T>::begin() {
  query = read_block(scratch.query, call.query, at.batch, at.head, at.query, at.queries);
  for (int64_t i = 0; i < at.queries; ++i)
    scratch.top[i] = Limits<T>::kLowest, scratch.total[i] = 0;
  for (int64_t i = 0; i < at.queries * sizes.value_features; ++i) scratch.sums[i] = 0;
}

template <class T>
void AttentionRows<T>::pack_keys() const {
  const BlockRows<T> key =
      read_block(scratch.rows, call.key, at.batch, shared_head(), at.key, at.keys);
  unit.pack_turned(scratch.packed_key, key, sizes.features, at.keys);
  const BlockRows<T> value =
      read_block(scratch.rows, call.value, at.batch, shared_head(), at.key, at.keys);
  unit.pack(scratch.packed_value, value, at.keys, sizes.value_features);
}

// Some of the block's rows.
template <class T>
AttentionRows<T> AttentionRows<T>::strip(int64_t first, int64_t count) const {
  AttentionRows some = *this;
  some.at.query += first, some.at.queries = count;
  some.query.data += first * query.row;
  some.scratch.sums += first * sizes.value_features;
  some.scratch.top += first, some.scratch.total += first;
  return some;
}

template <class T>
void AttentionRows<T>::score() const {
  BlockProduct<T> p = {};
  p.m = at.queries, p.n = at.keys, p.k = sizes.features;
  p.a = query.data, p.a_row = query.row, p.a_k = 1;
  p.b = scratch.packed_key;
  p.y = scratch.scores, p.y_row = sizes.score_row();
  p.alpha = unit.alpha(call);
  p.above = above(Above::kUnused), p.diagonal = at.diagonal();
  unit.multiply(p);
}

template <class T>
void AttentionRows<T>::score_few() const {
  const RowsAhead ahead(call.value, at.batch, shared_head(), at.key, at.keys);
  with_stored_rows(scratch.rows, call.key, at.batch, shared_head(), at.key, at.keys,
                   [&](auto* rows, int64_t row) {
                     for_each_few(at.keys, ahead, [&](auto count, int64_t j) {
                       for (int64_t i = 0; i < at.queries; ++i) {
                         dot_few<T, count()>(scratch.scores + i * sizes.score_row() + j,
                                             query.data + i * query.row, unit.alpha(call),
                                             rows + j * row, row, sizes.features);
                       }
                     });
                   });
}

// Makes exponentials of a row's scores, relative to the largest so far. Those that are dropped
// count in their sum.
template <class T>
void AttentionRows<T>::weigh_row(int64_t i) const {
  T* const row = scratch.scores + i * sizes.score_row();
  const int64_t n = at.visible(call.is_causal, i);
  unit.scale(call, row, n);
  if (call.mask) add_mask(row, *call.mask, at, i, n);
  const T before = scratch.top[i];
  const T top = Largest<T>::apply(before, reduce_span<Largest<T>>(row, n));
  const T shift = top == Limits<T>::kLowest ? T(0) : top;  // a row that has seen nothing yet
  const T total = exp_span(row, row, shift, n);
  if (dropout.drops()) {
    RowNumbers numbers;
    dropout.apply(row, dropout.draw(numbers, at, i, n), n);
  }
  for (int64_t j = n; j < at.keys; ++j) row[j] = 0;
  scratch.top[i] = top;
  if (before == top) {
    scratch.total[i] += total;
    return;
  }
  const T factor = math::exp(before - shift);
  scratch.total[i] = scratch.total[i] * factor + total;
  T* const sums = scratch.sums + i * sizes.value_features;
  for (int64_t j = 0; j < sizes.value_features; ++j) sums[j] *= factor;
}

template <class T>
void AttentionRows<T>::add_values() const {
  BlockProduct<T> p = {};
  p.m = at.queries, p.n = sizes.value_features, p.k = at.keys;
  p.a = scratch.scores, p.a_row = sizes.score_row(), p.a_k = 1;
  p.b = scratch.packed_value;
  p.y = scratch.sums, p.y_row = sizes.value_features;
  p.alpha = 1, p.adds = true;
  p.above = above(Above::kZero), p.diagonal = at.diagonal();
  unit.multiply(p);
}

template <class T>
void AttentionRows<T>::add_values_of_few(int64_t end) const {
  const int64_t next = at.key + at.keys;
  const RowsAhead ahead(call.key, at.batch, shared_head(), next, min(sizes.keys.rows, end - next));
  with_stored_rows(scratch.rows, call.value, at.batch, shared_head(), at.key, at.keys,
                   [&](auto* rows, int64_t row) {
                     for_each_few(at.keys, ahead, [&](auto count, int64_t j) {
                       for (int64_t i = 0; i < at.queries; ++i) {
                         add_few<T, count()>(scratch.sums + i * sizes.value_features,
                                             scratch.scores + i * sizes.score_row() + j,
                                             rows + j * row, row, sizes.value_features);
                       }
                     });
                   });
}

template <class T>
void AttentionRows<T>::meet_keys() const {
  pack_keys();
  const int64_t rows = unit.strip(at.queries);
  for (int64_t first = 0; first < at.queries; first += rows) {
    const AttentionRows some = strip(first, min(rows, at.queries - first));
    if (call.is_causal && some.at.diagonal() + some.at.queries <= 0) continue;
    some.score();
    for (int64_t i = 0; i < some.at.queries; ++i) some.weigh_row(i);
    some.add_values();
  }
}

template <class T>
void AttentionRows<T>::meet_keys_of_few(int64_t end) const {
  score_few();
  for (int64_t i = 0; i < at.queries; ++i) weigh_row(i);
  add_values_of_few(end);
}

template <class T>
void AttentionRows<T>::finish() const {
  for (int64_t i = 0; i < at.queries; ++i) {
    const T total = scratch.total[i], scale = total == 0 ? T(0) : 1 / total;
    T* const sums = scratch.sums + i * sizes.value_features;
    for (int64_t j = 0; j < sizes.value_features; ++j) sums[j] *= scale;
    if (!call.lse) continue;
    const int64_t row = (at.batch * sizes.heads + at.head) * sizes.queries.n + at.query + i;
    data<T>(*call.lse)[row] = total == 0 ? Limits<T>::kHighest : scratch.top[i] + math::log(total);
  }
  store_block(call.y, at.batch, at.head, at.query, at.queries, scratch.sums);
}

template <class T>
void attend(const calls::Attention& call, const AttentionSizes& sizes, const BlockUnit<T>& unit,
            const WeightDropout<T>& dropout, int64_t item, Workspace workspace) {
  const AttentionScratch<T> scratch(sizes, &workspace);
  const int64_t blocks = sizes.queries.count(), matrix = item / blocks;
  const int64_t query = item % blocks * sizes.queries.rows;
  const int64_t queries = sizes.queries.rows_at(query);
  AttentionRows<T> rows = {call, sizes, scratch, unit, dropout, {}, {}};
  rows.at = {matrix / sizes.heads, matrix % sizes.heads, query, queries, 0, 0};
  rows.begin();
  const bool is_few = queries <= kFewQueries;
  const int64_t end = call.is_causal ? min(sizes.keys.n, query + queries) : sizes.keys.n;
  for (int64_t key = 0; key < end; key += sizes.keys.rows) {
    rows.at.key = key, rows.at.keys = min(sizes.keys.rows, end - key);
    is_few ? rows.meet_keys_of_few(end) : rows.meet_keys();
  }
  rows.finish();
}

template <class T>
int64_t worker_bytes(const AttentionSizes& sizes) {
  Workspace workspace(nullptr);
  AttentionScratch<T>(sizes, &workspace);
  return workspace.bytes();
}

template <class T>
void attend_all(const dt_stream* stream, const calls::Attention& call) {
  const AttentionSizes sizes(call.query, call.key, call.value);
  const int64_t items = sizes.batch * sizes.heads * sizes.queries.count();
  const int64_t cycles = sizes.batch * sizes.heads * sizes.queries.n * sizes.keys.n *
                         (sizes.features + sizes.value_features + 16) / kLanes<T>;
  const BlockUnit<T> unit(stream, call.query);
  const WeightDropout<T> dropout(call);
  const int64_t bytes = worker_bytes<T>(sizes);
  char* const scratch = static_cast<char*>(call.workspace);
  for_each_item(stream, items, worth_threads(stream, cycles), [&](int64_t item, int64_t worker) {
    attend<T>(call, sizes, unit, dropout, item, Workspace(scratch + worker * bytes));
  });
}

}  // namespace
}  // namespace dt::cpu
