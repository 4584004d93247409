// Gradients of attention: the weights are computed again, block by block, from the scores and the
// logarithms of their sums (arXiv 2205.14135). With p the weights and o the result,
//   dv = p^T @ g,  ds = p * (g @ v^T - sum(g * o)),  dq = scale * ds @ k,  dk = scale * ds^T @ q.
// Dropout applies to the p of dv and to g @ v^T: sum(g * o) is what that makes of it.
// A head of keys belongs to one thread: a block of keys, whose gradients stay in a cache, meets one
// block of queries after the other. Where there are few heads, the keys of one are cut into parts,
// each with a gradient of the queries of its own; these are added in the end. The shapes alone say
// how many.
#pragma once

#include "kernels/cpu/attention_dropout.h"

namespace dt::cpu {
namespace {

constexpr int64_t kFewHeads = 16;

struct BackwardPlan {
  AttentionSizes sizes;
  int64_t parts, keys_per_part;

  explicit BackwardPlan(const calls::AttentionBackward& call)
      : sizes(call.query, call.key, call.value) {
    const int64_t blocks = sizes.keys.count(), heads = sizes.batch * sizes.shared_heads;
    const int64_t wanted =
        min(max<int64_t>(1, blocks), ceil_div(kFewHeads, max<int64_t>(1, heads)));
    keys_per_part = max<int64_t>(1, ceil_div(blocks, wanted)) * sizes.keys.rows;
    parts = max<int64_t>(1, ceil_div(sizes.keys.n, keys_per_part));
  }

  int64_t query_elements() const {
    return sizes.batch * sizes.heads * sizes.queries.n * sizes.features;
  }
};

template <class T>
struct BackwardScratch {
  T *query, *g, *y, *rows;
  T *packed_query, *packed_g, *packed_key, *turned_key, *turned_value;
  T *weights, *slopes;
  T *gkey, *gvalue;

  BackwardScratch(const AttentionSizes& s, Workspace* w)
      : query(w->take<T>(s.queries.rows * s.features)),
        g(w->take<T>(s.queries.rows * s.value_features)),
        y(w->take<T>(s.queries.rows * s.value_features)),
        rows(w->take<T>(s.keys.rows * s.most_features())),
        packed_query(w->take<T>(BlockUnit<T>::panel(s.queries.rows, s.features))),
        packed_g(w->take<T>(BlockUnit<T>::panel(s.queries.rows, s.value_features))),
        packed_key(w->take<T>(BlockUnit<T>::panel(s.keys.rows, s.features))),
        turned_key(w->take<T>(BlockUnit<T>::panel(s.features, s.keys.rows))),
        turned_value(w->take<T>(BlockUnit<T>::panel(s.value_features, s.keys.rows))),
        weights(w->take<T>(s.queries.rows * s.score_row())),
        slopes(w->take<T>(s.queries.rows * s.score_row())),
        gkey(w->take<T>(s.keys.rows * s.features)),
        gvalue(w->take<T>(s.keys.rows * s.value_features)) {}
};

// The gradient of the queries while it is summed up: rows of memory as for any operand.
template <class T>
struct QuerySums {
  T* data;  // null: nobody asks for it
  int64_t batch, head, row;

  T* at(const ScoreBlock& b) const {
    return data + b.batch * batch + b.head * head + b.query * row;
  }
};

// A block of keys on its way along the queries of the heads that share it.
template <class T>
struct BackwardBlock {
  const calls::AttentionBackward& call;
  const AttentionSizes& sizes;
  BackwardScratch<T> scratch;
  const QuerySums<T>& gquery;
  const T* means;  // of each row: the gradients of its weights, weighted
  BlockUnit<T> unit;
  const WeightDropout<T>& dropout;
  ScoreBlock at;
  BlockRows<T> query, g;

