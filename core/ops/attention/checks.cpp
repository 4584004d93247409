#include "core/ops/attention/checks.h"

#include <utility>

#include "core/base/error.h"
#include "core/ops/checks.h"

namespace dt {

void check_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                     const Tensor& mask, bool is_causal) {
  DT_CHECK(query.dtype() == key.dtype() && query.dtype() == value.dtype(), kRuntimeError,
           "Expected query, key, and value to have the same dtype, but got query.dtype: ",
           c_type_word(query.dtype()), " key.dtype: ", c_type_word(key.dtype()),
           " and value.dtype: ", c_type_word(value.dtype()), " instead.");
  DT_CHECK(query.ndim() >= 2 && key.ndim() >= 2 && value.ndim() >= 2, kRuntimeError,
           "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: ",
           query.ndim(), " key.dim: ", key.ndim(), " and value.dim: ", value.ndim(), " instead.");
  if (!mask.defined()) return;
  const DType t = mask.dtype();
  DT_CHECK(is_bool(t) || t == kDTypeOf<float> || t == query.dtype(), kRuntimeError,
           "Expected attn_mask dtype to be bool or float or to match query dtype, but got "
           "attn_mask.dtype: ",
           c_type_word(t), " and  query.dtype: ", c_type_word(query.dtype()), " instead.");
  DT_CHECK(!is_causal, kRuntimeError, "Explicit attn_mask should not be set when is_causal=True");
}

void check_weights(const Tensor& query, double dropout_p) {
  DT_CHECK(is_floating(query.dtype()), kRuntimeError, "expected scalar type Float but found ",
           type_word(query.dtype()));
  DT_CHECK(dropout_p >= 0 && dropout_p <= 1, kRuntimeError,
           "dropout probability has to be between 0 and 1, but got ", dropout_p);
}

void check_grouped_heads(const Tensor& query, const Tensor& key, const Tensor& value) {
  const int64_t heads = query.size(-3), of_keys = key.size(-3), of_values = value.size(-3);
  const auto divides = [heads](int64_t n) { return n == 0 ? heads == 0 : heads % n == 0; };
  DT_CHECK(divides(of_keys) && divides(of_values), kRuntimeError,
           "Number of heads in key and value must divide the number of heads in query");
}

void check_head_inputs(const Tensor& query, const Tensor& key, const Tensor& value,
                       const Tensor& padding_mask, const Tensor& mask, int64_t num_heads) {
  const int n = query.ndim();
  DT_CHECK(n == 2 || n == 3, kAssertion,
           "query should be unbatched 2D or batched 3D tensor but received ", n, "-D query tensor");
  const char* what = n == 3 ? "For batched (3-D) `query`, " : "For unbatched (2-D) `query`, ";
  DT_CHECK(key.ndim() == n && value.ndim() == n, kAssertion, what,
           "expected `key` and `value` to be ", n, "-D but found ", key.ndim(), "-D and ",
           value.ndim(), "-D tensors respectively");
  DT_CHECK(!padding_mask.defined() || padding_mask.ndim() == n - 1, kAssertion, what,
           "expected `key_padding_mask` to be `None` or ", n - 1, "-D but found ",
           padding_mask.ndim(), "-D tensor instead");
  if (!mask.defined()) return;
  DT_CHECK(mask.ndim() == 2 || mask.ndim() == 3, kAssertion, what,
           "expected `attn_mask` to be `None`, 2-D or 3-D but found ", mask.ndim(),
           "-D tensor instead");
  const Dims expected{num_heads, query.size(0), key.size(0)};
  DT_CHECK(n == 3 || mask.ndim() == 2 || mask.sizes() == expected, kAssertion,
           "Expected `attn_mask` shape to be (", expected[0], ", ", expected[1], ", ", expected[2],
           ") but got torch.Size(", mask.sizes(), ")");
}

