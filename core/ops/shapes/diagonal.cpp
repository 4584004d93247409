// Matrices that are made of a diagonal: diag, diag_embed, diagflat, block_diag.
#include <algorithm>
#include <cstdlib>

#include "core/autograd/record.h"
#include "core/ops/checks.h"
#include "core/ops/creation.gen.h"
#include "core/ops/shapes.gen.h"
#include "core/ops/shapes/checks.h"
#include "core/ops/views.gen.h"
#include "core/ops/views/checks.h"

namespace dt {

Tensor diag_embed(const Tensor& input, int64_t offset, int64_t dim1, int64_t dim2) {
  wrap_dim(-1, input.ndim());
  const int n = input.ndim() + 1, a = wrap_dim(dim1, n), b = wrap_dim(dim2, n);
  check_diagonal_dims(a == b, dim1, dim2);
  const int64_t side = input.size(-1) + std::abs(offset);
  Dims sizes = input.sizes();
  sizes.erase(n - 2);
  sizes.insert(std::min(a, b), side);
  sizes.insert(std::max(a, b), side);
  const Tensor y = zeros(sizes, input.dtype(), input.device());
  {
    const GradMode no_grad(false);
    copy_elements(diagonal(y, offset, a, b), input);
  }
  return record("DiagEmbedBackward0", y, {input}, [offset, a, b](BackwardCall& call) {
    call.results[0] = diagonal(call.grad(), offset, a, b);
  });
}

Tensor diag(const Tensor& input, int64_t diagonal) {
  check_diag(input);
  return input.ndim() == 1 ? diag_embed(input, diagonal)
                           : clone(dt::diagonal(input, diagonal), MemoryFormat::kContiguous);
}

Tensor diagflat(const Tensor& input, int64_t offset) {
  return diag_embed(reshape(contiguous(input), {-1}), offset);
}

Tensor block_diag(TensorList tensors) {
  std::vector<Tensor> blocks;
  int64_t columns = 0;
  for (const Tensor& x : tensors) {
    check_block(x, static_cast<int64_t>(blocks.size()));
    blocks.push_back(atleast_2d(x));
    columns += blocks.back().size(1);
  }
  if (blocks.empty()) return empty({1, 0});
  int64_t before = 0;
  for (Tensor& block : blocks) {
    const int64_t width = block.size(1);
    block = pad(block, {before, columns - before - width});
    before += width;
  }
  return cat(blocks, 0);
}

}  // namespace dt
