// Losses of classes: nll_loss and cross_entropy.
#include <limits>

#include "core/ops/copy.h"
#include "core/ops/creation.gen.h"
#include "core/ops/indexing.gen.h"
#include "core/ops/loss.gen.h"
#include "core/ops/loss/checks.h"
#include "core/ops/loss/reduce_losses.h"

#include "core/autograd/fused.h"
#include "core/ops/checks.h"
#include "core/ops/formula.h"
#include "core/ops/nn.gen.h"
#include "core/ops/pointwise_logic.gen.h"
#include "core/ops/reduce.gen.h"
#include "core/ops/views.gen.h"
#include "core/runtime/backend.h"
#include "core/runtime/calls/loss.gen.h"

namespace dt {
namespace {

struct ClassLoss {
  Tensor weight;  // a factor for each class; undefined: 1
  int64_t ignore_index;
  double label_smoothing;
};

// The sizes of what has a number for each of dimension 1.
Dims along_dim_1(const Tensor& x) {
  Dims sizes(x.ndim(), 1);
  sizes[1] = x.size(1);
  return sizes;
}

// [N, C, d1, ...] as [N, C, d1 * ...].
Dims with_flat_places(const Dims& sizes) {
  int64_t places = 1;
  for (int d = 2; d < static_cast<int>(sizes.size()); ++d) places *= sizes[d];
  return {sizes[0], sizes[1], places};
}

// 1 where the target counts, and the targets made valid everywhere, so that they can be used as
// indices.
struct ValidTargets {
  Tensor counts, index;
  ValidTargets(const Tensor& target, int64_t ignore_index)
      : counts(ne(target, ignore_index)), index(where(counts, target, 0)) {}
};

Tensor class_weights(const Tensor& weight, const Tensor& index) {
  return reshape(index_select(weight, 0, reshape(index, {index.numel()})), index.sizes());
}

Tensor reduce_class_losses(const Tensor& losses, const Tensor& target, const ClassLoss& loss,
                           Reduction reduction) {
  if (reduction == Reduction::kNone || reduction == Reduction::kSum)
    return reduce_losses(losses, reduction);
  return true_divide(sum(losses), class_normaliser(target, loss.weight, loss.ignore_index));
}

// -input[target] along dimension 1, weighted; 0 where the target is ignored.
Tensor picked_losses(const Tensor& input, const Tensor& target, const ClassLoss& loss) {
  const ValidTargets t(target, loss.ignore_index);
  // Of no classes there is none that ignored targets could read in its place.
  if (input.size(1) == 0 && !item(any(t.counts)).to_bool()) return sum(input, {{1}});
  Tensor picked = neg(squeeze(gather(input, 1, unsqueeze(t.index, 1)), {{1}}));
  if (loss.weight.defined()) {  // ignored targets have none, not even one that is infinite
    picked = picked * where(t.counts, class_weights(loss.weight, t.index), 0);
  }
  return where(t.counts, picked, 0);
}

Tensor class_targets(const Tensor& target) {
  check_class_targets(target);
  return to_dtype(target, kIndexDType);
}

// ---- cross entropy of rows

// Along dimension 1 of x.
Tensor row_losses_composition(const Tensor& x, const Tensor& target, const ClassLoss& loss) {
  const Tensor counts = ne(target, loss.ignore_index);
  const Tensor log_p = log_softmax(where(unsqueeze(counts, 1), x, 0), 1);  // as the kernels do
  const Tensor picked = picked_losses(log_p, target, loss);
  if (loss.label_smoothing == 0) return picked;
  const double classes = static_cast<double>(x.size(1));
  Tensor all = log_p;
  if (loss.weight.defined()) all = all * reshape(loss.weight, along_dim_1(x));
  all = sum(all, {{1}});
  const Tensor smooth = where(counts, neg(all), 0);
  return picked * (1 - loss.label_smoothing) + smooth * (loss.label_smoothing / classes);
}

// The weights as the kernels read them, whatever the logits are.
Tensor widened(const Tensor& weight, DType dtype) {
  return weight.defined() ? to_dtype(weight, dtype) : weight;
}

// A gradient as one factor for each row; undefined: 1.
View row_factors(const Tensor& g, DType dtype, const Dims& rows) {
  if (!g.defined()) return View(Scalar(1), dtype, rows);
  if (g.sizes() == rows) return g;
  return View(g, rows, Dims(static_cast<int>(rows.size()), 0), g.offset());
}

// `scales` and `divisor` are by-products of the forward: what makes the rows their softmax, and
// what a mean divided by, if it is one.
void row_losses_backward(BackwardCall& b, const Tensor& x, const Tensor& target,
                         const ClassLoss& loss, const Tensor& scales, const Tensor& divisor) {
  const DType wide = scales.dtype();
  const Tensor g = b.is_seed ? Tensor() : to_dtype(b.grad(), wide);
  const Tensor weight = widened(loss.weight, wide);
  b.results[0] = make_empty(x.sizes(), x.dtype(), x.device());
  CrossEntropyBackwardCall call;
  call.gx = b.results[0];
  call.g = row_factors(g, wide, target.sizes());
  call.x = x;
  call.scales = scales;
  call.target = target;
  call.weight = weight;
  call.divisor = divisor;
  call.ignore_index = loss.ignore_index;
  call.label_smoothing = loss.label_smoothing;
  run(op::cross_entropy_backward, call);
}

// The losses of contiguous logits against int64 targets, in the shapes that class_logits gives.
Tensor row_losses(const Tensor& x, const Tensor& target, const ClassLoss& loss, Reduction reduction,
                  DType dtype) {
  const DType wide = info(x.dtype()).compute;
  const auto empty = [&](const Dims& sizes) { return make_empty(sizes, wide, x.device()); };
  const bool reduces = reduction != Reduction::kNone;
  const Tensor weight = widened(loss.weight, wide);
  Dims pairs = target.sizes();
  pairs.insert(0, 2);
  const Tensor losses = empty(reduces ? Dims() : target.sizes()), scales = empty(pairs);
  const Tensor divisor = reduces && reduction != Reduction::kSum ? empty({}) : Tensor();
  CrossEntropyCall call;
  call.loss = losses;
  call.scales = scales;
  call.divisor = divisor;
  call.x = x;
  call.target = target;
  call.weight = weight;
  call.ignore_index = loss.ignore_index;
  call.reduces = reduces;
  call.label_smoothing = loss.label_smoothing;
  run(op::cross_entropy, call);
  const Tensor y = to_dtype(losses, dtype);
  if (!needs_graph(x)) return y;
  return fused(
      "CrossEntropyLossBackward0", y, {x, target, loss.weight},
      {Saved::input(x), Saved::input(target), Saved::input(loss.weight)},
      [ignore = loss.ignore_index, smoothing = loss.label_smoothing, reduction,
       dtype](const std::vector<Tensor>& in) {
        const ClassLoss loss{in[2], ignore, smoothing};
        const Tensor losses = row_losses_composition(to_dtype(in[0], dtype), in[1], loss);
        return reduce_class_losses(losses, in[1], loss, reduction);
      },
      [ignore = loss.ignore_index, smoothing = loss.label_smoothing, scales, divisor](
          BackwardCall& b, const std::vector<Tensor>& in) {
        row_losses_backward(b, in[0], in[1], {in[2], ignore, smoothing}, scales, divisor);
      });
}

// [N, C, d1, ...] as [N * d1 * ..., C], or as [N, C, d1 * ...] where the CPU's kernels go along it.
Tensor class_logits(const Tensor& input) {
  constexpr int64_t kFewestPlaces = 16;
  if (input.ndim() == 2) return contiguous(input);
  const Dims flat = with_flat_places(input.sizes());
  if (input.device() == kCpu && input.is_contiguous() && flat[2] >= kFewestPlaces)
    return reshape(input, flat);
  return contiguous(reshape(movedim(keep_order(input), {1}, {-1}),
                            {input.numel() / input.size(1), input.size(1)}));
}

Tensor cross_entropy_of_classes(const Tensor& input, const Tensor& target, const ClassLoss& loss,
                                Reduction reduction, DType dtype) {
  check_target_sizes(input, target);
  if (input.size(1) == 0) {  // no logits to look at: there are no rows, or no target is a class
    const Tensor y =
        nll_loss(to_dtype(input, dtype), target, loss.weight, loss.ignore_index, reduction);
    // The share of each of no classes is no number.
    return loss.label_smoothing > 0 ? y + std::numeric_limits<double>::quiet_NaN() : y;
  }
  const Tensor x = class_logits(input);
  const Dims rows = x.ndim() == 3 ? Dims{x.size(0), x.size(2)} : Dims{target.numel()};
  const Tensor flat = contiguous(reshape(class_targets(target), rows));
  const Tensor losses = row_losses(x, flat, loss, reduction, dtype);
  return reduction == Reduction::kNone ? unsafe_view(losses, target.sizes()) : losses;
}

Tensor cross_entropy_of_probabilities(const Tensor& input, Tensor target, const ClassLoss& loss,
                                      Reduction reduction) {
  check_probability_targets(loss.ignore_index);
  const int dim = input.ndim() == 1 ? 0 : 1;
  const double classes = static_cast<double>(input.size(dim));
  if (loss.label_smoothing > 0) {
    target = target * (1 - loss.label_smoothing) + loss.label_smoothing / classes;
  }
  Tensor terms = log_softmax(input, dim) * target;
  if (loss.weight.defined())
    terms = terms * (dim == 0 ? loss.weight : reshape(loss.weight, along_dim_1(input)));
  if (reduction == Reduction::kNone) return neg(sum(terms, {{dim}}));
  const Tensor total = neg(sum(terms));
  return reduction == Reduction::kSum ? total : total / (input.numel() / classes);
}

// ---- nll_loss

Tensor nll_loss_composition(const Tensor& input, const Tensor& target, const ClassLoss& loss,
                            Reduction reduction) {
  return reduce_class_losses(picked_losses(constant_slope(input), target, loss), target, loss,
                             reduction);
}

void nll_loss_backward(BackwardCall& b, const Tensor& input, const Tensor& target,
                       const ClassLoss& loss, const Tensor& divisor) {
  const Dims flat = with_flat_places(input.sizes()), places = {flat[0], flat[2]};
  b.results[0] = make_empty(input.sizes(), input.dtype(), input.device());
  const Tensor gx = reshape(b.results[0], flat), t = reshape(target, places);
  Tensor g = b.is_seed ? Tensor() : b.grad();
  if (g.defined() && g.ndim() > 0) g = reshape(g, places);
  NllLossBackwardCall call;
  call.gx = gx;
  call.g = row_factors(g, input.dtype(), places);
  call.target = t;
  call.weight = loss.weight;
  call.divisor = divisor;
  call.ignore_index = loss.ignore_index;
  run(op::nll_loss_backward, call);
}

// Of input [N, C, d1, ...] and int64 targets [N, d1, ...].
Tensor nll_loss_of_classes(const Tensor& input, const Tensor& target, const ClassLoss& loss,
                           Reduction reduction) {
  const Dims flat = with_flat_places(input.sizes()), places = {flat[0], flat[2]};
  const bool reduces = reduction != Reduction::kNone;
  const Tensor y = make_empty(reduces ? Dims() : target.sizes(), input.dtype(), input.device());
  const Tensor divisor = reduces && reduction != Reduction::kSum
                             ? make_empty({}, info(input.dtype()).compute, input.device())
                             : Tensor();
  {
    const GradMode no_grad(false);
    const Tensor losses = reduces ? y : reshape(y, places);
    const Tensor x = reshape(input, flat), t = reshape(target, places);
    NllLossCall call;
    call.loss = losses;
    call.divisor = divisor;
    call.x = x;
    call.target = t;
    call.weight = loss.weight;
    call.ignore_index = loss.ignore_index;
    call.reduces = reduces;
    run(op::nll_loss, call);
  }
  if (!needs_graph(input)) return y;
  return fused(
      "NllLossBackward0", y, {input, target, loss.weight},
      {Saved::input(input), Saved::input(target), Saved::input(loss.weight)},
      [ignore = loss.ignore_index, reduction](const std::vector<Tensor>& in) {
        return nll_loss_composition(in[0], in[1], {in[2], ignore, 0}, reduction);
      },
      [ignore = loss.ignore_index, divisor](BackwardCall& b, const std::vector<Tensor>& in) {
        nll_loss_backward(b, in[0], in[1], {in[2], ignore, 0}, divisor);
      });
}

}  // namespace

Tensor class_normaliser(const Tensor& target, const Tensor& weight, int64_t ignore_index) {
  if (!weight.defined() || weight.numel() == 0) return sum(ne(target, ignore_index));
  const ValidTargets t(target, ignore_index);
  return sum(where(t.counts, class_weights(weight, t.index), 0));
}

Tensor nll_loss(const Tensor& input, const Tensor& target, const Tensor& weight,
                int64_t ignore_index, Reduction reduction) {
  check_class_dim(input);
  if (input.ndim() == 1) {
    check_single_target(target);
    const Tensor y =
        nll_loss(unsqueeze(input, 0), at_least_1d(target), weight, ignore_index, reduction);
    return reduction == Reduction::kNone ? unsafe_view(y, target.sizes()) : y;
  }
  check_target_sizes(input, target);
  const Tensor t = class_targets(target);
  check_nll_loss(input, weight);
  const ClassLoss loss{weight.defined() ? contiguous(weight) : weight, ignore_index, 0};
  return nll_loss_of_classes(input, t, loss, reduction);
}

Tensor cross_entropy_in(DType dtype, const Tensor& input, const Tensor& target,
                        const Tensor& weight, int64_t ignore_index, Reduction reduction,
                        double label_smoothing) {
  if (dtype == DType::kDefault) dtype = input.dtype();
  const bool has_probabilities = target.sizes() == input.sizes();
  check_cross_entropy(input, target, weight, label_smoothing);
  const ClassLoss loss{weight.defined() ? contiguous(weight) : weight, ignore_index,
                       label_smoothing};
  if (has_probabilities)
    return cross_entropy_of_probabilities(to_dtype(input, dtype), target, loss, reduction);
  check_class_weight(input, weight, dtype);
  if (input.ndim() == 1) {
    check_single_target(target);
    const Tensor y =
        cross_entropy_of_classes(unsqueeze(input, 0), at_least_1d(target), loss, reduction, dtype);
    return reduction == Reduction::kNone ? unsafe_view(y, target.sizes()) : y;
  }
  return cross_entropy_of_classes(input, target, loss, reduction, dtype);
}

Tensor cross_entropy(const Tensor& input, const Tensor& target, const Tensor& weight,
                     int64_t ignore_index, Reduction reduction, double label_smoothing) {
  return cross_entropy_in(DType::kDefault, input, target, weight, ignore_index, reduction,
                          label_smoothing);
}

}  // namespace dt
