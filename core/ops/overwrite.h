// In-place twins of ops that need a place of their own for the result: it is copied over their
// first operand. The copy's gradient is the result's, so the op's formula serves both.
#pragma once

#include "core/tensor/tensor.h"

namespace dt {

// The first operand as the op, of these inputs, reads it, and its gradient after the write. What
// may not be written is refused before anything is computed: a device says later that an index was
// bad.
Tensor before_overwrite(const Tensor& self, TensorList inputs);
// y has the sizes that the operands broadcast to.
const Tensor& overwrite(const Tensor& self, const Tensor& y);
// y says how self compares with `other`, which takes part as self does: with the gradient 0.
const Tensor& overwrite_compared(const Tensor& self, const Operand& other, const Tensor& y);
// y has sizes and a dtype of its own, which must be self's.
const Tensor& overwrite_alike(const Tensor& self, const Tensor& y);

}  // namespace dt
