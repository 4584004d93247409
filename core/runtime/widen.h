// Narrow floats for kernels that calculate with wider ones alone.
#pragma once

#include <vector>

#include "core/runtime/backend.h"

namespace dt {

bool has_narrow_floats(const CallSpans& spans);

// A call's operands with those of float16 and bfloat16 replaced by copies in their compute dtype.
// A kernel may write to a part of an output only, so outputs are copied too.
class WidenedOperands {
 public:
  WidenedOperands(const CallSpans& spans, Device device);
  CallSpans spans() const;
  // Rounds what the kernel wrote to the outputs of the call.
  void round_outputs() const;

 private:
  struct Side {
    std::vector<View> views;
    std::vector<Tensor> copies;  // undefined where the operand is as it was
  };
  Side widened(Span<const View> views) const;

  CallSpans spans_;
  Device device_;
  Side outputs_, inputs_;
};

}  // namespace dt
