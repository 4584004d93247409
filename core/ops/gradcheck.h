// Gradients against finite differences, as torch.autograd.gradcheck. They are computed by ops: so
// this is no part of core/autograd, which knows of none.
#pragma once

#include <vector>

#include "core/tensor/callbacks.h"

namespace dt {

// Whether the gradients of func(inputs) with respect to each element of the inputs that require
// grad are what moving that element by eps both ways makes of the outputs. The inputs themselves
// are moved, and put back: `func` may know them from elsewhere, as a module knows its parameters.
// Absent inputs are handed on. What is wrong is an error of the code kGradcheck, or false without
// `raise_exception`, also if `func` reports it, which may check, too; what else `func` reports is
// an error either way.
bool gradcheck(const TensorFunction& func, TensorList inputs, double eps, double atol, double rtol,
               double nondet_tol, bool raise_exception);

// The same of the function that gives the gradients of `func`, of the inputs and of `grad_outputs`,
// the gradients of its outputs: random numbers if the list is empty, with gaps between them if
// `gen_non_contig_grad_outputs`.
bool gradgradcheck(const TensorFunction& func, TensorList inputs, TensorList grad_outputs,
                   double eps, double atol, double rtol, bool gen_non_contig_grad_outputs,
                   double nondet_tol, bool raise_exception);

}  // namespace dt
