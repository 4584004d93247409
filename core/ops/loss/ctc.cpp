// Connectionist temporal classification.
#include <limits>

#include "core/autograd/record.h"
#include "core/ops/checks.h"
#include "core/ops/creation.gen.h"
#include "core/ops/loss.gen.h"
#include "core/ops/loss/checks.h"
#include "core/ops/loss/reduce_losses.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/pointwise_logic.gen.h"
#include "core/ops/reduce.gen.h"
#include "core/runtime/backend.h"
#include "core/runtime/calls/loss.gen.h"

namespace dt {
namespace {

struct CtcTargets {
  Tensor classes, starts, input_lengths, lengths;  // int64, on the device of the probabilities
  int64_t longest;

  CtcTargets(const Tensor& x, const Tensor& targets, const Tensor& inputs, const Tensor& of_targets)
      : classes(contiguous(to_dtype(targets, kIndexDType))),
        input_lengths(on_device(inputs, x.device())),
        lengths(on_device(of_targets, x.device())) {
    const bool is_padded = targets.ndim() == 2;
    longest = is_padded ? targets.size(1) : longest_of(of_targets, targets.size(0));
    const int64_t n = x.size(1);
    starts = is_padded ? arange(0, static_cast<double>(n), 1, kIndexDType, x.device())
                       : sub(cumsum(lengths, 0), lengths);
    if (is_padded) starts = mul(starts, targets.size(1));
  }

 private:
  static Tensor on_device(const Tensor& lengths, Device device) {
    return contiguous(to(reshape(lengths, {lengths.numel()}), device, kIndexDType));
  }
  // What lies on a GPU is not looked at: one sequence may have all classes.
  static int64_t longest_of(const Tensor& lengths, int64_t all) {
    if (lengths.device() != kCpu) return all;
    return lengths.numel() == 0 ? 0 : item(max(lengths)).to_int64();
  }
};

// What the user may overwrite meanwhile.
struct KeptTargets {
  CtcTargets targets;
  Saved classes, input_lengths, lengths;

  explicit KeptTargets(const CtcTargets& t)
      : targets(t),
        classes(Saved::input(t.classes)),
        input_lengths(Saved::input(t.input_lengths)),
        lengths(Saved::input(t.lengths)) {}
  const CtcTargets& get(Node* node) const {
    for (const Saved* s : {&classes, &input_lengths, &lengths})
      s->get(node);  // unchanged, or fails
    return targets;
  }
};

struct CtcSettings {
  int64_t blank;
  bool zero_infinity;
};

// PyTorch has no derivative of the gradient, which is not that of the loss alone.
Tensor recorded_gradient(const Tensor& gx, const Tensor& g, const Tensor& x) {
  return record("CtcLossBackwardBackward0", gx, {g, x}, [](BackwardCall&) {
    fail(Code::kRuntimeError, "derivative for aten::_ctc_loss_backward is not implemented");
  });
}

Tensor gradient(const Tensor& g, const Tensor& x, const Tensor& log_alpha, const Tensor& loss,
                const CtcTargets& targets, CtcSettings settings) {
  const Tensor gx = make_empty(x.sizes(), x.dtype(), x.device());
  CtcLossBackwardCall call;
  call.gx = gx;
  call.g = g;
  call.log_probs = x;
  call.log_alpha = log_alpha;
  call.loss = loss;
  call.targets = targets.classes;
  call.starts = targets.starts;
  call.input_lengths = targets.input_lengths;
  call.target_lengths = targets.lengths;
  call.blank = settings.blank;
  call.zero_infinity = settings.zero_infinity;
  run(op::ctc_loss_backward, call);
  return recorded_gradient(gx, g, x);
}

// A loss for each sequence.
Tensor losses_of(const Tensor& x, const CtcTargets& targets, CtcSettings settings) {
  const int64_t time = x.size(0), n = x.size(1);
  const Tensor y = make_empty({n}, x.dtype(), x.device());
  const Tensor log_alpha = make_empty({n, time, 2 * targets.longest + 1}, x.dtype(), x.device());
  CtcLossCall call;
  call.loss = y;
  call.log_alpha = log_alpha;
  call.log_probs = x;
  call.targets = targets.classes;
  call.starts = targets.starts;
  call.input_lengths = targets.input_lengths;
  call.target_lengths = targets.lengths;
  call.blank = settings.blank;
  run(op::ctc_loss, call);
  if (!needs_graph(x)) return y;
  return record("CtcLossBackward0", y, {x},
                [saved = Saved::input(x), kept = KeptTargets(targets), loss = Saved::output(y),
                 log_alpha, settings](BackwardCall& b) {
                  b.results[0] = gradient(b.grad(), saved.get(b.node), log_alpha, loss.get(b.node),
                                          kept.get(b.node), settings);
                });
}

}  // namespace

Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                const Tensor& target_lengths, int64_t blank, Reduction reduction,
                bool zero_infinity) {
  const bool is_batched = log_probs.ndim() == 3;
  const Tensor x = is_batched ? log_probs : unsqueeze(log_probs, 1);
  check_ctc_loss(x, targets, input_lengths, target_lengths, blank);
  const CtcTargets all(x, targets, input_lengths, target_lengths);
  const Tensor wide = to_dtype(x, info(x.dtype()).compute);
  Tensor losses = to_dtype(losses_of(wide, all, {blank, zero_infinity}), x.dtype());
  if (zero_infinity) {
    const double infinity = std::numeric_limits<double>::infinity();
    losses = where(eq(losses, infinity), 0, losses);
  }
  const bool is_mean = reduction != Reduction::kNone && reduction != Reduction::kSum;
  if (is_mean) losses = true_divide(losses, to_dtype(clamp_min(all.lengths, 1), losses.dtype()));
  if (reduction == Reduction::kNone && !is_batched) return unsafe_view(losses, {});
  return reduce_losses(losses, reduction);
}

}  // namespace dt
