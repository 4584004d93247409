// Normalisation of the last dimensions.
#include <cmath>
#include <limits>

#include "core/autograd/fused.h"
#include "core/autograd/running.h"
#include "core/ops/checks.h"
#include "core/ops/copy.h"
#include "core/ops/creation.gen.h"
#include "core/ops/formula.h"
#include "core/ops/nn.gen.h"
#include "core/ops/nn/checks.h"
#include "core/ops/nn/normalisation.h"
#include "core/ops/reduce.gen.h"
#include "core/runtime/backend.h"
#include "core/runtime/calls/nn.gen.h"
#include "core/runtime/widen.h"

namespace dt {
namespace {

// x as a matrix whose rows are normalised.
View rows_view(const Tensor& x, int64_t rows, int64_t n) {
  return View(x, {rows, n}, {n, 1}, x.offset());
}

Tensor layer_norm_composition(const std::vector<Tensor>& in, const Dims& shape, double eps) {
  Dims dims;
  for (int d = -shape.size(); d < 0; ++d) dims.push_back(d);
  const Tensor centered = in[0] - mean(in[0], IntList(dims), true);
  const Tensor variance = mean(square(centered), IntList(dims), true);
  return scale_and_shift(centered / sqrt(variance + eps), in[1], in[2], shape);
}

// A parameter of the rows' length; absent if there is none.
View parameter_view(const Tensor& p, int64_t n) {
  return p.defined() ? View(p, {n}, {1}, p.offset()) : View();
}

// The rows that are normalised, of n elements each, and what the forward found in them.
struct NormalisedRows {
  int64_t rows, n;
  Tensor mean, rstd;
};

// What has arrived where the gradient of x goes, if the kernel can add to it. The steps of a
// network with ways around its norms each have one there.
const Tensor* sum_beside(const BackwardCall& b, const Tensor& x) {
  const Tensor* const sum = b.wants(0) ? sum_to_add_to(b, 0) : nullptr;
  const bool is_wide = info(x.dtype()).compute == x.dtype();
  return sum && is_wide && sum->is_contiguous() ? sum : nullptr;
}

void layer_norm_backward(BackwardCall& b, const std::vector<Tensor>& in, const NormalisedRows& of) {
  const Tensor* const sum = sum_beside(b, in[0]);
  make_wanted(b, in, sum ? 1 : 0);
  const Tensor g = contiguous(b.grad());
  LayerNormBackwardCall call;
  if (b.wants(0)) call.gx = rows_view(sum ? *sum : b.results[0], of.rows, of.n);
  call.adds = sum != nullptr;
  call.gweight = parameter_view(b.results[1], of.n);
  call.gbias = parameter_view(b.results[2], of.n);
  call.g = rows_view(g, of.rows, of.n);
  call.x = rows_view(in[0], of.rows, of.n);
  call.mean = of.mean;
  call.rstd = of.rstd;
  call.weight = parameter_view(in[1], of.n);
  run(op::layer_norm_backward, call);
}

}  // namespace

namespace {

// What layer_norm's kernel takes: rows of a contiguous input, and where their statistics go.
NormalisedRows rows_of(const Tensor& x, const Dims& shape, bool is_centered) {
  const int64_t rows = count_elements(IntList(x.sizes().data(), x.ndim() - shape.size()));
  const DType compute = info(x.dtype()).compute;
  return {rows, count_elements(shape),
          is_centered ? make_empty({rows}, compute, x.device()) : Tensor(),
          make_empty({rows}, compute, x.device())};
}

// A parameter in the dtype that is computed with.
Tensor computed(const Tensor& p) {
  return p.defined() ? to_dtype(p, info(p.dtype()).compute) : p;
}

Tensor normalise_rows(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps,
                      const NormalisedRows& of) {
  const Tensor y = make_empty(x.sizes(), x.dtype(), x.device());
  const View to = rows_view(y, of.rows, of.n), from = rows_view(x, of.rows, of.n);
  const View mean = of.mean, rstd = of.rstd;
  // Parts would widen them each time.
  const bool in_parts = widened_part(op::layer_norm.number, from, 0) < of.rows;
  const Tensor w = in_parts ? computed(weight) : weight, b = in_parts ? computed(bias) : bias;
  in_widened_parts(op::layer_norm.number, from, 0, [&](int64_t first, int64_t count) {
    LayerNormCall call;
    call.y = part_of(to, 0, first, count);
    call.mean = part_of(mean, 0, first, count);
    call.rstd = part_of(rstd, 0, first, count);
    call.x = part_of(from, 0, first, count);
    call.weight = parameter_view(w, of.n);
    call.bias = parameter_view(b, of.n);
    call.eps = eps;
    run(op::layer_norm, call);
  });
  return y;
}

Tensor rms_norm_composition(const std::vector<Tensor>& in, const Dims& shape, double eps) {
  Dims dims;
  for (int d = -shape.size(); d < 0; ++d) dims.push_back(d);
  const Tensor squares = mean(square(in[0]), IntList(dims), true);
  return scale_and_shift(in[0] / sqrt(squares + eps), in[1], Tensor(), shape);
}

// y in the order that an elementwise op on x would give it.
Tensor in_order_of(const Tensor& x, const Tensor& y) {
  const Tensor ordered = empty_like(x);
  copy_elements(ordered, y);
  return ordered;
}

// The smallest difference from 1 of what the dtype is computed in.
double epsilon_of(DType dtype) {
  return visit(info(dtype).compute, [](auto type) -> double {
    using T = typename decltype(type)::type;
    return std::ldexp(1.0, 1 - std::numeric_limits<T>::digits);
  });
}

// A weight that the kernel can read beside x.
Tensor weight_beside(const Tensor& weight, const Tensor& x) {
  const DType compute = info(x.dtype()).compute;
  const bool fits = !weight.defined() || weight.dtype() == x.dtype() || weight.dtype() == compute;
  return optional_contiguous(fits ? weight : to_dtype(weight, compute));
}

}  // namespace

Tensor layer_norm(const Tensor& input, IntList normalized_shape, const Tensor& weight,
                  const Tensor& bias, double eps) {
  const Dims shape = normalized_shape;
  check_layer_norm(input, shape, weight, bias);
  const Tensor x = contiguous(input);
  const Tensor w = optional_contiguous(weight), b = optional_contiguous(bias);
  const NormalisedRows of = rows_of(x, shape, true);
  const Tensor y = normalise_rows(x, w, b, eps, of);
  if (!needs_graph({x, w, b})) return y;
  return fused(
      "NativeLayerNormBackward0", y, {x, w, b}, {Saved::input(x), Saved::input(w), Saved::place(b)},
      [shape, eps](const std::vector<Tensor>& in) {
        return layer_norm_composition(in, shape, eps);
      },
      [of](BackwardCall& call, const std::vector<Tensor>& in) {
        layer_norm_backward(call, in, of);
      });
}

// layer_norm that takes no mean away: its kernels do that where there is no place for one.
Tensor rms_norm(const Tensor& input, IntList normalized_shape, const Tensor& weight,
                std::optional<double> eps) {
  const Dims shape = normalized_shape;
  check_rms_norm(input, shape, weight);
  const Tensor x = contiguous(input), w = weight_beside(weight, input);
  const double least = eps ? *eps : epsilon_of(x.dtype());
  const NormalisedRows of = rows_of(x, shape, false);
  Tensor y = normalise_rows(x, w, Tensor(), least, of);
  if (is_channels_last(input)) y = in_order_of(input, y);  // PyTorch's is made of elementwise steps
  if (!needs_graph({x, w})) return y;
  const Saved weights = x.requires_grad() ? Saved::input(w) : Saved::place(w);
  return fused(
      "FusedRmsNormBackward0", y, {x, w, Tensor()}, {Saved::input(x), weights, Saved()},
      [shape, least](const std::vector<Tensor>& in) {
        return rms_norm_composition(in, shape, least);
      },
      [of](BackwardCall& call, const std::vector<Tensor>& in) {
        layer_norm_backward(call, in, of);
      });
}

}  // namespace dt
