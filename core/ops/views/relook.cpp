// Views in place: a tensor gets another shape, and keeps its name and its place in the graph.
#include "core/autograd/view.h"
#include "core/ops/creation.gen.h"
#include "core/ops/views.gen.h"
#include "core/ops/views/checks.h"
#include "core/runtime/context.h"
#include "core/runtime/transfer.h"

namespace dt {

const Tensor& transpose_(const Tensor& self, int64_t dim0, int64_t dim1) {
  return look_again(self, [&](const Tensor& x) { return transpose(x, dim0, dim1); });
}

const Tensor& t_(const Tensor& self) {
  return look_again(self, [](const Tensor& x) { return t(x); });
}

const Tensor& squeeze_(const Tensor& self, std::optional<IntList> dim) {
  return look_again(self, [&](const Tensor& x) { return squeeze(x, dim); });
}

const Tensor& unsqueeze_(const Tensor& self, int64_t dim) {
  return look_again(self, [&](const Tensor& x) { return unsqueeze(x, dim); });
}

const Tensor& as_strided_(const Tensor& self, IntList size, IntList stride,
                          std::optional<int64_t> storage_offset) {
  return look_again(self,
                    [&](const Tensor& x) { return as_strided(x, size, stride, storage_offset); });
}

namespace {

// A tensor with memory of its own for so many elements, which begins with all that x's storage has.
Tensor moved(const Tensor& x, int64_t elements) {
  const GradMode no_grad(false);
  const int64_t had = x.storage()->bytes() / x.item_bytes();
  const Tensor y = make_empty({elements}, x.dtype(), x.device());
  copy_elements(narrow(y, 0, 0, had), make_alias(x, {had}, {1}, 0));
  return y;
}

}  // namespace

const Tensor& resize_(const Tensor& self, IntList size) {
  check_resize(self, size);
  if (self.sizes() == Dims(size)) return self;
  const int64_t n = count_elements(size);
  const bool fits = n == 0 || n <= self.storage()->bytes() / self.item_bytes() - self.offset();
  if (fits) return as_strided_(self, size, contiguous_strides(size), std::nullopt);
  check_resizable(self);
  count_bytes(size, self.offset() + n, self.dtype());  // names the sizes that were asked for
  const Tensor memory = moved(self, self.offset() + n);
  memory.storage()->version() = self.version();  // the count goes on
  self.detach_();                                // from what it was a view of
  self.set_look(make_alias(memory, size, contiguous_strides(size), self.offset()));
  ++self.impl()->autograd.relooked;
  self.bump_version();
  return self;
}

const Tensor& resize_as_(const Tensor& self, const Tensor& the_template) {
  return resize_(self, the_template.sizes());
}

}  // namespace dt
