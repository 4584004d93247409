// Losses that are 0 from some margin on.
#include "core/autograd/record.h"
#include "core/ops/checks.h"
#include "core/ops/copy.h"
#include "core/ops/creation.gen.h"
#include "core/ops/formula.h"
#include "core/ops/indexing.gen.h"
#include "core/ops/linalg.gen.h"
#include "core/ops/loss.gen.h"
#include "core/ops/loss/checks.h"
#include "core/ops/loss/reduce_losses.h"
#include "core/ops/pointwise_logic.gen.h"
#include "core/ops/reduce.gen.h"
#include "core/ops/views.gen.h"

namespace dt {
namespace {

constexpr double kLeastSquare = double(1e-12F);  // of a vector's length, as PyTorch's

// [batch, classes], whatever the loss was given.
Tensor as_rows(const Tensor& x) {
  return x.ndim() == 2 ? x : reshape(x, {1, x.numel()});
}

// One loss for each row, in the sizes that a loss without a reduction has.
Tensor reduce_rows(const Tensor& losses, const Dims& sizes, Reduction reduction) {
  return reduction == Reduction::kNone ? unsafe_view(losses, sizes)
                                       : reduce_losses(losses, reduction);
}

// Where the first -1 of a row has not come yet.
Tensor before_the_end(const Tensor& targets) {
  return eq(cumsum(lt(targets, 0), 1), 0);
}

// grad times the loss's slope, -target * sigmoid(-target * input). Neither it nor its derivative
// has a term that overflows.
Tensor soft_margin_gradient(const Tensor& grad, const Tensor& input, const Tensor& target) {
  check_constant(target, "soft_margin_loss_backward", "target");
  Tensor out;
  {
    const GradMode no_grad(false);
    out = mul_(neg(grad) * sigmoid(mul_(neg(input), target)), target);
  }
  if (!needs_graph({grad, input})) return out;
  return record(
      "SoftMarginLossBackwardBackward0", out, {grad, input},
      [g = Saved::input(grad), x = Saved::input(input), t = Saved::input(target)](BackwardCall& b) {
        const Tensor input = x.get(b.node), target = t.get(b.node);
        if (b.wants(0)) b.results[0] = soft_margin_gradient(b.grad(), input, target);
        if (!b.wants(1)) return;
        const Tensor z = neg(input) * target;
        const Tensor curve = square(target) * sigmoid(z) * sigmoid(neg(z));
        b.results[1] = b.grad() * g.get(b.node) * curve;
      });
}

}  // namespace

Tensor soft_margin_loss(const Tensor& input, const Tensor& target, Reduction reduction) {
  check_constant(target, "soft_margin_loss", "target");
  Tensor losses;
  {
    const GradMode no_grad(false);
    const Tensor exponent = mul_(neg(input), target);  // of the input's size and dtype
    check_output_dtype(exponent.dtype());
    losses = log1p(exp(exponent));
  }
  if (needs_graph(input)) {
    losses = record("SoftMarginLossBackward0", losses, {input},
                    [x = Saved::input(input), t = Saved::input(target)](BackwardCall& b) {
                      b.results[0] = soft_margin_gradient(b.grad(), x.get(b.node), t.get(b.node));
                    });
  }
  return reduce_losses(losses, reduction);
}

Tensor hinge_embedding_loss(const Tensor& input, const Tensor& target, double margin,
                            Reduction reduction) {
  const Scalar from =
      is_floating(input.dtype()) ? Scalar(margin) : Scalar(Scalar(margin).to_int64());
  const Tensor unlike = where(ne(target, 1), clamp_min(rsub(input, from), 0), zeros_like(input));
  const Tensor alike = where(ne(target, -1), input, zeros_like(input));
  return reduce_losses(unlike + alike, reduction);
}

Tensor margin_ranking_loss(const Tensor& input1, const Tensor& input2, const Tensor& target,
                           double margin, Reduction reduction) {
  check_margin_ranking(input1, input2, target);
  return reduce_losses(clamp_min(neg(target) * (input1 - input2) + margin, 0), reduction);
}

Tensor cosine_embedding_loss(const Tensor& input1, const Tensor& input2, const Tensor& target,
                             double margin, Reduction reduction) {
  check_cosine_embedding(input1, input2, target);
  const Tensor product = sum(input1 * input2, {{-1}});
  const Tensor square1 = sum(input1 * input1, {{-1}}) + kLeastSquare;
  const Tensor square2 = sum(input2 * input2, {{-1}}) + kLeastSquare;
  const Tensor cosine = product / sqrt(square1 * square2);
  const Tensor alike = where(eq(target, 1), 1 - cosine, zeros_like(cosine));
  const Tensor unlike = where(eq(target, -1), clamp_min(cosine - margin, 0), zeros_like(cosine));
  return reduce_losses(alike + unlike, reduction);
}

Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                           double margin, double p, double eps, bool swap, Reduction reduction) {
  check_triplet_margin(anchor, positive, negative, margin);
  const Tensor near = pairwise_distance(anchor, positive, p, eps);
  Tensor far = pairwise_distance(anchor, negative, p, eps);
  if (swap) far = minimum(far, pairwise_distance(positive, negative, p, eps));
  return reduce_losses(clamp_min(margin + near - far, 0), reduction);
}

