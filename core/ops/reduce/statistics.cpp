// Statistics that are made of other reductions.
#include "core/autograd/record.h"
#include "core/ops/autocast.gen.h"
#include "core/ops/checks.h"
#include "core/ops/creation.gen.h"
#include "core/ops/linalg.gen.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/pointwise_logic.gen.h"
#include "core/ops/reduce.gen.h"
#include "core/ops/reduce/checks.h"

namespace dt {

Tensor nansum(const Tensor& input, std::optional<IntList> dim, bool keepdim, DType dtype) {
  if (!is_floating(input.dtype())) return sum(input, dim, keepdim, dtype);
  const Tensor is_none = isnan(input.detach());
  const Tensor numbers = record("NansumBackward0", masked_fill(input.detach(), is_none, 0), {input},
                                [counts = logical_not(is_none)](BackwardCall& b) {
                                  b.results[0] = mul(b.grad(), counts);  // also an infinite one
                                });
  return sum(numbers, dim, keepdim, dtype);
}

Tensor nanmean(const Tensor& input, std::optional<IntList> dim, bool keepdim, DType dtype) {
  check_nanmean(input, dtype);
  const Tensor count = sum(logical_not(isnan(input.detach())), dim, keepdim);
  return div(nansum(input, dim, keepdim, dtype), count);
}

Tensor count_nonzero(const Tensor& input, std::optional<IntList> dim) {
  return sum(ne(input.detach(), 0), dim);
}

std::tuple<Tensor, Tensor> aminmax(const Tensor& input, std::optional<int64_t> dim, bool keepdim) {
  check_aminmax(input, dim);
  const Dims dims = dim ? Dims({wrap_dim(*dim, input.ndim())}) : Dims();
  return {amin(input, IntList(dims), keepdim), amax(input, IntList(dims), keepdim)};
}

std::tuple<Tensor, Tensor> var_mean(const Tensor& input, std::optional<IntList> dim,
                                    const std::optional<Scalar>& correction, bool keepdim) {
  const Tensor spread = var(input, dim, correction, keepdim);
  return {spread, mean(input, dim, keepdim)};
}

std::tuple<Tensor, Tensor> std_mean(const Tensor& input, std::optional<IntList> dim,
                                    const std::optional<Scalar>& correction, bool keepdim) {
  const Tensor spread = dt::std(input, dim, correction, keepdim);
  return {spread, mean(input, dim, keepdim)};
}

namespace {

// How much each observation counts; undefined: all the same.
Tensor observation_weights(const Tensor& fweights, const Tensor& aweights, int64_t observations) {
  if (fweights.defined()) check_frequencies(fweights, observations);
  if (aweights.defined()) check_weights(aweights, observations);
  if (!fweights.defined()) return aweights;
  return aweights.defined() ? mul(fweights, aweights) : fweights;
}

}  // namespace

Tensor cov(const Tensor& input, int64_t correction, const Tensor& fweights,
           const Tensor& aweights) {
  check_variables(input, "cov");
  DT_CHECK(!is_bool(input.dtype()), kRuntimeError, "cov(): bool dtype is not supported for input");
  const Tensor x = input.ndim() < 2 ? reshape(input, {1, -1}) : input;
  const int64_t observations = x.sizes()[1];
  const Tensor w = observation_weights(fweights, aweights, observations);
  const Tensor total =
      w.defined() ? sum(w) : scalar_tensor(observations, kIndexDType, input.device());
  check_total_weight(w, total);
  const Tensor average = true_divide(sum(w.defined() ? mul(x, w) : x, {{1}}), total);
  const bool is_scaled = aweights.defined() && correction != 0;
  const Tensor bias = is_scaled ? true_divide(mul(sum(mul(w, aweights)), correction), total)
                                : scalar_tensor(correction, kIndexDType, input.device());
  const Tensor freedom = clamp_min(sub(total, bias), 0);
  const Tensor centered = sub(x, unsqueeze(average, 1));
  const Tensor weighted = w.defined() ? mul(centered, w) : centered;
  return squeeze(true_divide(autocast::mm(centered, transpose(weighted, 0, 1)), freedom));
}

Tensor corrcoef(const Tensor& input) {
  check_variables(input, "corrcoef");
  const Tensor c = cov(input, 1, Tensor(), Tensor());
  if (c.ndim() == 0) return div(c, c);
  const Tensor deviation = sqrt(diagonal(c));
  return clamp(div(div(c, unsqueeze(deviation, 1)), unsqueeze(deviation, 0)), -1, 1);
}

}  // namespace dt
