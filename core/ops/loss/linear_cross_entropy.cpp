// cross_entropy of the outputs of a linear layer, in chunks of rows: the logits, which are many
// times larger than all else where there are many classes, are never held at once. A loss that is
// one number has its gradients from the same pass, because they are known but for a factor.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "core/autograd/engine.h"
#include "core/autograd/fused.h"
#include "core/ops/autocast.gen.h"
#include "core/ops/autocast/autocast.h"
#include "core/ops/copy.h"
#include "core/ops/creation.gen.h"
#include "core/ops/formula.h"
#include "core/ops/linalg.gen.h"
#include "core/ops/loss.gen.h"
#include "core/ops/loss/checks.h"
#include "core/ops/loss/reduce_losses.h"
#include "core/ops/nn.gen.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/pointwise_logic.gen.h"
#include "core/ops/reduce.gen.h"
#include "core/ops/views.gen.h"

namespace dt {
namespace {

// The tensors in the order in which gradients are asked for.
enum { kInput, kLinearWeight, kLinearBias, kTarget, kWeight };

struct LossSettings {
  int64_t ignore_index;
  double label_smoothing;
};

// The losses of whole rows as other ops compute them.
Tensor linear_losses(const std::vector<Tensor>& in, const LossSettings& s, Reduction reduction) {
  const Tensor& w = in[kLinearWeight];
  Dims sizes = in[kInput].sizes();
  sizes.erase(sizes.size() - 1);
  int64_t outputs = 1;
  for (int d = 0; d < w.ndim() - 1; ++d) {
    sizes.push_back(w.size(d));
    outputs *= w.size(d);
  }
  const Tensor rows = reshape(w, {outputs, w.size(-1)});
  const Tensor bias = in[kLinearBias].defined() ? flatten(in[kLinearBias]) : Tensor();
  const Tensor logits = reshape(autocast::linear(in[kInput], rows, bias), sizes);
  return autocast::cross_entropy(logits, in[kTarget], in[kWeight], s.ignore_index, reduction,
                                 s.label_smoothing);
}

// ---- chunks

// Fewer logits than these are not worth more than one product.
constexpr int64_t kFewLogits = 1 << 20;
// With fewer rows a chunk's product is cheap beside the sum that it is added to.
constexpr int64_t kLeastRows = 256;

// The rows of a chunk: their logits are as many as the elements of the input. Other devices than a
// CPU multiply in less time than they add to the weight's gradient: there they are as many as the
// elements of that, if these are more.
int64_t rows_of_chunk(const Tensor& input, const Tensor& linear_weight) {
  const int64_t rows = input.size(0), classes = linear_weight.size(0);
  if (rows * classes <= kFewLogits) return rows;
  const int64_t fitting = std::max(kLeastRows, input.numel() / classes);
  const bool is_cpu = input.device().type == DeviceType::kCpu;
  return is_cpu ? fitting : std::max(fitting, linear_weight.size(1));
}

// Room for the gradients that are wanted: chunks add up in the dtype that arithmetic is done in.
std::vector<Tensor> make_sums(const std::vector<Tensor>& in, const bool (&wanted)[3]) {
  std::vector<Tensor> sums(3);
  for (int i = 0; i < 3; ++i) {
    if (!wanted[i]) continue;
    const DType own = in[i].dtype();
    sums[i] = zeros(in[i].sizes(), i == kInput ? own : info(own).compute, in[i].device());
  }
  return sums;
}

void add_product(Tensor& sum, const Tensor& a, const Tensor& b) {
  sum = sum.dtype() == a.dtype() ? addmm(sum, a, b) : add_(sum, mm(a, b));
}

// Fills `losses` with those of the rows, and adds to `sums` their gradients by `grads`, one for
// each row, if it is defined.
void run_chunks(const std::vector<Tensor>& in, const LossSettings& s, const Tensor& losses,
                const Tensor& grads, std::vector<Tensor>& sums) {
  const int64_t rows = in[kInput].size(0), step = rows_of_chunk(in[kInput], in[kLinearWeight]);
  const Tensor w = in[kLinearWeight].detach();
  const Tensor b = in[kLinearBias].defined() ? in[kLinearBias].detach() : Tensor();
  for (int64_t i = 0; i < rows; i += step) {
    const auto part = [i, n = std::min(step, rows - i)](const Tensor& x) {
      return narrow(x.detach(), 0, i, n);
    };
    const Tensor x = part(in[kInput]);
    const Tensor logits = linear(x, w, b);
    const GradMode recorded(grads.defined());
    logits.set_requires_grad(grads.defined());
    const Tensor y = cross_entropy(logits, part(in[kTarget]), in[kWeight], s.ignore_index,
                                   Reduction::kNone, s.label_smoothing);
    const GradMode plain(false);
    if (losses.defined()) copy_(part(losses), y.detach());
    if (!grads.defined()) continue;
    const Tensor g = run_grad({y}, {logits}, {part(grads)}, {}, false)[0];
    if (sums[kInput].defined()) copy_(part(sums[kInput]), mm(g, w));
    if (sums[kLinearWeight].defined()) add_product(sums[kLinearWeight], t(g), x);
    if (sums[kLinearBias].defined()) add_(sums[kLinearBias], sum(g, {{0}}));
  }
}

Tensor record_losses(const Tensor& y, const std::vector<Tensor>& in, const LossSettings& s,
                     Reduction reduction, const Tensor& divisor, std::vector<Tensor> sums) {
  std::vector<Saved> saved;
  for (const Tensor& x : in) saved.push_back(Saved::input(x));
  return fused(
      "LinearCrossEntropyBackward0", y, in, std::move(saved),
      [s, reduction](const std::vector<Tensor>& in) { return linear_losses(in, s, reduction); },
      [s, divisor, sums = std::move(sums)](BackwardCall& call, const std::vector<Tensor>& in) {
        const bool wanted[3] = {call.wants(0), call.wants(1), call.wants(2)};
        if (sums.empty()) {
          std::vector<Tensor> own = make_sums(in, wanted);
          run_chunks(in, s, Tensor(), call.grad(), own);
          for (int i = 0; i < 3; ++i) call.results[i] = own[i];
          return;
        }
        const Tensor g = to_dtype(call.grad(), info(call.grad().dtype()).compute);
        const Tensor factor = divisor.defined() ? true_divide(g, divisor) : g;
        for (int i = 0; i < 3; ++i) {
          if (wanted[i]) call.results[i] = sums[i] * factor;
        }
      });
}

Tensor chunked_losses(const std::vector<Tensor>& in, const LossSettings& s, Reduction reduction) {
  const Tensor& x = in[kInput];
  const int64_t rows = x.size(0);
  const bool is_recorded = needs_graph(in), reduces = reduction != Reduction::kNone;
  const bool wanted[3] = {needs_graph(x), needs_graph(in[kLinearWeight]),
                          needs_graph(in[kLinearBias])};
  const GradMode plain(false);
  const Tensor losses = make_empty({rows}, x.dtype(), x.device());
  std::vector<Tensor> sums;
  Tensor ones_of_rows;
  if (reduces && is_recorded) {
    sums = make_sums(in, wanted);
    ones_of_rows = ones({rows}, x.dtype(), x.device());
  }
  run_chunks(in, s, losses, ones_of_rows, sums);
  Tensor y = reduces ? sum(losses) : losses, divisor;
  if (reduces && reduction != Reduction::kSum) {
    divisor = class_normaliser(in[kTarget], in[kWeight], s.ignore_index);
    y = true_divide(y, divisor);
    divisor = where(ne(divisor, 0), divisor, 1);  // nothing counts: the gradients are 0
  }
  if (!is_recorded) return y;
  const GradMode recorded(true);
  return record_losses(y, in, s, reduction, divisor, std::move(sums));
}

}  // namespace

Tensor linear_cross_entropy(const Tensor& input, const Tensor& linear_weight, const Tensor& target,
                            const Tensor& linear_bias, const Tensor& weight, Reduction reduction,
                            std::optional<int64_t> ignore_index, double label_smoothing) {
  check_linear_cross_entropy(input, linear_weight, target, linear_bias, ignore_index.has_value());
  const std::vector<Tensor> in = {input, linear_weight, linear_bias, target, weight};
  const LossSettings s{ignore_index.value_or(-100), label_smoothing};
  // Autocast has a dtype for the layer and another for the loss.
  const bool in_chunks = !is_autocast_enabled(input.device().type) && input.ndim() == 2 &&
                         linear_weight.ndim() == 2 && target.ndim() == 1 &&
                         target.size(0) == input.size(0) &&
                         !(weight.defined() && weight.requires_grad()) &&
                         rows_of_chunk(input, linear_weight) < input.size(0);
  return in_chunks ? chunked_losses(in, s, reduction) : linear_losses(in, s, reduction);
}

}  // namespace dt
