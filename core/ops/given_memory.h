// `out=`: results that are computed in memory that there is already. The functions that compute do
// not know of it: the next tensor that is made with the sizes, strides and dtype of `out` lies in
// its memory, and that counts as a change in place, also where the function fails afterwards.
#pragma once

#include "core/tensor/tensor.h"

namespace dt {

// Has what a function computes from `inputs` lie in out's memory, if that is all of a storage and
// shares nothing with them, and no gradient is recorded. Whatever comes of it, `finish_offer` comes
// next. False, and nothing is offered, where autocast would cast.
bool offer_memory(const Tensor& out, TensorList inputs);
// Takes the offer back. Writes the result into `out` unless it is there, and returns an undefined
// tensor; or returns what is to be written where the two differ in more than strides, or a gradient
// is asked for. An undefined result is none.
Tensor finish_offer(const Tensor& out, const Tensor& result);

}  // namespace dt