  void load_keys(int64_t shared_head) const;
  void load_queries();
  void multiply(BlockProduct<T> p, Above above) const;
  BackwardBlock strip(int64_t first, int64_t count) const;
  void make_slopes() const;
  void score() const;
  int64_t row(int64_t i) const {
    return (at.batch * sizes.heads + at.head) * sizes.queries.n + at.query + i;
  }
  void slope_row(int64_t i) const;
  void add_query_gradients() const;
  void add_key_gradients() const;
  void store_keys(int64_t shared_head) const;
};

template <class T>
void BackwardBlock<T>::load_keys(int64_t shared_head) const {
  const int64_t d = sizes.features, e = sizes.value_features;
  const auto key = read_block(scratch.rows, call.key, at.batch, shared_head, at.key, at.keys);
  unit.pack_turned(scratch.turned_key, key, d, at.keys);
  unit.pack(scratch.packed_key, key, at.keys, d);
  const auto value = read_block(scratch.rows, call.value, at.batch, shared_head, at.key, at.keys);
  unit.pack_turned(scratch.turned_value, value, e, at.keys);
  for (int64_t i = 0; i < at.keys * d; ++i) scratch.gkey[i] = 0;
  for (int64_t i = 0; i < at.keys * e; ++i) scratch.gvalue[i] = 0;
}

template <class T>
void BackwardBlock<T>::load_queries() {
  const int64_t d = sizes.features, e = sizes.value_features;
  query = read_block(scratch.query, call.query, at.batch, at.head, at.query, at.queries);
  unit.pack(scratch.packed_query, query, at.queries, d);
  g = read_block(scratch.g, call.g, at.batch, at.head, at.query, at.queries);
  unit.pack(scratch.packed_g, g, at.queries, e);
}

template <class T>
void BackwardBlock<T>::multiply(BlockProduct<T> p, Above above) const {
  p.above = call.is_causal ? above : Above::kCounts;
  p.diagonal = at.diagonal();
  unit.multiply(p);
}

// The scores, and the gradients of the weights.
template <class T>
void BackwardBlock<T>::score() const {
  const int64_t d = sizes.features, e = sizes.value_features, row = sizes.score_row();
  multiply({at.queries, at.keys, d, query.data, query.row, 1, scratch.turned_key, scratch.weights,
            row, unit.alpha(call), false},
           Above::kUnused);
  multiply({at.queries, at.keys, e, g.data, g.row, 1, scratch.turned_value, scratch.slopes, row,
            T(1), false},
           Above::kUnused);
}

// Makes weights of a row's scores, and gradients of the scores of those of the weights.
template <class T>
void BackwardBlock<T>::slope_row(int64_t i) const {
  const int64_t n = at.visible(call.is_causal, i);
  T* const weights = scratch.weights + i * sizes.score_row();
  T* const slopes = scratch.slopes + i * sizes.score_row();
  unit.scale(call, weights, n);
  if (call.mask) add_mask(weights, *call.mask, at, i, n);
  exp_span(weights, weights, data<const T>(call.lse)[row(i)], n);
  RowNumbers room;
  const uint32_t* const numbers = dropout.drops() ? dropout.draw(room, at, i, n) : nullptr;
  if (numbers) dropout.apply(slopes, numbers, n);
  const T mean = means[row(i)];
  for (int64_t j = 0; j < n; ++j) slopes[j] = weights[j] * (slopes[j] - mean);
  if (numbers) dropout.apply(weights, numbers, n);
  unit.scale(call, slopes, n);
  for (int64_t j = n; j < at.keys; ++j) weights[j] = slopes[j] = 0;
}

// Some of the block's rows.
template <class T>
BackwardBlock<T> BackwardBlock<T>::strip(int64_t first, int64_t count) const {
  BackwardBlock some = *this;
  some.at.query += first, some.at.queries = count;
  some.query.data += first * query.row, some.g.data += first * g.row;
  some.scratch.weights += first * sizes.score_row();
  some.scratch.slopes += first * sizes.score_row();
  return some;
}

template <class T>
void BackwardBlock<T>::make_slopes() const {
  const int64_t rows = unit.strip(at.queries);
  for (int64_t first = 0; first < at.queries; first += rows) {
    const BackwardBlock some = strip(first, min(rows, at.queries - first));
    some.score();
    for (int64_t i = 0; i < some.at.queries; ++i) some.slope_row(i);
    some.add_query_gradients();
  }
}

template <class T>
void BackwardBlock<T>::add_query_gradients() const {
  if (gquery.data == nullptr) return;
  multiply({at.queries, sizes.features, at.keys, scratch.slopes, sizes.score_row(), 1,
            scratch.packed_key, gquery.at(at), gquery.row, unit.alpha(call), true},
           Above::kZero);
}

template <class T>
void BackwardBlock<T>::add_key_gradients() const {
  const int64_t d = sizes.features, e = sizes.value_features, row = sizes.score_row();
  const T scale = unit.alpha(call);
  if (call.gvalue) {
    multiply({at.keys, e, at.queries, scratch.weights, 1, row, scratch.packed_g, scratch.gvalue, e,
              T(1), true},
             Above::kZeroFlipped);
  }
  if (call.gkey) {
    multiply({at.keys, d, at.queries, scratch.slopes, 1, row, scratch.packed_query, scratch.gkey, d,
              scale, true},
             Above::kZeroFlipped);
  }
}

template <class T>
void BackwardBlock<T>::store_keys(int64_t shared_head) const {
  if (call.gkey) store_block(*call.gkey, at.batch, shared_head, at.key, at.keys, scratch.gkey);
  if (call.gvalue)
    store_block(*call.gvalue, at.batch, shared_head, at.key, at.keys, scratch.gvalue);
}

// Keys [first, end) of a head, with all queries that share it.
template <class T>
void differentiate_keys(BackwardBlock<T> block, int64_t shared_head, int64_t first, int64_t end) {
  const AttentionSizes& sizes = block.sizes;
  ScoreBlock& at = block.at;
  for (at.key = first; at.key < end; at.key += sizes.keys.rows) {
    at.keys = min(sizes.keys.rows, end - at.key);
    block.load_keys(shared_head);
    const int64_t head = shared_head * sizes.group();
    for (at.head = head; at.head < head + sizes.group(); ++at.head) {
      for (at.query = 0; at.query < sizes.queries.n; at.query += sizes.queries.rows) {
        at.queries = sizes.queries.rows_at(at.query);
        if (block.call.is_causal && at.query + at.queries <= at.key) continue;
        block.load_queries();
        block.make_slopes();
        block.add_key_gradients();
      }
    }
    block.store_keys(shared_head);
  }
}

template <class T>
void clear_queries(const QuerySums<T>& sums, const AttentionSizes& sizes, ScoreBlock at) {
  for (int64_t h = 0; h < sizes.group() && sums.data; ++h, ++at.head) {
    for (at.query = 0; at.query < sizes.queries.n; ++at.query) {
      for (int64_t j = 0; j < sizes.features; ++j) sums.at(at)[j] = 0;
    }
  }
}

// The gradient of the queries can be summed up where it belongs if nothing has to be added to it
// and it is calculated with.
template <class T>
bool sums_in_place(const calls::AttentionBackward& call, const BackwardPlan& plan) {
  return plan.parts == 1 && call.gquery && call.gquery->dtype == dtype_of<T>;
}

// Where all of a call lies.
template <class T>
struct BackwardMemory {
  T* query_sums;  // of each part
  T* means;
  int64_t worker_bytes;
  char* workers;

