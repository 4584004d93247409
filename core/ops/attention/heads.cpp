// multi_head_attention_forward: projections around attention. Inside, sizes are [queries or keys,
// batch, features].
#include <cmath>
#include <limits>

#include "core/ops/autocast.gen.h"
#include "core/ops/attention.gen.h"
#include "core/ops/attention/checks.h"
#include "core/ops/copy.h"
#include "core/ops/creation.gen.h"
#include "core/ops/formula.h"
#include "core/ops/linalg.gen.h"
#include "core/ops/nn.gen.h"
#include "core/ops/pointwise_logic.gen.h"
#include "core/ops/reduce.gen.h"
#include "core/ops/shapes.gen.h"
#include "core/ops/views.gen.h"

namespace dt {
namespace {

struct Triple {
  Tensor q, k, v;
};

// linear of [positions, batch, features], whose result lies in memory as x does: a batch that comes
// first there stays first, and nothing is copied.
Tensor project(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  if (x.is_contiguous() || !transpose(x, 0, 1).is_contiguous())
    return autocast::linear(x, weight, bias);
  return transpose(autocast::linear(transpose(x, 0, 1), weight, bias), 0, 1);
}

// The three projections of inputs that may be one tensor: then they are one product.
Triple project_each(const Triple& x, const Triple& weight, const Triple& bias) {
  return {project(x.q, weight.q, bias.q), project(x.k, weight.k, bias.k),
          project(x.v, weight.v, bias.v)};
}

// What belongs to query, key and value, `features` of each.
Triple thirds(const Tensor& x, int dim, int64_t features) {
  if (!x.defined()) return {};
  const std::vector<Tensor> parts = split_with_sizes(x, {features, features, features}, dim);
  return {parts[0], parts[1], parts[2]};
}

Triple project_together(const Triple& x, const Tensor& weight, const Tensor& bias) {
  const bool is_one = x.q.is_same(x.k) && x.k.is_same(x.v);
  const int64_t features = x.q.size(2);
  if (is_one) return thirds(project(x.q, weight, bias), -1, features);
  return project_each(x, thirds(weight, 0, features), thirds(bias, 0, features));
}

// A mask as numbers that are added: bools are true where there is nothing to see.
Tensor as_addend(const Tensor& mask, const char* name, DType dtype) {
  if (!mask.defined()) return mask;
  check_mask_dtype(mask, name);
  if (!is_bool(mask.dtype())) return mask;
  return masked_fill(zeros(mask.sizes(), dtype, mask.device()), mask,
                     -std::numeric_limits<double>::infinity());
}

// A mask with a column for a further key, which everybody sees.
Tensor with_column(const Tensor& mask) {
  return mask.defined() ? pad(mask, {0, 1}) : mask;
}

// Another look at x, as [batch, heads, positions, features of a head].
Tensor by_heads(const Tensor& x, int64_t heads) {
  const Tensor each = reshape(x, {x.size(0), x.size(1), heads, x.size(2) / heads});
  return permute(each, {1, 2, 0, 3});
}

// The same look at what is given as [batch * heads, positions, features of a head].
Tensor by_batch(const Tensor& x, int64_t batch, int64_t heads) {
  return reshape(x, {batch, heads, x.size(1), x.size(2)});
}

Tensor zeros_behind(const Tensor& x) {
  return autocast::cat({x, new_zeros(x, {x.size(0), x.size(1), 1, x.size(3)})}, 2);
}

// attn_mask [., queries, keys] and the mask of keys [batch, keys] as one.
Tensor join_masks(const Tensor& mask, const Tensor& padding, int64_t batch, int64_t heads,
                  int64_t keys) {
  if (!padding.defined()) return mask;
  check_padding_mask(padding, batch, keys);
  const Tensor columns =
      reshape(expand(view(padding, {batch, 1, 1, keys}), {batch, heads, 1, keys}),
              {batch * heads, 1, keys});
  return mask.defined() ? mask + columns : columns;
}

struct Seen {
  Tensor output;   // [batch, heads, queries, features of a head]
  Tensor weights;  // [batch * heads, queries, keys]
};

// The weights themselves, and what they make of the values.
Seen attend(const Triple& x, const Tensor& mask, double dropout_p) {
  const double scale = std::sqrt(1 / static_cast<double>(x.q.size(-1)));
  const Tensor queries = flatten(x.q, 0, 1) * scale;
  const Tensor keys = transpose(flatten(x.k, 0, 1), -2, -1);
  const Tensor scores =
      mask.defined() ? autocast::baddbmm(mask, queries, keys) : autocast::bmm(queries, keys);
  const Tensor weights = dropout(autocast::softmax(scores, -1), dropout_p, dropout_p > 0);
  const Tensor y = autocast::bmm(weights, flatten(x.v, 0, 1));
  return {by_batch(y, x.q.size(0), x.q.size(1)), weights};
}

Tensor attend_without_weights(const Triple& x, const Tensor& mask, double dropout_p,
                              bool is_causal) {
  const bool is_of_all = !mask.defined() || mask.size(0) == 1;  // which broadcasts as it is
  return autocast::scaled_dot_product_attention(
      x.q, x.k, x.v, is_of_all ? mask : by_batch(mask, x.q.size(0), x.q.size(1)), dropout_p,
      is_causal);
}

// [batch, heads, positions, features of a head] as [positions, batch, features].
Tensor join_heads(const Tensor& x) {
  return flatten(permute(x, {2, 0, 1, 3}), 2, 3);
}

// What attention is applied to, and where it may look.
struct Heads {
  Triple x;
  Tensor mask, padding;

