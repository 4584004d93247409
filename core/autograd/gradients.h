// The arithmetic of gradients. They are tensors like any others, and while a graph of the backward
// is being built, what the engine does with them is recorded too: so it is made of ops, and these
// functions are defined where the ops are (core/ops/gradients.cpp). The rest of autograd knows no
// op.
#pragma once

#include "core/autograd/node.h"

namespace dt {

Tensor make_zeros(const OutputInfo& like);

// A gradient that has arrived, made to look like what it is the gradient of: this undoes
// broadcasting, promotion and copies between devices for every formula.
Tensor conform(Tensor grad, const OutputInfo& to);
// The dimensions of x that broadcasting from `sizes` had repeated, and the sum over them.
Dims dims_without(const Tensor& x, IntList sizes);
Tensor sum_to(const Tensor& x, const Dims& sizes);
// a + b, into a's memory when nobody else can see it and no graph is built.
Tensor add_gradients(Tensor a, const Tensor& b);
// Whether add_gradients(a, ...) writes to a's memory.
bool may_add_into(const Tensor& a);
// sum += grad, in place, whoever sees it.
void add_into(const Tensor& sum, const Tensor& grad);

// Floats of 16 bits in the dtype that they are computed in: the steps of a derivative do not round
// to 16 bits, its gradient is rounded where it arrives. What else there is stays as it is.
Tensor widened(const Tensor& x);

// A copy with these strides.
Tensor clone_strided(const Tensor& x, const Dims& strides);
// Writes `part`, or zeros if it is undefined, into `place`, a view.
void fill_place(const Tensor& place, const Tensor& part);

bool has_nan(const Tensor& grad);

// Whether one Tensor is all that leads to x's memory.
bool is_sole_owner(const Tensor& x);
// Whether these, and what they are views of, are all that leads to the memory that they share.
bool are_sole_owners(const Tensor* parts, size_t count);

}  // namespace dt
