#include "core/ops/overwrite.h"

#include "core/base/error.h"
#include "core/ops/checks.h"
#include "core/ops/creation.gen.h"

namespace dt {

const Tensor& overwrite(const Tensor& self, const Tensor& y) {
  DT_CHECK(y.sizes() == self.sizes(), kRuntimeError, "output with shape ", self.sizes(),
           " doesn't match the broadcast shape ", y.sizes());
  return copy_(self, y);
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