  void add_key(const Tensor& k, const Tensor& v) {
    x.k = autocast::cat({x.k, k});
    x.v = autocast::cat({x.v, v});
    see_one_more();
  }
  void add_zero() {
    x.k = zeros_behind(x.k);
    x.v = zeros_behind(x.v);
    see_one_more();
  }

 private:
  void see_one_more() {
    mask = with_column(mask);
    padding = with_column(padding);
  }
};

// One sequence is a batch of one, whose dimension is `dim`.
Tensor as_batch(const Tensor& x, bool batched, int dim) {
  return batched || !x.defined() ? x : unsqueeze(x, dim);
}

// What was one tensor stays one.
Triple as_batches(const Tensor& query, const Tensor& key, const Tensor& value) {
  const bool batched = query.ndim() == 3;
  const Tensor q = as_batch(query, batched, 1);
  const Tensor k = key.is_same(query) ? q : as_batch(key, batched, 1);
  return {q, k, value.is_same(key) ? k : as_batch(value, batched, 1)};
}

Tensor mask_of_heads(const Tensor& mask, const Dims& sizes, DType dtype) {
  check_head_mask(mask, sizes);
  const Tensor addend = as_addend(mask, "attn_mask", dtype);
  return addend.ndim() == 2 ? unsqueeze(addend, 0) : addend;
}

// Keys or values for queries by heads: those that are given ready made, or else the projected ones.
Tensor given_or(const Tensor& given, const Tensor& projected, const char* name, const Tensor& q) {
  if (!given.defined()) return projected;
  check_static(given, name, q.size(0) * q.size(1), q.size(3));
  return by_batch(given, q.size(0), q.size(1));
}

// The heads' results through the last projection. A batch that comes first in the query's memory
// does so in this.
Tensor project_heads(const Tensor& x, const Tensor& query, const Tensor& weight,
                     const Tensor& bias) {
  const Tensor joined = join_heads(x);
  return project(query.is_contiguous() ? contiguous(joined) : joined, weight, bias);
}

// The weights [batch * heads, queries, keys] as they are asked for.
Tensor weights_of_heads(const Tensor& weights, int64_t batch, int64_t heads, bool average,
                        bool batched) {
  const Tensor each = unsafe_view(weights, {batch, heads, weights.size(1), weights.size(2)});
  const Tensor all = average ? mean(each, {{1}}) : each;
  const Dims sizes = all.sizes();
  return batched ? all : unsafe_view(all, IntList(sizes.data() + 1, sizes.size() - 1));
}

}  // namespace

std::tuple<Tensor, Tensor> multi_head_attention_forward(
    const Tensor& query, const Tensor& key, const Tensor& value, int64_t embed_dim_to_check,
    int64_t num_heads, const Tensor& in_proj_weight, const Tensor& in_proj_bias,
    const Tensor& bias_k, const Tensor& bias_v, bool add_zero_attn, double dropout_p,
    const Tensor& out_proj_weight, const Tensor& out_proj_bias, bool training,
    const Tensor& key_padding_mask, bool need_weights, const Tensor& attn_mask,
    bool use_separate_proj_weight, const Tensor& q_proj_weight, const Tensor& k_proj_weight,
    const Tensor& v_proj_weight, const Tensor& static_k, const Tensor& static_v,
    bool average_attn_weights, bool is_causal) {
  check_head_inputs(query, key, value, key_padding_mask, attn_mask, num_heads);
  check_causal_hint(attn_mask, is_causal);
  const bool batched = query.ndim() == 3;
  const Triple inputs = as_batches(query, key, value);
  check_head_sizes(inputs.q, inputs.k, inputs.v, embed_dim_to_check, num_heads,
                   use_separate_proj_weight);
  check_head_weights({in_proj_weight, bias_k, bias_v, q_proj_weight, k_proj_weight, v_proj_weight,
                      out_proj_weight},
                     use_separate_proj_weight);
  const int64_t length = inputs.q.size(0), batch = inputs.q.size(1);
  Heads heads;
  heads.x = use_separate_proj_weight
                ? project_each(inputs, {q_proj_weight, k_proj_weight, v_proj_weight},
                               thirds(in_proj_bias, 0, embed_dim_to_check))
                : project_together(inputs, in_proj_weight, in_proj_bias);
  heads.padding =
      as_addend(as_batch(key_padding_mask, batched, 0), "key_padding_mask", query.dtype());
  const bool uses_hint = is_causal && !heads.padding.defined() && !need_weights;
  if (attn_mask.defined() && !uses_hint)
    heads.mask = mask_of_heads(attn_mask, {batch * num_heads, length, key.size(0)}, query.dtype());
  check_bias_apart(bias_k, static_k, static_v);
  if (bias_k.defined()) heads.add_key(repeat(bias_k, {1, batch, 1}), repeat(bias_v, {1, batch, 1}));
  for (Tensor* x : {&heads.x.q, &heads.x.k, &heads.x.v}) *x = by_heads(*x, num_heads);
  heads.x.k = given_or(static_k, heads.x.k, "static_k", heads.x.q);
  heads.x.v = given_or(static_v, heads.x.v, "static_v", heads.x.q);
  if (add_zero_attn) heads.add_zero();
  const Tensor mask = join_masks(heads.mask, heads.padding, batch, num_heads, heads.x.k.size(2));
  const double p = training ? dropout_p : 0;
  const Seen seen = need_weights
                        ? attend(heads.x, mask, p)
                        : Seen{attend_without_weights(heads.x, mask, p, uses_hint), Tensor()};
  Tensor y = project_heads(seen.output, inputs.q, out_proj_weight, out_proj_bias);
  if (!batched) y = unsafe_view(y, query.sizes());
  if (!need_weights) return {y, Tensor()};
  return {y, weights_of_heads(seen.weights, batch, num_heads, average_attn_weights, batched)};
}

}  // namespace dt
