// Narrow floats for kernels that calculate with wider ones alone.
#pragma once

#include <algorithm>
#include <vector>

#include "core/runtime/backend.h"

namespace dt {

// How long a part of x along a dimension is whose copy stays in the caches; all of it if the op's
// kernels take x as it is.
int64_t widened_part(int op, const View& x, int dim);
// The places from `first` on along a dimension; of no view, none.
View part_of(const View& v, int dim, int64_t first, int64_t count);

// Calls work(first, count) for each such part, where a call may be made of its parts.
template <class Work>
void in_widened_parts(int op, const View& x, int dim, const Work& work) {
  const int64_t size = x.sizes[dim], part = widened_part(op, x, dim);
  for (int64_t first = 0; first < size; first += part) work(first, std::min(part, size - first));
}

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
