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

}  // namespace

Tensor layer_norm(const Tensor& input, IntList normalized_shape, const Tensor& weight,
                  const Tensor& bias, double eps) {
  const Dims shape = normalized_shape;
  check_layer_norm(input, shape, weight, bias);
  const Tensor x = contiguous(input);
  const int64_t n = count_elements(shape);
  const int64_t rows = count_elements(IntList(x.sizes().data(), x.ndim() - shape.size()));
  const Tensor w = optional_contiguous(weight), b = optional_contiguous(bias);
  const Tensor y = make_empty(x.sizes(), x.dtype(), x.device());
  const DType compute = info(x.dtype()).compute;
  const Tensor mean = make_empty({rows}, compute, x.device()),
               rstd = make_empty({rows}, compute, x.device());
  const auto vector = [n](const Tensor& p) {
    return p.defined() ? View(p, {n}, {1}, p.offset()) : View();
  };
  LayerNormCall call;
  call.y = rows_view(y, rows, n);
  call.mean = mean;
  call.rstd = rstd;
  call.x = rows_view(x, rows, n);
  call.weight = vector(w);
  call.bias = vector(b);
  call.eps = eps;
  run(op::layer_norm, call);
  if (!needs_graph({x, w, b})) return y;
  return fused(
      "NativeLayerNormBackward0", y, {x, w, b}, {Saved::input(x), Saved::input(w), Saved::place(b)},
      [shape, eps](const std::vector<Tensor>& in) {
        return layer_norm_composition(in, shape, eps);
      },
      [rows, n, mean, rstd, vector](BackwardCall& b, const std::vector<Tensor>& in) {
        make_wanted(b, in);
        const Tensor g = contiguous(b.grad());
        LayerNormBackwardCall call;
        if (b.wants(0)) call.gx = rows_view(b.results[0], rows, n);
        call.gweight = vector(b.results[1]);
        call.gbias = vector(b.results[2]);
        call.g = rows_view(g, rows, n);
        call.x = rows_view(in[0], rows, n);
        call.mean = mean;
        call.rstd = rstd;
        call.weight = vector(in[1]);
        run(op::layer_norm_backward, call);
      });
}

}  // namespace dt
