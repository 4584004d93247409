#include "core/ops/gradcheck.h"

#include "core/autograd/engine.h"
#include "core/ops/creation.gen.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/pointwise_logic.gen.h"
#include "core/ops/print.h"
#include "core/ops/random.gen.h"
#include "core/ops/reduce.gen.h"
#include "core/ops/views.gen.h"
#include "core/runtime/context.h"
#include "core/runtime/transfer.h"

namespace dt {
namespace {

using Tensors = std::vector<Tensor>;

// ---- what goes in, and what comes out

// The places of those that gradients are taken of, in a list; and these.
std::vector<size_t> differentiable_places(TensorList tensors) {
  std::vector<size_t> places;
  for (int64_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].defined() && tensors[i].requires_grad()) places.push_back(i);
  }
  return places;
}

Tensors differentiable(TensorList tensors) {
  Tensors result;
  for (const size_t i : differentiable_places(tensors)) result.push_back(tensors[i]);
  return result;
}

void check_inputs(TensorList inputs) {
  const std::vector<size_t> places = differentiable_places(inputs);
  for (const size_t i : places) {
    const Tensor& x = inputs[i];
    for (int d = 0; d < x.ndim(); ++d) {
      DT_CHECK(x.strides()[d] > 0 || x.sizes()[d] <= 1, kRuntimeError, "The ", i,
               "th input has a dimension with stride 0. gradcheck only supports inputs that are "
               "non-overlapping to be able to compute the numerical gradients correctly. You "
               "should call .contiguous on the input before passing it to gradcheck.");
    }
  }
  DT_CHECK(!places.empty(), kValueError,
           "gradcheck expects at least one input tensor to require gradient, but none of them "
           "have requires_grad=True.");
}

Tensors call(const TensorFunction& func, TensorList inputs) {
  Tensors outputs = func(inputs);
  for (size_t i = 0; i < outputs.size(); ++i) {
    DT_CHECK(outputs[i].defined(), kTypeError, "the function's output ", i, " is absent");
  }
  return outputs;
}

// ---- Jacobians: [elements of the input][elements of the output]

Tensor make_jacobian(const Tensor& x, const Tensor& y, const Tensor& like) {
  return zeros({x.numel(), y.numel()}, like.dtype(), like.device());
}

Tensor flat(const Tensor& x) {
  return reshape(x.detach(), {-1});
}

// Where in the input the element of this number is.
Dims index_of(const Tensor& x, int64_t number) {
  Dims index(x.sizes());
  for (int d = x.ndim() - 1; d >= 0; --d) {
    index[d] = number % x.sizes()[d];
    number /= x.sizes()[d];
  }
  return index;
}

// One element, to be written behind the graph's back.
Tensor element_of(const Tensor& x, const Dims& index) {
  int64_t offset = x.offset();
  for (int d = 0; d < x.ndim(); ++d) offset += index[d] * x.strides()[d];
  return make_alias(x.detach_version(), {}, {}, offset);
}

class Differences {
 public:
  Differences(const TensorFunction& func, TensorList inputs, const Tensors& outputs, double eps)
      : func_(func), inputs_(inputs), outputs_(outputs), eps_(eps) {}

  // Those of all outputs with respect to x, by (f(x + eps) - f(x - eps)) / 2 eps for each element.
  Tensors jacobians(const Tensor& x) const {
    Tensors result;
    for (const Tensor& y : outputs_) result.push_back(make_jacobian(x, y, y));
    for (int64_t k = 0; k < x.numel(); ++k) {
      const auto [below, above] = around(x, index_of(x, k));
      for (size_t i = 0; i < result.size(); ++i) {
        if (!is_floating(outputs_[i].dtype())) continue;
        const Tensor slope = div(sub(above[i], below[i]), 2 * eps_);
        copy_(select(result[i], 0, k), flat(slope));
      }
    }
    return result;
  }

 private:
  std::pair<Tensors, Tensors> around(const Tensor& x, const Dims& index) const {
    const Tensor element = element_of(x, index);
    const double middle = item(element).to_double();
    std::pair<Tensors, Tensors> found;
    try {
      found.first = at(element, middle - eps_, index);
      found.second = at(element, middle + eps_, index);
    } catch (...) {
      fill_(element, middle);
      throw;
    }
    fill_(element, middle);
    return found;
  }

