// The next token, drawn from the scores that a model gives.
#include <algorithm>
#include <limits>

#include "core/base/error.h"
#include "core/ops/copy.h"
#include "core/ops/formula.h"
#include "core/ops/generation.gen.h"
#include "core/ops/indexing.gen.h"
#include "core/ops/nn.gen.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/pointwise_logic.gen.h"
#include "core/ops/random.gen.h"
#include "core/ops/reduce.gen.h"
#include "core/ops/sorting.gen.h"
#include "core/ops/views.gen.h"

namespace dt {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

Tensor keep_top_k(const Tensor& logits, int64_t k) {
  k = std::min(k, logits.size(-1));
  const Tensor least = narrow(std::get<0>(topk(logits, k)), -1, k - 1, 1);
  return masked_fill(logits, lt(logits, least), kNever);
}

void check_logits(const Tensor& logits) {
  DT_CHECK(logits.ndim() > 0 && logits.size(-1) > 0 && is_floating(logits.dtype()), kRuntimeError,
           "expected floating point logits of [..., vocabulary], got size ", logits.sizes(), " of ",
           logits.dtype());
}

// A token goes if those likelier than it reach `p` without it. None is likelier than the first,
// which stays also where `p` is 0 as a float.
Tensor keep_top_p(const Tensor& logits, double p) {
  const auto [sorted, order] = sort(logits, -1, true, true);
  const Tensor probabilities = softmax(sorted, -1, info(logits.dtype()).compute);
  const Tensor likelier = cumsum(probabilities, -1) - probabilities;
  const Tensor goes = ge(likelier, std::max<double>(p, std::numeric_limits<float>::min()));
  return masked_fill(logits, scatter(goes, -1, order, goes), kNever);
}

}  // namespace

Tensor top_k_top_p_filtering(const Tensor& logits, std::optional<int64_t> top_k,
                             std::optional<double> top_p) {
  DT_CHECK(!top_k || *top_k > 0, kValueError, "top_k must be positive, got ", *top_k);
  DT_CHECK(!top_p || (*top_p > 0 && *top_p <= 1), kValueError, "top_p must be in (0, 1], got ",
           *top_p);
  check_logits(logits);
  Tensor kept = top_k ? keep_top_k(logits, *top_k) : logits;
  // Rounding must not leave out what has nothing but a small probability.
  if (top_p && *top_p < 1) kept = keep_top_p(kept, *top_p);
  return kept;
}

Tensor sample_logits(const Tensor& logits, double temperature, std::optional<int64_t> top_k,
                     std::optional<double> top_p, const Ref<Generator>& generator) {
  DT_CHECK(temperature >= 0, kValueError, "temperature must not be negative, got ", temperature);
  check_logits(logits);
  // What is less is 0 as a float.
  if (temperature < std::numeric_limits<float>::min())
    return argmax(top_k_top_p_filtering(logits, top_k, top_p), -1);
  // The greatest becomes 0 before it is divided, so that none is too large after that.
  const Tensor wide = to_dtype(logits, info(logits.dtype()).compute);
  const Tensor scores = (wide - amax(wide, IntList{-1}, true)) / temperature;
  // Not divided by their sum: they need not add up to 1.
  const Tensor weights = exp(top_k_top_p_filtering(scores, top_k, top_p));
  const Tensor rows = reshape(weights, {weights.numel() / weights.size(-1), weights.size(-1)});
  return unsafe_view(multinomial(rows, 1, false, generator),
                     IntList(logits.sizes().begin(), logits.ndim() - 1));
}

}  // namespace dt
