#include "core/ops/loss/checks.h"

#include <algorithm>

#include "core/ops/checks.h"
#include "core/ops/creation.gen.h"
#include "core/ops/pointwise_logic.gen.h"
#include "core/ops/reduce.gen.h"

namespace dt {

// ---- losses of single elements

void check_weight_sizes(const Tensor& weight, const Tensor& input) {
  DT_CHECK(weight.sizes() == input.sizes(), kValueError,
           "Weights and input must have the same size.");
}

void check_loss_dtype(DType common, const char* kernel) {
  DT_CHECK(is_floating(common), kNotImplemented, "\"", kernel, "\" not implemented for '",
           type_word(common), "'");
}

namespace {

void check_probabilities(const char* name, const Tensor& x) {
  if (x.numel() == 0 || x.device() != kCpu) return;  // a GPU would have to be waited for
  const GradMode no_grad(false);
  const bool valid = item(amin(x)).to_double() >= 0 && item(amax(x)).to_double() <= 1;
  DT_CHECK(valid, kRuntimeError, "all elements of ", name, " should be between 0 and 1");
}

// What PyTorch's formula takes: 1 - target is the tensor that its losses are made in.
void check_logits(const Tensor& input, const Tensor& target, const Tensor& pos_weight) {
  check_floating(input, "log_sigmoid_cpu");
  DT_CHECK(!pos_weight.defined() || !is_bool(pos_weight.dtype()), kRuntimeError,
           "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying "
           "to invert a mask, use the `~` or `logical_not()` operator instead.");
  DT_CHECK(!is_bool(target.dtype()), kRuntimeError,
           "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
           "`logical_xor()` operator instead.");
  DT_CHECK(is_floating(target.dtype()), kRuntimeError, "result type ", type_word(input.dtype()),
           " can't be cast to the desired output type ", type_word(target.dtype()));
}

}  // namespace

void check_binary_cross_entropy(const Tensor& input, const Tensor& target) {
  DT_CHECK(input.sizes() == target.sizes(), kValueError, "Using a target size (", target.sizes(),
           ") that is different to the input size (", input.sizes(),
           ") is deprecated. Please ensure they have the same size.");
  DT_CHECK(input.dtype() == target.dtype(), kRuntimeError, "Found dtype ",
           type_word(target.dtype()), " but expected ", type_word(input.dtype()));
  check_floating(input, "binary_cross_entropy");
  check_probabilities("input", input);
  check_probabilities("target", target);
}

void check_binary_cross_entropy_with_logits(const Tensor& input, const Tensor& target,
                                            const Tensor& pos_weight) {
  DT_CHECK(input.sizes() == target.sizes(), kValueError, "Target size (", target.sizes(),
           ") must be the same as input size (", input.sizes(), ")");
  check_logits(input, target, pos_weight);
}

// ---- losses of distributions

void check_kl_div(const Tensor& input, const Tensor& target) {
  DT_CHECK(is_floating(input.dtype()) && is_floating(target.dtype()), kRuntimeError,
           "Integral inputs not supported.");
}

namespace {

// Of all the sizes of the input but one, where it has 1.
bool is_shared_along_a_dimension(const Tensor& var, const Tensor& input) {
  if (var.ndim() != input.ndim()) return false;
  int differ = 0;
  for (int d = 0; d < var.ndim(); ++d) {
    if (var.sizes()[d] == input.sizes()[d]) continue;
    if (var.sizes()[d] != 1) return false;
    ++differ;
  }
  return differ == 1;
}

}  // namespace

void check_variance(const Operand& given, const Tensor& var, const Tensor& input) {
  // A GPU is waited for, as by PyTorch; not while its work is recorded instead of done. A number
  // need not be looked for among the elements, of which there may be none.
  const bool looks = !given.is_number() && (var.device() == kCpu || !context().graph);
  const GradMode no_grad(false);
  const bool negative =
      given.is_number() ? given.number().to_double() < 0 : looks && item(any(lt(var, 0))).to_bool();
  DT_CHECK(!negative, kValueError, "var has negative entry/entries");
  const IntList but_last(input.sizes().data(), std::max(0, input.ndim() - 1));
  DT_CHECK(var.sizes() == input.sizes() || var.sizes() == Dims(but_last) ||
               is_shared_along_a_dimension(var, input),
           kValueError, "var is of incorrect size");
}

// ---- losses of margins

void check_margin_ranking(const Tensor& input1, const Tensor& input2, const Tensor& target) {
  DT_CHECK(input1.ndim() == input2.ndim() && input1.ndim() == target.ndim(), kRuntimeError,
           "All input tensors should have same dimension but got sizes: input1: ", input1.sizes(),
           ", input2: ", input2.sizes(), ", target: ", target.sizes(), " ");
}

void check_cosine_embedding(const Tensor& input1, const Tensor& input2, const Tensor& target) {
  DT_CHECK(target.ndim() <= 1, kRuntimeError,
           "0D or 1D target tensor expected, multi-target not supported");
  const int wanted = target.ndim() + 1;
  DT_CHECK(input1.ndim() == wanted && input2.ndim() == wanted, kRuntimeError, wanted - 1,
           "D target tensor expects ", wanted, "D input tensors, but found inputs with sizes ",
           input1.sizes(), " and ", input2.sizes(), ".");
}

void check_triplet_margin(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                          double margin) {
  DT_CHECK(!(margin <= 0), kValueError, "margin must be greater than 0, got ", margin);
  DT_CHECK(anchor.ndim() == positive.ndim() && anchor.ndim() == negative.ndim(), kRuntimeError,
           "The anchor, positive, and negative tensors are expected to have the same number of "
           "dimensions, but got: anchor ",
           anchor.ndim(), "D, positive ", positive.ndim(), "D, and negative ", negative.ndim(),
           "D inputs");
}

namespace {

void check_scores(const Tensor& input) {
  DT_CHECK(input.ndim() == 0 || (input.ndim() <= 2 && input.size(-1) != 0), kRuntimeError,
           "Expected non-empty vector or matrix with optional 0-dim batch size, but got: ",
           input.sizes());
}

void check_long(const Tensor& target) {
  DT_CHECK(target.dtype() == kIndexDType, kRuntimeError, "expected scalar type Long but found ",
           type_word(target.dtype()));
}

}  // namespace

void check_multi_margin(const Tensor& input, const Tensor& target, int64_t p,
                        const Tensor& weight) {
  DT_CHECK(p == 1 || p == 2, kValueError, "only p == 1 and p == 2 supported");
  DT_CHECK(!weight.defined() || weight.ndim() == 1, kValueError, "weight must be one-dimensional");
  check_scores(input);
  const int64_t rows = input.ndim() == 2 ? input.size(0) : 1;
  const int64_t classes = input.ndim() == 0 ? 1 : input.size(-1);
  DT_CHECK(target.ndim() <= 1 && target.numel() == rows, kRuntimeError,
           "target tensor should be 1-D with size equal to the number of input samples (batch "
           "size). Expected target size [",
           rows, "], but got ", target.sizes(), ". Input has shape ", input.sizes(), ".");
  DT_CHECK(!weight.defined() || weight.numel() == classes, kRuntimeError,
           "inconsistent weight size, expected ", classes, " but got ", weight.sizes());
  check_long(target);
  check_floating(input, "multi_margin_loss_cpu_kernel");
  DT_CHECK(!weight.defined() || weight.dtype() == input.dtype(), kRuntimeError,
           "expected scalar type ", type_word(input.dtype()), " but found ",
           type_word(weight.dtype()));
  check_constant(weight, "multi_margin_loss", "weight");
}

void check_multilabel_margin(const Tensor& input, const Tensor& target) {
  check_scores(input);
  const bool alike = input.ndim() == 2 ? target.sizes() == input.sizes()
                                       : target.ndim() <= 1 && target.numel() == input.numel();
  DT_CHECK(alike, kRuntimeError, "inconsistent target size: ", target.sizes(),
           " for input of size: ", input.sizes());
  check_long(target);
  check_floating(input, "multilabel_margin_loss_forward_out_frame");
  if (target.numel() == 0 || target.device() != kCpu) return;  // a GPU would have to be waited for
  const GradMode no_grad(false);
  const int64_t classes = input.ndim() == 0 ? 1 : input.size(-1);
  DT_CHECK(item(amin(target)).to_int64() >= -1 && item(amax(target)).to_int64() < classes,
           kRuntimeError, "argument #2 'target' is out of range");
}

// ---- losses of classes

void check_class_dim(const Tensor& input) {
  DT_CHECK(input.ndim() > 0, kValueError, "Expected 1 or more dimensions (got 0)");
}

void check_single_target(const Tensor& target) {
  DT_CHECK(target.ndim() != 1 || target.size(0) == 1, kValueError,
           "For 1D input, 1D target must have size 1, but got target size: ", target.size(0));
}

void check_target_sizes(const Tensor& input, const Tensor& target) {
  DT_CHECK(target.ndim() == 0 || input.size(0) == target.size(0), kValueError,
           "Expected input batch_size (", input.size(0), ") to match target batch_size (",
           target.size(0), ").");
  if (input.ndim() == 2) {
    DT_CHECK(target.ndim() == 1, kRuntimeError,
             "0D or 1D target tensor expected, multi-target not supported");
    return;
  }
  Dims wanted = input.sizes();
  wanted.erase(1);
  DT_CHECK(target.sizes() == wanted, kRuntimeError, "Expected target size ", wanted, ", got ",
           target.sizes());
}

void check_class_targets(const Tensor& target) {
  DT_CHECK(target.dtype() == kIndexDType || target.dtype() == kByteDType, kRuntimeError,
           "expected target dtype to be Long or Byte, but got ", type_word(target.dtype()));
}

void check_probability_targets(int64_t ignore_index) {
  DT_CHECK(ignore_index < 0, kRuntimeError,
           "ignore_index is not supported for floating point target");
}

void check_class_weight(const Tensor& input, const Tensor& weight, DType dtype) {
  DT_CHECK(!weight.defined() || weight.dtype() == dtype, kRuntimeError, "expected scalar type ",
           type_word(dtype), " but found ", type_word(weight.dtype()));
  check_constant(weight, input.ndim() <= 2 ? "nll_loss_forward" : "nll_loss2d_forward", "weight");
}

namespace {

void check_weight_shape(const Tensor& weight, int64_t classes) {
  if (!weight.defined()) return;
  DT_CHECK(weight.ndim() == 1 && weight.numel() == classes, kRuntimeError,
           "weight tensor should be defined either for all ", classes,
           " classes or no classes but got weight tensor of shape: ", weight.sizes());
}

}  // namespace

void check_nll_loss(const Tensor& input, const Tensor& weight) {
  check_floating(input, "nll_loss_out_frame");
  check_weight_shape(weight, input.size(1));
  check_class_weight(input, weight, input.dtype());
}

void check_cross_entropy(const Tensor& input, const Tensor& target, const Tensor& weight,
                         double label_smoothing) {
  check_class_dim(input);
  DT_CHECK(label_smoothing >= 0 && label_smoothing <= 1, kRuntimeError,
           "label_smoothing must be between 0.0 and 1.0. Got: ", label_smoothing);
  const bool has_probabilities = target.sizes() == input.sizes();
  DT_CHECK(!has_probabilities || is_floating(target.dtype()), kRuntimeError,
           "Expected floating point type for target with class probabilities, got ",
           type_word(target.dtype()));
  // PyTorch takes log_softmax of the input, and that of integers fails.
  check_floating(input,
                 input.ndim() <= 2 ? "log_softmax_lastdim_kernel_impl" : "log_softmax_kernel_impl");
  check_weight_shape(weight, input.size(input.ndim() == 1 ? 0 : 1));
}

namespace {

constexpr const char* kWhere = " (while checking arguments for ctc_loss_allocate_outputs)";

bool is_integral(const Tensor& x) {
  return !is_floating(x.dtype()) && x.dtype() != kMaskDType;
}

// The smallest and largest of lengths on the CPU.
std::pair<int64_t, int64_t> extent(const Tensor& lengths) {
  const Tensor all = to_dtype(lengths, kIndexDType);
  return {item(min(all)).to_int64(), item(max(all)).to_int64()};
}

void check_lengths(const Tensor& lengths, int64_t batch, const char* name) {
  DT_CHECK(is_integral(lengths), kRuntimeError, name, " must be integral");
  DT_CHECK(lengths.numel() == batch, kRuntimeError, name, " must be of size batch_size");
}

void check_padded_targets(const Tensor& targets, int64_t batch, std::optional<int64_t> longest) {
  DT_CHECK(targets.size(0) == batch, kRuntimeError, "Expected tensor to have size ", batch,
           " at dimension 0, but got size ", targets.size(0), " for argument #2 'targets'", kWhere);
  DT_CHECK(!longest || *longest <= targets.size(1), kRuntimeError,
           "Expected tensor to have size at least ", *longest, " at dimension 1, but got size ",
           targets.size(1), " for argument #2 'targets'", kWhere);
}

}  // namespace

void check_ctc_loss(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                    const Tensor& target_lengths, int64_t blank) {
  DT_CHECK(log_probs.ndim() == 3, kRuntimeError, "Expected 3-dimensional tensor, but got ",
           log_probs.ndim(), "-dimensional tensor for argument #1 'log_probs'", kWhere);
  DT_CHECK(log_probs.numel() > 0, kRuntimeError, "log_probs tensor must not be empty");
  check_floating(log_probs, "ctc_loss_cpu");
  const int64_t batch = log_probs.size(1), time = log_probs.size(0);
  check_lengths(input_lengths, batch, "input_lengths");
  check_lengths(target_lengths, batch, "target_lengths");
  DT_CHECK(blank >= 0 && blank < log_probs.size(2), kRuntimeError, "blank must be in label range");
  DT_CHECK(targets.ndim() == 1 || targets.ndim() == 2, kRuntimeError,
           "Expected 1 to 2 dimensions, but got ", targets.ndim(),
           "-dimensional tensor for argument #2 'targets'", kWhere);
  std::optional<int64_t> longest;
  if (target_lengths.device() == kCpu) {
    const auto [least, most] = extent(target_lengths);
    DT_CHECK(least >= 0, kRuntimeError,
             "Expected target_lengths to have value at least 0, but got value ", least, kWhere);
    longest = most;
  }
  if (targets.ndim() == 2) {
    check_padded_targets(targets, batch, longest);
  } else if (longest) {
    const int64_t all = item(sum(to_dtype(target_lengths, kIndexDType))).to_int64();
    DT_CHECK(targets.size(0) == all, kRuntimeError, "Expected tensor to have size ", all,
             " at dimension 0, but got size ", targets.size(0), " for argument #2 'targets'",
             kWhere);
  }
  if (input_lengths.device() != kCpu) return;
  const auto [least, most] = extent(input_lengths);
  DT_CHECK(least >= 0, kRuntimeError,
           "Expected input_lengths to have value at least 0, but got value ", least, kWhere);
  DT_CHECK(most <= time, kRuntimeError, "Expected input_lengths to have value at most ", time,
           ", but got value ", most, kWhere);
}

void check_linear_cross_entropy(const Tensor& input, const Tensor& linear_weight,
                                const Tensor& target, const Tensor& linear_bias, bool ignores) {
  const Tensor &x = input, &w = linear_weight;
  DT_CHECK(x.ndim() == 1 || x.ndim() == 2, kRuntimeError,
           "expected input with dimensionality 1 or 2, got ", x.ndim());
  DT_CHECK(w.ndim() >= 2, kRuntimeError,
           "expected linear_weight with dimensionality at least 2, got ", w.ndim());
  DT_CHECK(x.size(-1) == w.size(-1), kRuntimeError,
           "expected equal input and linear_weight last dimensions (in_features), got ", x.size(-1),
           " and ", w.size(-1), ", respectively");
  Dims outputs = w.sizes(), logits = x.sizes();
  outputs.erase(w.ndim() - 1);
  DT_CHECK(!linear_bias.defined() || linear_bias.sizes() == outputs, kRuntimeError,
           "expected linear_bias shape ", outputs, ", got ", linear_bias.sizes());
  DT_CHECK(w.ndim() == 2 || x.ndim() == 2, kRuntimeError,
           "K-dimensional loss defined by linear_weight shape ", w.sizes(),
           " requires batched input, (N, ", x.size(-1), "), got unbatched input with shape ",
           x.sizes());
  logits.erase(x.ndim() - 1);
  for (const int64_t n : outputs) logits.push_back(n);
  DT_CHECK(!ignores || target.sizes() != logits, kRuntimeError,
           "ignore_index cannot be specified when target contains probabilities");
}

}  // namespace dt
