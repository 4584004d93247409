// Functions of the input and of noise that they draw.
#include "core/ops/checks.h"
#include "core/ops/copy.h"
#include "core/ops/creation.gen.h"
#include "core/ops/formula.h"
#include "core/ops/indexing.gen.h"
#include "core/ops/nn.gen.h"
#include "core/ops/nn/checks.h"
#include "core/ops/pointwise_logic.gen.h"
#include "core/ops/random.gen.h"
#include "core/ops/reduce.gen.h"
#include "core/ops/views.gen.h"

namespace dt {
namespace {

// What rrelu multiplies by: 1, or a slope drawn for each element that is not positive.
Tensor random_slopes(const Tensor& x, double lower, double upper) {
  check_floating(x, "rrelu_with_noise_out_cpu");
  const GradMode no_grad(false);
  return where(le(x, 0), uniform_(empty_like(x), lower, upper), 1);
}

// -log(-log(u)), which would be infinite at u = 0, and where 16 bits round u to 0 or 1.
Tensor gumbel_noise(const Tensor& logits) {
  DT_CHECK(is_floating(logits.dtype()), kRuntimeError,
           "Exponential distribution is a continuous probability distribution. dtype must be a "
           "floating point but you specified ",
           type_word(logits.dtype()));
  const GradMode no_grad(false);
  const DType compute = info(logits.dtype()).compute;
  const Tensor u = uniform_(empty(logits.sizes(), compute, logits.device()), 1e-30, 1);
  return to_dtype(neg(log(neg(log(u)))), logits.dtype());
}

}  // namespace

Tensor rrelu(const Tensor& input, double lower, double upper, bool training) {
  check_rrelu(lower, upper);
  if (!training) return leaky_relu(input, (lower + upper) / 2);
  return input * random_slopes(input, lower, upper);
}

const Tensor& rrelu_(const Tensor& input, double lower, double upper, bool training) {
  check_rrelu(lower, upper);
  if (!training) return leaky_relu_(input, (lower + upper) / 2);
  return mul_(input, random_slopes(input, lower, upper));
}

Tensor gumbel_softmax(const Tensor& logits, double tau, bool hard, double, int64_t dim) {
  const Tensor soft = softmax((logits + gumbel_noise(logits)) / tau, dim);
  if (!hard) return soft;
  const Tensor largest = argmax(soft, dim, true);
  return scatter(zeros_like(soft), dim, largest, 1) - soft.detach() + soft;
}

}  // namespace dt
