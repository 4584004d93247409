// Copies of a tensor with something else in one place.
#include "core/autograd/inplace.h"
#include "core/autograd/record.h"
#include "core/ops/creation.gen.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/shapes.gen.h"
#include "core/ops/shapes/checks.h"
#include "core/ops/views.gen.h"

namespace dt {
namespace {

// How a tensor lies in its memory, which as_strided may show beyond the tensor's elements.
struct Layout {
  Dims sizes, strides;
  int64_t offset, all;  // elements of the memory

  explicit Layout(const Tensor& x)
      : sizes(x.sizes()),
        strides(x.strides()),
        offset(x.offset()),
        all(x.storage()->bytes() / x.item_bytes()) {}

  // A copy of g that lies so, among zeros. Differentiable.
  Tensor copy_of(const Tensor& g) const {
    const Tensor memory = zeros({all}, g.dtype(), g.device());
    const Tensor y = as_strided(memory, sizes, strides, offset);
    copy_(y, g);
    return y;
  }
};

// x again, with all that lies in its memory.
Tensor clone_memory(const Tensor& x) {
  if (repeats_memory(x)) return clone(x.detach());
  const Layout layout(x);
  const Tensor memory = clone(make_alias(x, {layout.all}, {1}, 0));
  return make_alias(memory, layout.sizes, layout.strides, layout.offset);
}

// `look` shows the place of a tensor, `laid` gives a gradient the layout that `look` relies on.
template <class Look, class Laid>
Tensor with_place(const char* node, const Tensor& input, const Tensor& src, Look look, Laid laid) {
  const Tensor y = clone_memory(input);
  {
    const GradMode no_grad(false);
    const Tensor place = look(y);
    check_place(place, src);
    copy_(place, src);
  }
  return record(node, y, {input, src}, [=, lay = laid(y)](BackwardCall& b) {
    const Tensor g = lay(b.grad());
    const Tensor place = look(g);
    if (b.wants(0)) {
      const Tensor nothing = expand(zeros({}, g.dtype(), g.device()), place.sizes());
      b.results[0] = with_place(node, g, nothing, look, laid);
    }
    if (b.wants(1)) b.results[1] = place;
  });
}

template <class Look>
Tensor with_place(const char* node, const Tensor& input, const Tensor& src, Look look) {
  const auto as_it_is = [](const Tensor&) { return [](const Tensor& g) { return g; }; };
  return with_place(node, input, src, look, as_it_is);
}

}  // namespace

Tensor select_scatter(const Tensor& input, const Tensor& src, int64_t dim, int64_t index) {
  return with_place("SelectScatterBackward0", input, src,
                    [=](const Tensor& y) { return select(y, dim, index); });
}

Tensor slice_scatter(const Tensor& input, const Tensor& src, int64_t dim,
                     std::optional<int64_t> start, std::optional<int64_t> end, int64_t step) {
  return with_place("SliceScatterBackward0", input, src,
                    [=](const Tensor& y) { return slice(y, dim, start, end, step); });
}

Tensor diagonal_scatter(const Tensor& input, const Tensor& src, int64_t offset, int64_t dim1,
                        int64_t dim2) {
  return with_place("DiagonalScatterBackward0", input, src,
                    [=](const Tensor& y) { return diagonal(y, offset, dim1, dim2); });
}

Tensor as_strided_scatter(const Tensor& input, const Tensor& src, IntList size, IntList stride,
                          std::optional<int64_t> storage_offset) {
  const auto look = [=, size = Dims(size), stride = Dims(stride)](const Tensor& y) {
    return as_strided(y, size, stride, storage_offset);
  };
  const auto laid = [](const Tensor& y) {
    return [layout = Layout(y)](const Tensor& g) { return layout.copy_of(g); };
  };
  return with_place("AsStridedScatterBackward0", input, src, look, laid);
}

}  // namespace dt
