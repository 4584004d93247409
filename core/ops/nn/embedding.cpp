// Embedding: rows of a table, with the table's gradient.
#include "core/autograd/record.h"
#include "core/ops/checks.h"
#include "core/ops/creation.gen.h"
#include "core/ops/indexing.gen.h"
#include "core/ops/nn.gen.h"
#include "core/ops/nn/checks.h"
#include "core/ops/nn/embedding.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/pointwise_logic.gen.h"
#include "core/ops/reduce.gen.h"
#include "core/ops/views.gen.h"
#include "core/runtime/backend.h"
#include "core/runtime/calls/indexing.gen.h"

namespace dt {

void limit_norms(const Tensor& weight, const Tensor& rows, double max_norm, double norm_type) {
  const GradMode no_grad(false);
  const Tensor table = weight.detach();
  const Tensor chosen = index_select(table, 0, rows);
  const Tensor length = norm(chosen, norm_type, {{1}}, true);
  const Tensor shrink = mul(reciprocal(add(length, 1e-7)), max_norm);
  index_put_(table, {rows}, mul(chosen, where(gt(length, max_norm), shrink, 1.0)));
}

Tensor frequencies(const Tensor& rows, int64_t table_size, DType dtype) {
  const Tensor ones = full(rows.sizes(), 1, dtype, rows.device());
  return index_select(index_sum({table_size}, 0, rows, ones), 0, rows);
}

namespace {

struct EmbeddingOptions {
  int64_t padding_idx;  // -1: none
  bool scale_grad_by_freq;
};

Tensor rows_of(const Tensor& indices) {
  return reshape(to_dtype(indices, kIndexDType), {indices.numel()});
}

// The gradient of the table: g's rows added up where they came from.
Tensor table_gradient(Tensor g, const Tensor& rows, const Dims& sizes, EmbeddingOptions options) {
  g = reshape(g, {rows.numel(), sizes[1]});
  if (options.scale_grad_by_freq) {
    g = true_divide(g, unsqueeze(frequencies(rows, sizes[0], g.dtype()), 1));
  }
  if (options.padding_idx >= 0) g = masked_fill(g, unsqueeze(eq(rows, options.padding_idx), 1), 0);
  return index_sum(sizes, 0, rows, g);
}

}  // namespace

Tensor embedding(const Tensor& input, const Tensor& weight, std::optional<int64_t> padding_idx,
                 std::optional<double> max_norm, double norm_type, bool scale_grad_by_freq,
                 bool sparse) {
  check_embedding(input, weight, max_norm.has_value(), sparse);
  check_padding_idx(padding_idx, weight.size(0));
  const EmbeddingOptions options{padding_row(padding_idx, weight.size(0)), scale_grad_by_freq};
  const Tensor rows = rows_of(input);
  if (max_norm) limit_norms(weight, rows, *max_norm, norm_type);

  Dims sizes = input.sizes();
  sizes.push_back(weight.size(1));
  const Tensor y = make_empty(sizes, weight.dtype(), weight.device());
  IndexSelectCall call;
  call.y = View(y, {rows.numel(), weight.size(1)}, {weight.size(1), 1}, 0);
  call.x = weight;
  call.index = rows;
  call.dim = 0;
  run(op::index_select, call);
  if (!needs_graph(weight)) return y;
  // As in PyTorch, what limits norms goes over the indices in a row, and these are kept.
  const Tensor kept = max_norm ? contiguous(input, MemoryFormat::kContiguous) : input;
  return record("EmbeddingBackward0", y, {weight},
                [saved = Saved::input(kept), table = weight.sizes(), options](BackwardCall& b) {
                  const Tensor looked_up = rows_of(saved.get(b.node));
                  b.results[0] = table_gradient(b.grad(), looked_up, table, options);
                });
}

}  // namespace dt
