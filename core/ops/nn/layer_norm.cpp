// Normalisation of the last dimensions.
#include "core/autograd/fused.h"
#include "core/ops/creation.gen.h"
#include "core/ops/formula.h"
#include "core/ops/nn.gen.h"
#include "core/ops/nn/checks.h"
#include "core/ops/nn/normalisation.h"
#include "core/ops/reduce.gen.h"
#include "core/runtime/backend.h"
#include "core/runtime/calls/nn.gen.h"

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
  return scale_and_shift(centered * rsqrt(variance + eps), in[1], in[2], shape);
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

void layer_norm_backward(BackwardCall& b, const std::vector<Tensor>& in, const NormalisedRows& of) {
  make_wanted(b, in);
  const Tensor g = contiguous(b.grad());
  LayerNormBackwardCall call;
  if (b.wants(0)) call.gx = rows_view(b.results[0], of.rows, of.n);
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

Tensor layer_norm(const Tensor& input, IntList normalized_shape, const Tensor& weight,
                  const Tensor& bias, double eps) {
  const Dims shape = normalized_shape;
  check_layer_norm(input, shape, weight, bias);
  const Tensor x = contiguous(input);
  const Tensor w = optional_contiguous(weight), b = optional_contiguous(bias);
  const Tensor y = make_empty(x.sizes(), x.dtype(), x.device());
  const int64_t rows = count_elements(IntList(x.sizes().data(), x.ndim() - shape.size()));
  const DType compute = info(x.dtype()).compute;
  const NormalisedRows of{rows, count_elements(shape), make_empty({rows}, compute, x.device()),
                          make_empty({rows}, compute, x.device())};
  LayerNormCall call;
  call.y = rows_view(y, of.rows, of.n);
  call.mean = of.mean;
  call.rstd = of.rstd;
  call.x = rows_view(x, of.rows, of.n);
  call.weight = parameter_view(w, of.n);
  call.bias = parameter_view(b, of.n);
  call.eps = eps;
  run(op::layer_norm, call);
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

}  // namespace dt