namespace {

// Losses of rows whose gradient is a slope of each element times what arrives, which reaches the
// elements that take no part, too, if it is infinite or NaN. `slope(x, target)` is differentiable.
template <class Slope>
Tensor with_slope(const char* name, const Tensor& losses, const Tensor& input, const Tensor& target,
                  Slope slope) {
  if (!needs_graph(input)) return losses;
  return record(
      name, losses, {input},
      [x = Saved::input(input), t = Saved::input(target), slope](BackwardCall& b) {
        const Tensor input = x.get(b.node), rows = as_rows(input);
        const Tensor gradient = slope(rows, t.get(b.node)) * reshape(b.grad(), {rows.size(0), 1});
        b.results[0] = b.flat_in_inputs(reshape(gradient, input.sizes()));
      });
}

// Of multi_margin_loss: by how much classes are too near to the target.
struct TooNear {
  Tensor index;   // the targets, as a column
  Tensor factor;  // their weights, if there are any
  int64_t p;
  double margin;

  Tensor short_of(const Tensor& x) const { return margin - gather(x, 1, index) + x; }
  Tensor own(const Tensor& x) const { return ne(scatter(zeros_like(x.detach()), 1, index, 1), 0); }
  // The terms, times the weights, where they count.
  Tensor counted(const Tensor& short_of, Tensor terms) const {
    const Tensor near = gt(short_of, 0);  // not where it is NaN
    if (factor.defined()) terms = terms * factor;
    return masked_fill(terms, logical_or(own(terms), logical_not(near)), 0);
  }
  Tensor losses(const Tensor& x) const {
    const Tensor s = short_of(x);
    return mean(counted(s, p == 2 ? s * s : s), {{1}});
  }
  Tensor slope(const Tensor& x) const {
    const Tensor s = short_of(x), by_class = counted(s, p == 2 ? 2 * s : ones_like(s));
    return where(own(x), neg(sum(by_class, {{1}}, true)), by_class) /
           static_cast<double>(x.size(1));
  }
};

}  // namespace

Tensor multi_margin_loss(const Tensor& input, const Tensor& target, int64_t p, double margin,
                         const Tensor& weight, Reduction reduction) {
  check_multi_margin(input, target, p, weight);
  const Tensor x = as_rows(input.detach()), index = reshape(target, {x.size(0), 1});
  Tensor factor;
  if (weight.defined()) factor = unsqueeze(index_select(weight, 0, reshape(target, {-1})), 1);
  const Tensor losses = TooNear{index, factor, p, margin}.losses(x);
  const auto slope = [=](const Tensor& x, const Tensor& target) {
    return TooNear{reshape(target, {x.size(0), 1}), factor, p, margin}.slope(x);
  };
  const Tensor y = with_slope("MultiMarginLossBackward0", losses, input, target, slope);
  return reduce_rows(y, target.sizes(), reduction);
}

// A term for each target (dimension 1) and each class (dimension 2).
Tensor multilabel_margin_loss(const Tensor& input, const Tensor& target, Reduction reduction) {
  check_multilabel_margin(input, target);
  const Tensor x = as_rows(input.detach()), targets = as_rows(target);
  const double classes = static_cast<double>(x.size(1));
  const Tensor counts = before_the_end(targets), index = where(counts, targets, 0);
  const Tensor named = scatter_add(zeros_like(targets), 1, index, to_dtype(counts, kIndexDType));
  const Tensor short_of = 1 - unsqueeze(gather(x, 1, index), 2) + unsqueeze(x, 1);
  const Tensor others = logical_and(unsqueeze(counts, 2), unsqueeze(eq(named, 0), 1));
  const Tensor matter = logical_and(others, gt(short_of, 0));  // not where it is NaN
  const Tensor total = sum(where(matter, short_of, 0), {{1, 2}}) / classes;
  const auto slope = [=](const Tensor& x, const Tensor&) {
    const Tensor terms = to_dtype(matter, x.dtype());
    return scatter_add(sum(terms, {{1}}), 1, index, neg(sum(terms, {{2}}))) / classes;
  };
  const Tensor losses = with_slope("MultilabelMarginLossBackward0", total, input, target, slope);
  const Dims rows = input.ndim() == 2 ? Dims{input.size(0)} : Dims();
  return reduce_rows(losses, rows, reduction);
}

Tensor multilabel_soft_margin_loss(const Tensor& input, const Tensor& target, const Tensor& weight,
                                   Reduction reduction) {
  Tensor losses = neg(target * logsigmoid(input) + rsub(target, 1) * logsigmoid(neg(input)));
  if (weight.defined()) losses = losses * weight;
  const int64_t classes = input.size(-1), dim = input.ndim() - 1;  // of the losses, too
  return reduce_losses(sum(losses, {{dim}}) / static_cast<double>(classes), reduction);
}

}  // namespace dt
