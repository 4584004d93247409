// Copies of a tensor with something else in one place: a view of the copy is written, so the
// gradients are those of such a write.
#include "core/ops/copy.h"
#include "core/ops/creation.gen.h"
#include "core/ops/shapes.gen.h"
#include "core/ops/shapes/checks.h"
#include "core/ops/views.gen.h"

namespace dt {
namespace {

// `look` shows the place.
template <class Look>
Tensor with_place(const Tensor& input, const Tensor& src, Look look) {
  const Tensor y = clone(input);
  const Tensor place = look(y);
  check_place(place, src);
  copy_(place, src);
  return y;
}

}  // namespace

Tensor select_scatter(const Tensor& input, const Tensor& src, int64_t dim, int64_t index) {
  return with_place(input, src, [&](const Tensor& y) { return select(y, dim, index); });
}

Tensor slice_scatter(const Tensor& input, const Tensor& src, int64_t dim,
                     std::optional<int64_t> start, std::optional<int64_t> end, int64_t step) {
  return with_place(input, src, [&](const Tensor& y) { return slice(y, dim, start, end, step); });
}

Tensor diagonal_scatter(const Tensor& input, const Tensor& src, int64_t offset, int64_t dim1,
                        int64_t dim2) {
  return with_place(input, src, [&](const Tensor& y) { return diagonal(y, offset, dim1, dim2); });
}

Tensor as_strided_scatter(const Tensor& input, const Tensor& src, IntList size, IntList stride,
                          std::optional<int64_t> storage_offset) {
  return with_place(input, src,
                    [&](const Tensor& y) { return as_strided(y, size, stride, storage_offset); });
}

}  // namespace dt
