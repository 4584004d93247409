// scaled_dot_product_attention: by one kernel that never has all weights in memory, or as products
// of other ops, which say what it means.
#include <array>
#include <cmath>
#include <limits>

#include "core/autograd/fused.h"
#include "core/ops/attention.gen.h"
#include "core/ops/attention/checks.h"
#include "core/ops/checks.h"
#include "core/ops/copy.h"
#include "core/ops/creation.gen.h"
#include "core/ops/formula.h"
#include "core/ops/indexing.gen.h"
#include "core/ops/linalg.gen.h"
#include "core/ops/nn.gen.h"
#include "core/ops/nn/dropout.h"
#include "core/ops/nn/softmax.h"
#include "core/ops/pointwise_logic.gen.h"
#include "core/ops/reduce.gen.h"
#include "core/ops/shapes.gen.h"
#include "core/ops/views.gen.h"
#include "core/runtime/backend.h"
#include "core/runtime/calls/attention.gen.h"
#include "core/runtime/log.h"
#include "core/tensor/layout.h"

namespace dt {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

// A mask as what is added to the scores.
Tensor bias_of(const Tensor& mask, DType dtype) {
  if (!is_bool(mask.dtype())) return to_dtype(mask, dtype);
  return masked_fill(new_zeros(mask, mask.sizes(), dtype), logical_not(mask), kNever);
}

Tensor causal_mask(const Tensor& query, const Tensor& key) {
  const Tensor all_seen = ones({query.size(-2), key.size(-2)}, kDTypeOf<bool>, query.device());
  return tril(all_seen);
}

// Heads of keys or values, each as often as it serves a head of the queries.
Tensor for_each_head(const Tensor& x, int64_t heads) {
  return heads == x.size(-3) ? x : repeat_interleave(x, heads / x.size(-3), -3);
}

// What attention does beside its tensors.
struct AttentionSettings {
  double factor, dropout_p;
  bool is_causal, shares_heads;
  Generator::Draw draw;  // the numbers of dropout, where they have been reserved
};

Tensor drop_weights(const Tensor& weights, const AttentionSettings& o) {
  if (o.draw.state.defined()) return dropout_at(weights, o.dropout_p, o.draw);
  return dropout(weights, o.dropout_p, o.dropout_p != 0);
}

// dropout(softmax(factor * q @ k^T + mask)) @ v, in the dtype that narrow ones are computed in.
Tensor attend(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask,
              const AttentionSettings& o) {
  const DType narrow = q.dtype(), wide = info(narrow).compute;
  Tensor scores = matmul(to_dtype(q, wide) * o.factor, transpose(to_dtype(k, wide), -2, -1));
  if (mask.defined()) {
    check_written_sizes(scores.sizes(), broadcast_sizes(scores.sizes(), mask.sizes()));
    scores = scores + bias_of(mask, wide);
  }
  const Tensor weights = softmax_of_scores(scores);
  const Tensor y = matmul(drop_weights(weights, o), to_dtype(v, wide));
  return to_dtype(y, narrow);
}

// Over query, key, value and mask.
Tensor attention_composition(const std::vector<Tensor>& in, const AttentionSettings& o) {
  const Tensor& q = in[0];
  const Tensor k = o.shares_heads ? for_each_head(in[1], q.size(-3)) : in[1];
  const Tensor v = o.shares_heads ? for_each_head(in[2], q.size(-3)) : in[2];
  return attend(q, k, v, o.is_causal ? causal_mask(q, k) : in[3], o);
}

// ---- the kernel

// x as matrices of batches and heads.
View matrices_view(const Tensor& x) {
  Dims sizes(4, 1), strides(4, 0);
  for (int d = 0; d < x.ndim(); ++d) {
    sizes[4 - x.ndim() + d] = x.size(d);
    strides[4 - x.ndim() + d] = x.strides()[d];
  }
  return View(x, sizes, strides, x.offset());
}

// The mask over the scores of all queries and keys, and whether it broadcasts to them.
View mask_view(const Tensor& mask, const Tensor& q, const Tensor& k) {
  if (!mask.defined()) return View();
  View view = matrices_view(mask);
  const View scores = matrices_view(q);
  for (int d = 0; d < 4; ++d) {
    if (view.sizes[d] == 1) view.strides[d] = 0;
    view.sizes[d] = d == 3 ? k.size(-2) : scores.sizes[d];
  }
  return view;
}

bool broadcasts_to_scores(const Tensor& mask, const Tensor& q, const Tensor& k) {
  if (mask.ndim() > q.ndim()) return false;
  for (int d = 1; d <= mask.ndim(); ++d) {
    const int64_t n = d == 1 ? k.size(-2) : q.size(-d);
    if (mask.size(-d) != 1 && mask.size(-d) != n) return false;
  }
  return true;
}

bool has_heads_of(const Tensor& x, const Tensor& q, bool shares_heads) {
  if (x.ndim() != q.ndim()) return false;
  for (int d = 0; d < q.ndim() - 2; ++d) {
    const bool is_head = d == q.ndim() - 3;
    if (x.size(d) != q.size(d) && !(shares_heads && is_head)) return false;
  }
  return true;
}

// Why attention is composed of other ops; null if a kernel may do it.
const char* reason_to_compose(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask,
                              const AttentionSettings& o) {
  if (o.dropout_p == 1) return "all weights are dropped";
  if (needs_graph(mask)) return "the mask's gradient has all weights";
  if (q.ndim() > 4) return "of more than two dimensions of matrices";
  if (!has_heads_of(k, q, o.shares_heads) || !has_heads_of(v, q, o.shares_heads))
    return "query, key and value broadcast";
  if (o.shares_heads && k.size(-3) != v.size(-3)) return "key and value differ in their heads";
  if (k.size(-2) != v.size(-2) || q.size(-1) != k.size(-1)) return "the sizes do not fit";
  if (mask.defined() && (mask.ndim() > 4 || !broadcasts_to_scores(mask, q, k)))
    return "the mask broadcasts the result";
  if (q.numel() == 0 || k.numel() == 0 || v.numel() == 0) return "of no elements";
  return nullptr;
}

void trace_composed(const char* reason) {
  if (is_tracing()) log(LogLevel::kTrace, text("scaled_dot_product_attention composed: ", reason));
}

// Whether the result lies in memory as the query does: where PyTorch's own kernel serves.
bool keeps_order(const std::vector<Tensor>& in) {
  bool has_rows = in[0].ndim() == 4 && in[0].size(-1) == in[2].size(-1);
  for (int i = 0; i < 3; ++i) has_rows &= in[static_cast<size_t>(i)].strides().back() == 1;
  return has_rows;
}

// Whether gradients are, in memory, [batch, positions, heads, features], as projections want them.
bool keeps_positions_together(const std::vector<Tensor>& in) {
  return in[0].ndim() == 4 && in[0].size(-1) == in[2].size(-1);
}

Tensor make_matrices(const Dims& sizes, bool positions_together, const Tensor& like) {
  if (!positions_together) return make_empty(sizes, like.dtype(), like.device());
  const int64_t row = sizes[1] * sizes[3];
  return make_empty_strided(sizes, {sizes[2] * row, sizes[3], row, 1}, like.dtype(), like.device());
}

// The result and the logarithms of the rows' sums, which only a backward reads.
struct Attended {
  Tensor y, lse;
};

// Undefined if the device has no kernel for it.
Attended attend_by_kernel(const std::vector<Tensor>& in, const AttentionSettings& o,
                          bool has_backward) {
  const Tensor &q = in[0], &k = in[1], &v = in[2];
  Dims sizes = q.sizes();
  sizes[q.ndim() - 1] = v.size(-1);
  const Dims strides = keeps_order(in) ? dense_strides(q) : contiguous_strides(sizes);
  Attended result = {make_empty_strided(sizes, strides, q.dtype(), q.device()), Tensor()};
  AttentionCall call;
  call.y = matrices_view(result.y);
  if (has_backward) {
    const IntList rows(call.y.sizes, 3);
    result.lse = make_empty(rows, info(q.dtype()).compute, q.device());
    call.lse = result.lse;
  }
  call.query = matrices_view(q);
  call.key = matrices_view(k);
  call.value = matrices_view(v);
  call.mask = mask_view(in[3], q, k);
  call.is_causal = o.is_causal;
  call.scale = o.factor;
  call.state = o.draw.state;
  call.advance = o.draw.advance;
  call.p = o.dropout_p;
  if (!run_shortcut(op::attention, call)) return {};
  return result;
}

// Memory for gradients of query, key and value, undefined where none is wanted. Those of three
// parts of one tensor lie beside each other as the parts do, so that who has cut it joins them
// without a copy.
std::array<Tensor, 3> make_gradients(const BackwardCall& b, const std::vector<Tensor>& in) {
  const Tensor &q = in[0], &k = in[1], &v = in[2];
  const int64_t distance = k.offset() - q.offset();
  Dims sizes = q.sizes(), strides = q.strides();
  sizes.insert(0, 3);
  strides.insert(0, distance);
  const auto is_part = [&](const Tensor& x, int64_t i) {
    return x.storage() == q.storage() && x.sizes() == q.sizes() && x.strides() == q.strides() &&
           x.offset() == q.offset() + i * distance;
  };
  std::array<Tensor, 3> results;
  const bool has_rows = strides.back() == 1;  // which kernels take for given
  const bool all_wanted = b.wants(0) && b.wants(1) && b.wants(2);
  if (has_rows && all_wanted && is_part(k, 1) && is_part(v, 2) && is_dense(sizes, strides)) {
    const Tensor whole = make_empty_strided(sizes, strides, q.dtype(), q.device());
    for (int i = 0; i < 3; ++i) results[i] = select(whole, 0, i);
    return results;
  }
  for (int i = 0; i < 3; ++i) {
    const Tensor& x = in[static_cast<size_t>(i)];
    if (b.wants(i)) results[i] = make_matrices(x.sizes(), keeps_positions_together(in), q);
  }
  return results;
}

// False if the device has no kernel for it.
bool attention_backward(BackwardCall& b, const std::vector<Tensor>& in, const Tensor& y,
                        const Tensor& lse, const AttentionSettings& o) {
  const std::array<Tensor, 3> results = make_gradients(b, in);
  AttentionBackwardCall call;
  View* const views[] = {&call.gquery, &call.gkey, &call.gvalue};
  for (int i = 0; i < 3; ++i) {
    if (results[i].defined()) *views[i] = matrices_view(results[i]);
  }
  // The gradient of a sum is one number, expanded: no rows that a kernel could read in packets.
  const Tensor g = b.grad().strides().back() == 1 ? b.grad() : contiguous(b.grad());
  call.g = matrices_view(g);
  call.query = matrices_view(in[0]);
  call.key = matrices_view(in[1]);
  call.value = matrices_view(in[2]);
  call.y = matrices_view(y);
  call.lse = lse;
  call.mask = mask_view(in[3], in[0], in[1]);
  call.is_causal = o.is_causal;
  call.scale = o.factor;
  call.state = o.draw.state;
  call.advance = o.draw.advance;
  call.p = o.dropout_p;
  if (!run_shortcut(op::attention_backward, call)) return false;
  for (int i = 0; i < 3; ++i) b.results[i] = results[i];
  return true;
}

// Numbers for the weights of all queries and keys. Forward, backward and the composition take the
// same ones.
Generator::Draw draw_for_weights(const Tensor& q, const Tensor& k) {
  const int64_t weights = q.numel() / q.size(-1) * k.size(-2);
  return default_generator(q.device())->reserve(weights);
}

Tensor fused_attention(const std::vector<Tensor>& in, const AttentionSettings& o) {
  const bool has_backward = needs_graph({in[0], in[1], in[2]});
  const Attended found = attend_by_kernel(in, o, has_backward);
  if (!found.y.defined() || !has_backward) return found.y;
  std::vector<Saved> saved;
  for (const Tensor& x : in) saved.push_back(Saved::input(x));
  const auto composition = [o](const std::vector<Tensor>& x) {
    return attention_composition(x, o);
  };
  return record("ScaledDotProductAttentionBackward0", found.y, {in[0], in[1], in[2], in[3]},
                [saved = std::move(saved), composition, o, lse = found.lse,
                 y = Saved::output(found.y)](BackwardCall& b) {
                  if (!b.create_graph) {
                    std::vector<Tensor> x;
                    for (const Saved& s : saved) x.push_back(s.get(b.node));
                    if (attention_backward(b, x, y.get(b.node), lse, o)) return;
                  }
                  backward_by_composition(b, saved, composition);
                });
}

// Without rows, or values, PyTorch looks at no size: it is 0, with a gradient of 0 for each
// operand.
Tensor attention_of_nothing(const Tensor& q, const Tensor& k, const Tensor& v) {
  Dims sizes = q.sizes();
  sizes[q.ndim() - 1] = v.size(-1);
  return new_zeros(q, sizes) + mul(sum(q) + sum(k) + sum(v), 0);
}

}  // namespace

Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const Tensor& attn_mask, double dropout_p, bool is_causal,
                                    std::optional<double> scale, bool enable_gqa) {
  check_attention(query, key, value, attn_mask, is_causal);
  if (query.size(-2) == 0 || value.numel() == 0) return attention_of_nothing(query, key, value);
  check_weights(query, dropout_p);
  if (enable_gqa) check_grouped_heads(query, key, value);
  const double factor = scale ? *scale : 1 / std::sqrt(static_cast<double>(query.size(-1)));
  AttentionSettings settings = {factor, dropout_p, is_causal, enable_gqa, {}};
  const std::vector<Tensor> in = {query, key, value, attn_mask};
  const char* reason = reason_to_compose(query, key, value, attn_mask, settings);
  if (!reason) {
    if (dropout_p != 0) settings.draw = draw_for_weights(query, key);
    const Tensor y = fused_attention(in, settings);
    if (y.defined()) return y;
    reason = "the device has no kernel for these";
  }
  trace_composed(reason);
  return attention_composition(in, settings);
}

}  // namespace dt