  BackwardMemory(const calls::AttentionBackward& call, const BackwardPlan& plan,
                 Workspace workspace) {
    const bool apart = call.gquery && !sums_in_place<T>(call, plan);
    query_sums = workspace.take<T>(apart ? plan.parts * plan.query_elements() : 0);
    means = workspace.take<T>(plan.sizes.batch * plan.sizes.heads * plan.sizes.queries.n);
    Workspace one(nullptr);
    BackwardScratch<T>(plan.sizes, &one);
    worker_bytes = one.bytes();
    shared_bytes = workspace.bytes();
    workers = workspace.take<char>(0);
  }

  int64_t shared_bytes;

  QuerySums<T> sums(const calls::AttentionBackward& call, const BackwardPlan& plan,
                    int64_t part) const {
    if (!call.gquery) return {};
    if (sums_in_place<T>(call, plan)) {
      const dt_view& gq = *call.gquery;
      return {data<T>(gq), gq.strides[0], gq.strides[1], gq.strides[2]};
    }
    const AttentionSizes& s = plan.sizes;
    const int64_t matrix = s.queries.n * s.features;
    return {query_sums + part * plan.query_elements(), s.heads * matrix, matrix, s.features};
  }
};

// The sums of g * y of all rows, which each block of keys asks for.
template <class T>
void find_means(const dt_stream* stream, const calls::AttentionBackward& call,
                const AttentionSizes& s, const BackwardMemory<T>& memory) {
  const int64_t blocks = s.queries.count(), items = s.batch * s.heads * blocks;
  const int64_t elements = s.batch * s.heads * s.queries.n * s.value_features;
  for_each_item(stream, items, worth_threads(stream, elements / kLanes<T>),
                [&](int64_t item, int64_t worker) {
                  Workspace workspace(memory.workers + worker * memory.worker_bytes);
                  const BackwardScratch<T> scratch(s, &workspace);
                  const int64_t matrix = item / blocks, first = item % blocks * s.queries.rows;
                  const int64_t batch = matrix / s.heads, head = matrix % s.heads;
                  const int64_t rows = s.queries.rows_at(first), n = s.value_features;
                  const auto g = read_block(scratch.g, call.g, batch, head, first, rows);
                  const auto y = read_block(scratch.y, call.y, batch, head, first, rows);
                  for (int64_t i = 0; i < rows; ++i) {
                    for (int64_t j = 0; j < n; ++j)
                      scratch.rows[j] = y.data[i * y.row + j] * g.data[i * g.row + j];
                    memory.means[matrix * s.queries.n + first + i] =
                        reduce_span<Sum<T>>(scratch.rows, n);
                  }
                });
}

// Adds the parts' gradients of the queries, row by row.
template <class T>
void join_parts(const dt_stream* stream, const calls::AttentionBackward& call,
                const BackwardPlan& plan, const BackwardMemory<T>& memory) {
  const AttentionSizes& s = plan.sizes;
  const int64_t elements = plan.query_elements(), matrices = s.batch * s.heads;
  parallel_for(stream, matrices, elements * plan.parts, [&](int64_t m) {
    for (int64_t i = 0; i < s.queries.n; ++i) {
      T* const sum = memory.query_sums + (m * s.queries.n + i) * s.features;
      for (int64_t part = 1; part < plan.parts; ++part) {
        for (int64_t j = 0; j < s.features; ++j) sum[j] += sum[part * elements + j];
      }
      store_block(*call.gquery, m / s.heads, m % s.heads, i, 1, sum);
    }
  });
}

template <class T>
void differentiate(const dt_stream* stream, const calls::AttentionBackward& call) {
  const BackwardPlan plan(call);
  const AttentionSizes& s = plan.sizes;
  const BackwardMemory<T> memory(call, plan, Workspace(call.workspace));
  const BlockUnit<T> unit(stream, call.query);
  const WeightDropout<T> dropout(call);
  const int64_t cycles =
      s.batch * s.heads * s.queries.n * s.keys.n * (5 * s.most_features() + 16) / (2 * kLanes<T>);
  find_means(stream, call, s, memory);
  const int64_t items = s.batch * s.shared_heads * plan.parts;
  for_each_item(stream, items, worth_threads(stream, cycles), [&](int64_t item, int64_t worker) {
    const int64_t part = item % plan.parts, matrix = item / plan.parts;
    const int64_t batch = matrix / s.shared_heads, shared_head = matrix % s.shared_heads;
    Workspace workspace(memory.workers + worker * memory.worker_bytes);
    const BackwardScratch<T> scratch(s, &workspace);
    const QuerySums<T> sums = memory.sums(call, plan, part);
    const ScoreBlock at = {batch, shared_head * s.group(), 0, 0, 0, 0};
    clear_queries(sums, s, at);
    const int64_t first = part * plan.keys_per_part;
    differentiate_keys<T>({call, s, scratch, sums, memory.means, unit, dropout, at, {}, {}},
                          shared_head, first, min(first + plan.keys_per_part, s.keys.n));
  });
  if (call.gquery && !sums_in_place<T>(call, plan)) join_parts(stream, call, plan, memory);
}

}  // namespace
}  // namespace dt::cpu