  Tensors at(const Tensor& element, double value, const Dims& index) const {
    fill_(element, value);
    Tensors found = call(func_, inputs_);
    DT_CHECK(found.size() == outputs_.size(), kRuntimeError,
             "Expected `func` to return as many outputs when inputs are perturbed on index ", index,
             " by ", eps_, ", but got: ", outputs_.size(), " and ", found.size(), ".");
    for (size_t i = 0; i < found.size(); ++i) {
      const Tensor &y = outputs_[i], &moved = found[i];
      DT_CHECK(y.sizes() == moved.sizes(), kAssertion,
               "Expected `func` to return outputs with the same shape when inputs are perturbed "
               "on index ",
               index, " by ", eps_, ", but got: shapes ", y.sizes(), " and ", moved.sizes(), ".");
      DT_CHECK(y.dtype() == moved.dtype(), kAssertion,
               "Expected `func` to return outputs with the same dtype when inputs are perturbed "
               "on index ",
               index, " by ", eps_, ", but got: dtypes ", y.dtype(), " and ", moved.dtype(), ".");
      found[i] = clone(moved.detach());  // it may be the input, which moves on
    }
    return found;
  }

  const TensorFunction& func_;
  const TensorList inputs_;
  const Tensors& outputs_;
  const double eps_;
};

// Those of y with respect to all inputs, by a backward from each element of y.
Tensors analytical_jacobians(const Tensor& y, const Tensors& inputs) {
  Tensors result;
  for (const Tensor& x : inputs) result.push_back(make_jacobian(x, y, x));
  for (int64_t k = 0; k < y.numel(); ++k) {
    const Tensor direction = zeros(y.sizes(), y.dtype(), y.device());
    fill_(select(view(direction, {-1}), 0, k), 1);
    const Tensors grads = run_grad({y}, inputs, {direction}, {true, false}, true);
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (grads[i].defined()) copy_(select(result[i], 1, k), flat(grads[i]));
    }
  }
  return result;
}

// ---- the checks

struct Tolerances {
  double atol, rtol, nondet;
};

bool holds_somewhere(const Tensor& condition) {
  return item(any(condition)).to_bool();
}

// Differences of a narrower dtype are mostly rounding.
std::string about_dtypes(const Tensors& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].dtype() != kRealDType)
      return text("(input ", i, " is ", inputs[i].dtype(), "; differences need ", kRealDType,
                  ")\n");
  }
  return "";
}

void compare(const Tensor& analytical, const Tensor& numerical, const Tolerances& allowed,
             size_t output, size_t input, const Tensors& inputs) {
  const DType wide = promote_types(analytical.dtype(), numerical.dtype());
  const Tensor a = to(analytical, analytical.device(), wide);
  const Tensor n = to(numerical, analytical.device(), wide);
  if (allclose(a, n, allowed.rtol, allowed.atol)) return;
  fail(Code::kGradcheck, "Jacobian mismatch for output ", output, " with respect to input ", input,
       ",\nnumerical:", to_string(numerical), "\nanalytical:", to_string(analytical), "\n",
       about_dtypes(inputs));
}

void check_repeats(const Tensors& first, const Tensors& second, double tolerance) {
  for (size_t i = 0; i < first.size(); ++i) {
    DT_CHECK(!holds_somewhere(gt(abs(sub(first[i], second[i])), tolerance)), kGradcheck,
             "Backward is not reentrant, i.e., running backward with same input and grad_output "
             "multiple times gives different values. The tolerance for nondeterminism was ",
             tolerance, ".");
  }
}

// A backward that leaves its gradient out passes as long as that is 1.
void check_uses_gradient(const Tensors& outputs, const Tensors& inputs) {
  Tensors nothing;
  for (const Tensor& y : outputs) nothing.push_back(zeros(y.sizes(), y.dtype(), y.device()));
  for (const Tensor& grad : run_grad(outputs, inputs, nothing, {false, false}, true)) {
    DT_CHECK(!grad.defined() || !holds_somewhere(ne(grad.detach(), 0)), kGradcheck,
             "backward not multiplied by grad_output");
  }
}

