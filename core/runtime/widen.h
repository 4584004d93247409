// Narrow floats for kernels that calculate with wider ones alone.
#pragma once

#include <vector>

#include "core/runtime/backend.h"

namespace dt {

bool has_narrow_floats(const CallSpans& spans);

// A call's operands with those of float16 and bfloat16 replaced by copies in their compute dtype.
// What is in outputs is copied too if the kernel keeps some of it or reads it.
class WidenedOperands {
 public:
  WidenedOperands(const CallSpans& spans, Device device, bool updates_outputs);
  CallSpans spans() const;
  // Rounds what the kernel wrote to the outputs of the call.
  void round_outputs() const;

 private:
  // The operand's memory and the copy's, in one walk.
  struct Copy {
    Tensor wide;
    View narrow_walk, wide_walk;
  };
  struct Side {
    std::vector<View> views;
    std::vector<Copy> copies;
  };
  static Side widened(Span<const View> views, Device device, bool fills);

  CallSpans spans_;
  Side outputs_, inputs_;
};

}  // namespace dt
