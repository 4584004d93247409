#include "core/ops/overwrite.h"

#include "core/autograd/inplace.h"
#include "core/base/error.h"
#include "core/ops/checks.h"
#include "core/ops/creation.gen.h"

namespace dt {

Tensor before_overwrite(const Tensor& self, TensorList inputs) {
  const bool recorded = is_floating(self.dtype()) && needs_graph(inputs);
  check_history_change(self, recorded);
  return recorded ? history_clone(self) : self;
}

const Tensor& overwrite(const Tensor& self, const Tensor& y) {
  check_written_sizes(self.sizes(), y.sizes());
  return copy_(self, y);
}

const Tensor& overwrite_compared(const Tensor& self, const Operand& other, const Tensor& y) {
  check_written_sizes(self.sizes(), y.sizes());
  inplace(
      "ComparisonBackward0", self, {self, other.tensor()}, [&] { copy_elements(self, y); },
      [](BackwardCall& b) {
        for (int i = 0; i < 2; ++i) {
          if (b.wants(i)) b.results[i] = zeros_like(b.grad());
        }
      });
  return self;
}

const Tensor& overwrite_alike(const Tensor& self, const Tensor& y) {
  DT_CHECK(y.sizes() == self.sizes(), kRuntimeError, "Bad in-place call: input tensor size ",
           self.sizes(), " and output tensor size ", y.sizes(), " should match");
  DT_CHECK(y.dtype() == self.dtype(), kRuntimeError, "Bad in-place call: input tensor dtype ",
           c_type_word(self.dtype()), " and output tensor dtype ", c_type_word(y.dtype()),
           " should match");
  return copy_(self, y);
}

}  // namespace dt
