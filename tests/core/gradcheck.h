// Gradients against finite differences, of order 1 to 3.
//
// A function of tensors is turned into a number by weighting its elements. The gradient of that
// number, weighted again, is a number one order up. So each order is checked the same way: what the
// engine says against a central difference.
#pragma once

#include <cmath>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "core/autograd/engine.h"
#include "core/ops/copy.h"
#include "core/ops/ops.h"
#include "core/runtime/context.h"

namespace dt::test {

using Inputs = std::vector<Tensor>;
using Function = std::function<Tensor(const Inputs&)>;

inline int failures = 0;

inline void fail(const std::string& name, const std::string& what) {
  std::printf("FAIL %s: %s\n", name.c_str(), what.c_str());
  ++failures;
}

// Numbers in [-1, 1] that look random and are always the same.
inline Tensor numbers(IntList sizes, int seed) {
  const Tensor x = make_empty(sizes, DType::FLOAT64, kCpu);
  for (int64_t i = 0; i < x.numel(); ++i) {
    x.data_as<double>()[i] = std::sin(12.9898 * static_cast<double>(i + 1) + 78.233 * seed);
  }
  return x;
}

inline Tensor parameter(IntList sizes, int seed) {
  const Tensor x = numbers(sizes, seed);
  x.set_requires_grad(true);
  return x;
}

inline double value(const Tensor& x) {
  return item(x.detach()).to_double();
}

inline Tensor weighted_sum(const Tensor& y, int seed) {
  return sum(mul(y, numbers(y.sizes(), seed)));
}

// The inputs that gradients are taken of.
inline Inputs differentiable(const Inputs& inputs) {
  Inputs result;
  for (const Tensor& x : inputs) {
    if (x.defined() && x.requires_grad()) result.push_back(x);
  }
  return result;
}

// The number of order `order`; order 0 is the function itself.
inline Tensor probe(const Function& f, const Inputs& inputs, int order) {
  if (order == 0) return weighted_sum(f(inputs), 101);
  const Tensor below = probe(f, inputs, order - 1);
  const Inputs wanted = differentiable(inputs);
  Tensor total = zeros({}, DType::FLOAT64);
  if (!below.requires_grad()) return total;  // the order below does not depend on the inputs
  const Inputs grads = run_grad({below}, wanted, {}, {true, true}, true);
  for (size_t i = 0; i < grads.size(); ++i) {
    if (grads[i].defined()) total = add(total, weighted_sum(grads[i], 103 + static_cast<int>(i)));
  }
  return total;
}

inline double central_difference(const Function& f, const Inputs& inputs, int order,
                                 double* element) {
  constexpr double kStep = 1e-5;
  const double middle = *element;
  *element = middle + kStep;
  const double above = value(probe(f, inputs, order));
  *element = middle - kStep;
  const double below = value(probe(f, inputs, order));
  *element = middle;
  return (above - below) / (2 * kStep);
}

inline void compare(const std::string& name, const Tensor& grad, const Tensor& x, const Function& f,
                    const Inputs& inputs, int order) {
  for (int64_t i = 0; i < x.numel(); ++i) {
    const double wanted = central_difference(f, inputs, order, x.data_as<double>() + i);
    const double got = grad.defined() ? contiguous(grad).data_as<double>()[i] : 0;
    if (std::fabs(got - wanted) <= 1e-5 * (1 + std::fabs(wanted))) continue;
    return fail(name, text("order ", order + 1, ", element ", i, ": got ", got,
                           ", the difference is ", wanted));
  }
}

// The kernels of the fast backward must say what the formulas say.
inline void compare_fast(const std::string& name, const Function& f, const Inputs& inputs) {
  const Inputs wanted = differentiable(inputs);
  const Tensor y = probe(f, inputs, 0);
  const Inputs formulas = run_grad({y}, wanted, {}, {true, true}, true);
  const Inputs kernels = run_grad({y}, wanted, {}, {false, false}, true);
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (formulas[i].defined() != kernels[i].defined())
      return fail(name, "only one path has a gradient");
    if (formulas[i].defined() && !allclose(formulas[i].detach(), kernels[i], 1e-9, 1e-9)) {
      return fail(name, text("kernel and formula differ for input ", static_cast<int64_t>(i)));
    }
  }
}

// Inputs are contiguous float64 tensors; those that require grad are varied.
inline void gradcheck(const std::string& name, const Inputs& inputs, const Function& f,
                      int orders = 3) {
  try {
    compare_fast(name, f, inputs);
    const Inputs wanted = differentiable(inputs);
    for (int order = 0; order < orders; ++order) {
      const Tensor y = probe(f, inputs, order);
      const Inputs grads = y.requires_grad() ? run_grad({y}, wanted, {}, {false, false}, true)
                                             : Inputs(wanted.size());
      for (size_t i = 0; i < wanted.size(); ++i)
        compare(name, grads[i], wanted[i], f, inputs, order);
    }
  } catch (const Error& e) {
    fail(name, e.what());
  }
}

inline int report() {
  std::printf(failures ? "%d failures\n" : "all gradients agree\n", failures);
  return failures != 0;
}

}  // namespace dt::test
