// Bags of rows of a table. The kernel says which bag each entry counts in, and which rows the
// maxima are: the gradients follow from that, as plain ops or, for sums and means, by a kernel
// where a backend has one and nobody differentiates again.
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
#include "core/runtime/calls/nn.gen.h"

namespace dt {
namespace {

struct BagOptions {
  bool mean, max, scale_grad_by_freq;
  int64_t padding_row;
};

// What the kernel found besides the result.
struct Books {
  Tensor rows, bag, count, chosen;
};

// By how much each entry counts in the gradient of the table; undefined: as it is.
Tensor entry_factors(const Books& books, const Tensor& factors, const Dims& table, DType dtype,
                     const BagOptions& options) {
  if (!options.scale_grad_by_freq) return factors;
  const Tensor often = frequencies(books.rows, table[0], dtype);
  return factors.defined() ? true_divide(factors, often) : reciprocal(often);
}

// The gradients of the sums of bags.
Tensor sum_gradients(const Tensor& g, const Books& books, const BagOptions& options) {
  if (!options.mean) return g;
  const DType wide = info(g.dtype()).compute;
  const Tensor by = reciprocal(to_dtype(clamp_min(books.count, 1), wide));
  return to_dtype(mul(to_dtype(g, wide), unsqueeze(by, 1)), g.dtype());
}

// The gradient of the bag that each entry counts in; zeros of an entry in none.
Tensor entry_gradients(const Tensor& g, const Tensor& bag) {
  const int64_t bags = g.size(0);
  const Tensor with_none = cat({g, new_zeros(g, {1, g.size(1)})}, 0);
  return index_select(with_none, 0, where(lt(bag, 0), bags, bag));
}

Tensor table_gradient(const Tensor& g, const Books& books, const Tensor& factors, const Dims& table,
                      bool create_graph) {
  if (!create_graph) {
    const Tensor dense = contiguous(g), gtable = make_empty(table, g.dtype(), g.device());
    EmbeddingBagBackwardCall call;
    call.gtable = gtable;
    call.g = dense;
    call.rows = books.rows;
    call.bag = books.bag;
    call.factors = factors;
    if (run_shortcut(op::embedding_bag_backward, call)) return gtable;
  }
  Tensor each = entry_gradients(g, books.bag);
  if (factors.defined()) each = mul(each, unsqueeze(factors, 1));
  return index_sum(table, 0, books.rows, each);
}

Tensor max_gradient(const Tensor& g, const Tensor& chosen, const Dims& table) {
  const Tensor none = zeros(table, g.dtype(), g.device());
  if (table[0] == 0) return mul(none, sum(g));  // all bags are empty
  const Tensor from = masked_fill(g, lt(chosen, 0), 0);
  return scatter_add(none, 0, clamp_min(chosen, 0), from);
}

// Of each entry's factor: the product of its row and its bag's gradient.
Tensor factor_gradient(const Tensor& g, const Books& books, const Tensor& table) {
  return sum(mul(entry_gradients(g, books.bag), index_select(table, 0, books.rows)), {{1}});
}

void bag_backward(BackwardCall& b, const Books& books, const Tensor& table, const Dims& sizes,
                  const Tensor& factors, const BagOptions& options) {
  const Tensor& g = b.grad();
  if (b.wants(0)) {
    b.results[0] = options.max
                       ? max_gradient(g, books.chosen, sizes)
                       : table_gradient(sum_gradients(g, books, options), books,
                                        entry_factors(books, factors, sizes, g.dtype(), options),
                                        sizes, b.create_graph);
  }
  if (b.wants(1)) b.results[1] = factor_gradient(g, books, table);
}

Tensor sum_bags(const Tensor& table, const Tensor& rows, const Tensor& offsets, int64_t bags,
                const Tensor& factors, const BagOptions& options) {
  const auto indices = [&](const Dims& sizes) {
    return make_empty(sizes, kIndexDType, table.device());
  };
  const Tensor dense = contiguous(table);
  const Tensor y = make_empty({bags, table.size(1)}, table.dtype(), table.device());
  const Books books{rows, indices(rows.sizes()), indices({bags}),
                    options.max ? indices(y.sizes()) : Tensor()};
  EmbeddingBagCall call;
  call.y = y;
  call.bag = books.bag;
  call.count = books.count;
  call.chosen = books.chosen;
  call.table = dense;
  call.rows = rows;
  call.offsets = offsets;
  call.factors = factors;
  call.mean = options.mean;
  call.padding_row = options.padding_row;
  run(op::embedding_bag, call);
  if (!needs_graph({table, factors})) return y;
  return record(
      "EmbeddingBagBackward0", y, {table, factors},
      [books, options, sizes = table.sizes(), saved = save_if(needs_graph(factors), table),
       looked_up = Saved::input(rows), by = Saved::input(factors)](BackwardCall& b) {
        looked_up.get(b.node);  // unchanged, or fails
        bag_backward(b, books, saved.get(b.node), sizes, by.get(b.node), options);
      });
}

}  // namespace

Tensor embedding_bag(const Tensor& input, const Tensor& weight, const Tensor& offsets,
                     std::optional<double> max_norm, double norm_type, bool scale_grad_by_freq,
                     const std::string& mode, bool sparse, const Tensor& per_sample_weights,
                     bool include_last_offset, std::optional<int64_t> padding_idx) {
  check_embedding_bag(input, weight, offsets, per_sample_weights);
  check_bag_mode(mode, scale_grad_by_freq, sparse, per_sample_weights.defined());
  const bool is_matrix = input.ndim() == 2;
  const Tensor rows = contiguous(reshape(to_dtype(input, kIndexDType), {input.numel()}));
  const Tensor begins =
      is_matrix ? mul(arange(0, static_cast<double>(input.size(0)), 1, kIndexDType, input.device()),
                      input.size(1))
                : contiguous(to_dtype(offsets, kIndexDType));
  check_bags(input, weight, begins, per_sample_weights, include_last_offset && !is_matrix,
             padding_idx);
  if (max_norm) limit_norms(weight, rows, *max_norm, norm_type);
  const int64_t bags = begins.numel() - (include_last_offset && !is_matrix ? 1 : 0);
  // Not a view of a vector: one that comes to require grad has a say in a gradient with a graph.
  const Tensor line = is_matrix && per_sample_weights.defined() ? reshape(per_sample_weights, {-1})
                                                                : per_sample_weights;
  const Tensor factors = line.defined() ? contiguous(line) : line;
  return sum_bags(weight, rows, begins, bags, factors,
                  {mode == "mean", mode == "max", scale_grad_by_freq,
                   padding_row(padding_idx, weight.size(0))});
}

}  // namespace dt
