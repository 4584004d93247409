#include "core/ops/linalg/panels.h"

#include "core/ops/creation.gen.h"
#include "core/runtime/backend.h"
#include "core/runtime/calls/linalg.gen.h"
#include "core/runtime/transfer.h"

namespace dt {
namespace {

// Of every instruction set's tile a multiple.
constexpr int64_t kColumns = 32;
// Fewer rows are inner products, with the matrix as it is; of more, copying is a small part.
constexpr int64_t kLeastRows = 5, kMostRows = 128;

// A matrix [rows, n] as a batch of its panels.
View panels_view(const Tensor& x) {
  const int64_t sizes[] = {x.size(1) / kColumns, x.size(0), kColumns};
  const int64_t strides[] = {kColumns * x.strides()[1], x.strides()[0], x.strides()[1]};
  return View(x, {sizes, 3}, {strides, 3}, x.offset());
}

}  // namespace

bool Panels::serve(const Tensor& a, int64_t rows, Factor b) {
  return a.device() == kCpu && a.dtype() == b.tensor.dtype() && is_floating(a.dtype()) &&
         !is_narrow(a.dtype()) && rows >= kLeastRows && rows <= kMostRows &&
         b.columns() % kColumns == 0 && b.columns() > kColumns && b.rows() > 0;
}

Panels::Panels(Factor b) {
  const View whole = b.view();  // [1, k, n]
  const int64_t k = whole.sizes[1], n = whole.sizes[2], row = whole.strides[1],
                column = whole.strides[2];
  const Tensor& x = b.tensor;
  data_ = make_empty({n / kColumns, k, kColumns}, x.dtype(), x.device());
  copy_elements(data_, make_alias(x, data_.sizes(), {kColumns * column, row, column}, x.offset()));
}

Tensor Panels::multiply(const Tensor& a, const Tensor& addend) const {
  const int64_t panels = data_.size(0), rows = a.size(0), k = data_.size(1);
  const Tensor y = make_empty({rows, panels * kColumns}, a.dtype(), a.device());
  const int64_t sizes[] = {panels, rows, k};
  const int64_t strides[] = {0, a.strides()[0], a.strides()[1]};
  MatmulCall call;
  call.y = panels_view(y);
  call.a = View(a, {sizes, 3}, {strides, 3}, a.offset());
  call.b = Factor{data_, false}.view();
  call.alpha = 1;
  if (addend.defined()) {
    call.c = panels_view(addend);
    call.beta = 1;
  }
  run(op::matmul, call);
  return y;
}

}  // namespace dt
