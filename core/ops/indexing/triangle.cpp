// Triangles of matrices: tril, triu.
#include <algorithm>

#include "core/autograd/inplace.h"
#include "core/autograd/record.h"
#include "core/ops/copy.h"
#include "core/ops/creation.gen.h"
#include "core/ops/indexing.gen.h"
#include "core/ops/indexing/checks.h"
#include "core/ops/overwrite.h"
#include "core/ops/pointwise_logic.gen.h"
#include "core/ops/reduce.gen.h"
#include "core/runtime/backend.h"
#include "core/runtime/calls/indexing.gen.h"
#include "core/tensor/layout.h"

namespace dt {
namespace {

Tensor triangle(const char* name, const char* node_name, const Tensor& input, int64_t diagonal,
                bool upper) {
  check_triangle(name, input);
  diagonal =
      std::clamp(diagonal, -input.size(-2), input.size(-1));  // further out is all or nothing
  const Tensor y = make_empty(input.sizes(), input.dtype(), input.device());
  TriangleCall call;
  call.y = y;
  call.x = input;
  call.diagonal = diagonal;
  call.upper = upper;
  run(op::triangle, call);
  return record(node_name, y, {input}, [diagonal, upper](BackwardCall& b) {
    b.results[0] = upper ? triu(b.grad(), diagonal) : tril(b.grad(), diagonal);
  });
}

// Zeros are all that is written: into an expanded tensor too, wherever an element lies outside.
const Tensor& write_triangle(Tensor (*triangle)(const Tensor&, int64_t), const Tensor& self,
                             int64_t diagonal) {
  if (!repeats_memory(self) || needs_graph(self)) return overwrite(self, triangle(self, diagonal));
  Dims repeated;
  for (int d = 0; d < self.ndim(); ++d) {
    if (self.strides()[d] == 0) repeated.push_back(d);
  }
  const Tensor inside = triangle(ones(self.sizes(), kMaskDType, self.device()), diagonal);
  masked_fill_(each_place(self), logical_not(all(inside, IntList(repeated), true)), 0);
  return self;
}

}  // namespace

Tensor tril(const Tensor& input, int64_t diagonal) {
  return triangle("tril", "TrilBackward0", input, diagonal, false);
}

Tensor triu(const Tensor& input, int64_t diagonal) {
  return triangle("triu", "TriuBackward0", input, diagonal, true);
}

const Tensor& tril_(const Tensor& input, int64_t diagonal) {
  return write_triangle(tril, input, diagonal);
}

const Tensor& triu_(const Tensor& input, int64_t diagonal) {
  return write_triangle(triu, input, diagonal);
}

}  // namespace dt