// Of a function none of whose outputs carries a graph. The outputs that are no floats have a
// Jacobian of zeros.
void check_constant(const std::vector<Tensors>& numerical) {
  for (const Tensors& jacobians : numerical) {
    for (const Tensor& jacobian : jacobians) {
      DT_CHECK(!holds_somewhere(ne(jacobian, 0)), kGradcheck,
               "Numerical gradient for function expected to be zero",
               grad_enabled() ? "" : ": gradients are off");
    }
  }
}

void check(const TensorFunction& func, TensorList inputs, double eps, const Tolerances& allowed) {
  check_inputs(inputs);
  const Tensors wanted = differentiable(inputs), outputs = call(func, inputs);
  // Asked before `func` is called again, which may change what an output requires.
  const std::vector<size_t> places = differentiable_places(outputs);
  const Differences differences(func, inputs, outputs, eps);
  std::vector<Tensors> numerical;  // [input][output]
  for (const Tensor& x : wanted) numerical.push_back(differences.jacobians(x));
  if (places.empty()) return check_constant(numerical);

  Tensors recorded;
  for (const size_t place : places) {
    const Tensor& y = recorded.emplace_back(outputs[place]);
    const Tensors analytical = analytical_jacobians(y, wanted);
    check_repeats(analytical, analytical_jacobians(y, wanted), allowed.nondet);
    for (size_t j = 0; j < wanted.size(); ++j)
      compare(analytical[j], numerical[j][place], allowed, recorded.size() - 1, j, wanted);
  }
  check_uses_gradient(recorded, wanted);
}

// ---- second derivatives

Tensors random_gradients(const Tensors& outputs, bool with_gaps) {
  Tensors result;
  for (const Tensor& y : outputs) {
    Dims sizes = y.sizes();
    if (with_gaps) sizes.push_back(2);
    const Tensor numbers = uniform_(empty(sizes, y.dtype(), y.device()), -1, 1);
    result.push_back(with_gaps ? select(numbers, -1, 0).detach() : numbers);
    result.back().set_requires_grad(true);
  }
  return result;
}

// The gradients of `func` as a function of its inputs, which come first, and those of its outputs.
TensorFunction gradient_of(const TensorFunction& func, int64_t inputs) {
  return [&func, inputs](TensorList all) {
    const TensorList before(all.data(), inputs), grads(all.data() + inputs, all.size() - inputs);
    const Tensors outputs = differentiable(call(func, before)), wanted = differentiable(before);
    DT_CHECK(!wanted.empty(), kRuntimeError, "`inputs` argument to `grad()` cannot be empty.");
    DT_CHECK(!outputs.empty(), kRuntimeError, "no output of the function requires grad",
             grad_enabled() ? "" : ": gradients are off");
    Tensors result;
    for (Tensor& x : run_grad(outputs, wanted, grads, {true, true}, true)) {
      if (x.defined()) result.push_back(std::move(x));
    }
    return result;
  };
}

}  // namespace

bool gradcheck(const TensorFunction& func, TensorList inputs, double eps, double atol, double rtol,
               double nondet_tol, bool raise_exception) {
  try {
    check(func, inputs, eps, {atol, rtol, nondet_tol});
  } catch (const Error& e) {
    if (raise_exception || e.code() != Code::kGradcheck) throw;
    return false;
  }
  return true;
}

bool gradgradcheck(const TensorFunction& func, TensorList inputs, TensorList grad_outputs,
                   double eps, double atol, double rtol, bool gen_non_contig_grad_outputs,
                   double nondet_tol, bool raise_exception) {
  Tensors all(inputs.begin(), inputs.end()), grads(grad_outputs.begin(), grad_outputs.end());
  if (grads.empty())
    grads = random_gradients(differentiable(call(func, inputs)), gen_non_contig_grad_outputs);
  all.insert(all.end(), grads.begin(), grads.end());
  return gradcheck(gradient_of(func, inputs.size()), all, eps, atol, rtol, nondet_tol,
                   raise_exception);
}

}  // namespace dt