void check_head_sizes(const Tensor& query, const Tensor& key, const Tensor& value,
                      int64_t embed_dim, int64_t num_heads, bool separate) {
  DT_CHECK(query.size(2) == embed_dim, kAssertion, "was expecting embedding dimension of ",
           embed_dim, ", but got ", query.size(2));
  DT_CHECK(num_heads > 0 && embed_dim % num_heads == 0, kAssertion, "embed_dim ", embed_dim,
           " not divisible by num_heads ", num_heads);
  const bool side_by_side = key.size(0) == value.size(0) && key.size(1) == value.size(1);
  DT_CHECK(side_by_side || !separate, kAssertion, "key's sequence and batch dims torch.Size([",
           key.size(0), ", ", key.size(1), "]) do not match value's torch.Size([", value.size(0),
           ", ", value.size(1), "])");
  DT_CHECK(separate || key.sizes() == value.sizes(), kAssertion, "key shape torch.Size(",
           key.sizes(), ") does not match value shape torch.Size(", value.sizes(), ")");
}

void check_head_weights(const HeadWeights& w, bool separate) {
  DT_CHECK(separate || w.in.defined(), kAssertion,
           "use_separate_proj_weight is False but in_proj_weight is None");
  const std::pair<const Tensor&, const char*> each[] = {{w.q, "q"}, {w.k, "k"}, {w.v, "v"}};
  for (const auto& [weight, name] : each) {
    DT_CHECK(!separate || weight.defined(), kAssertion, "use_separate_proj_weight is True but ",
             name, "_proj_weight is None");
  }
  DT_CHECK(w.bias_v.defined() || !w.bias_k.defined(), kAssertion,
           "bias_k is set but bias_v is None");
  DT_CHECK(w.bias_k.defined() || !w.bias_v.defined(), kAssertion,
           "bias_v is set but bias_k is None");
  DT_CHECK(w.out.ndim() == 2, kRuntimeError, "out_proj_weight must have 2 dimensions, got ",
           w.out.ndim());
}

void check_head_mask(const Tensor& mask, const Dims& scores) {
  const Dims wanted = mask.ndim() == 2 ? Dims{scores[1], scores[2]} : scores;
  std::string sizes;
  for (int64_t n : wanted) sizes += text(sizes.empty() ? "" : ", ", n);
  DT_CHECK(mask.sizes() == wanted, kRuntimeError, "The shape of the ", mask.ndim(),
           "D attn_mask is torch.Size(", mask.sizes(), "), but should be (", sizes, ").");
}

void check_padding_mask(const Tensor& mask, int64_t batch, int64_t keys) {
  for (int d : {0, 1}) {
    const int64_t wanted = d == 0 ? batch : keys;
    DT_CHECK(mask.size(d) == wanted, kAssertion, "Expected key_padded_mask.shape[", d, "] to be ",
             wanted, ", but got ", mask.size(d));
  }
}

void check_causal_hint(const Tensor& mask, bool is_causal) {
  DT_CHECK(mask.defined() || !is_causal, kRuntimeError,
           "Need attn_mask if specifying the is_causal hint. You may use the Transformer module "
           "method `generate_square_subsequent_mask` to create this mask.");
}

void check_mask_dtype(const Tensor& mask, const char* name) {
  DT_CHECK(is_bool(mask.dtype()) || is_floating(mask.dtype()), kAssertion,
           "only bool and floating types of ", name, " are supported");
}

void check_bias_apart(const Tensor& bias_k, const Tensor& static_k, const Tensor& static_v) {
  if (!bias_k.defined()) return;
  DT_CHECK(!static_k.defined(), kAssertion, "bias cannot be added to static key.");
  DT_CHECK(!static_v.defined(), kAssertion, "bias cannot be added to static value.");
}

void check_static(const Tensor& x, const char* name, int64_t heads, int64_t features) {
  DT_CHECK(x.ndim() == 3, kRuntimeError, name, " must have 3 dimensions, got ", x.ndim());
  DT_CHECK(x.size(0) == heads, kAssertion, "expecting ", name, ".size(0) of ", heads, ", but got ",
           x.size(0));
  DT_CHECK(x.size(2) == features, kAssertion, "expecting ", name, ".size(2) of ", features,
           ", but got ", x.size(2));
}

}  // namespace dt
