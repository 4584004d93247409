// scaled_dot_product_attention: weights of all queries and keys, as products of other ops.
#include <cmath>
#include <limits>

#include "core/ops/attention.gen.h"
#include "core/ops/attention/checks.h"
#include "core/ops/copy.h"
#include "core/ops/creation.gen.h"
#include "core/ops/formula.h"
#include "core/ops/indexing.gen.h"
#include "core/ops/linalg.gen.h"
#include "core/ops/nn.gen.h"
#include "core/ops/pointwise_logic.gen.h"
#include "core/ops/reduce.gen.h"
#include "core/ops/shapes.gen.h"
#include "core/ops/views.gen.h"

namespace dt {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

// A mask as what is added to the scores, and the queries that may look nowhere. These are let look
// everywhere, so that their softmax is a number, and get 0 after it.
struct Bias {
  Tensor added, blind;
};

Bias bias_of(const Tensor& mask, DType dtype) {
  const bool is_flag = is_bool(mask.dtype());
  const Tensor never = is_flag ? logical_not(mask) : eq(mask, kNever);
  const Tensor blind = all(never, {{-1}}, true);
  const Tensor closed = logical_and(never, logical_not(blind));
  const Tensor open = is_flag ? new_zeros(mask, {}, dtype) : masked_fill(mask, blind, 0);
  return {where(closed, kNever, to_dtype(open, dtype)), blind};
}

Tensor causal_mask(const Tensor& query, const Tensor& key) {
  const Tensor all_seen = ones({query.size(-2), key.size(-2)}, kDTypeOf<bool>, query.device());
  return tril(all_seen);
}

// Heads of keys or values, each as often as it serves a head of the queries.
Tensor for_each_head(const Tensor& x, int64_t heads) {
  return repeat_interleave(x, heads / x.size(-3), -3);
}

// softmax(factor * q @ k^T + mask) @ v, in the dtype that narrow ones are computed in.
Tensor attend(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask, double factor,
              double dropout_p) {
  const DType narrow = q.dtype(), wide = info(narrow).compute;
  Tensor scores = matmul(to_dtype(q, wide) * factor, transpose(to_dtype(k, wide), -2, -1));
  Bias bias;
  if (mask.defined()) {
    bias = bias_of(mask, wide);
    scores = scores + bias.added;
  }
  Tensor weights = softmax(scores, -1);
  if (mask.defined()) weights = masked_fill(weights, bias.blind, 0);
  const Tensor y = matmul(dropout(weights, dropout_p, dropout_p != 0), to_dtype(v, wide));
  return to_dtype(y, narrow);
}

}  // namespace

Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const Tensor& attn_mask, double dropout_p, bool is_causal,
                                    std::optional<double> scale, bool enable_gqa) {
  check_attention(query, key, value, attn_mask, is_causal);
  if (enable_gqa) check_grouped_heads(query, key, value);
  const Tensor k = enable_gqa ? for_each_head(key, query.size(-3)) : key;
  const Tensor v = enable_gqa ? for_each_head(value, query.size(-3)) : value;
  const double factor = scale ? *scale : 1 / std::sqrt(static_cast<double>(query.size(-1)));
  const Tensor mask = is_causal ? causal_mask(query, k) : attn_mask;
  return attend(query, k, v, mask, factor, dropout_p);
}

}  // namespace dt
