// sort and what it makes: argsort, msort, topk.
#include "core/ops/checks.h"
#include "core/ops/choice.h"
#include "core/ops/creation.gen.h"
#include "core/ops/sorting.gen.h"
#include "core/ops/sorting/checks.h"
#include "core/ops/sorting/rows.h"

namespace dt {

View row_view(const Tensor& x, const Dims& sizes, const Dims& strides, int d) {
  if (sizes.empty()) return View(x, Dims{1}, Dims{1}, x.offset());
  Dims row_sizes = sizes, row_strides = strides;
  row_sizes.erase(d);
  row_strides.erase(d);
  row_sizes.push_back(sizes[d]);
  row_strides.push_back(strides[d]);
  return View(x, row_sizes, row_strides, x.offset());
}

Dims with_size(Dims sizes, int d, int64_t size) {
  if (!sizes.empty()) sizes[d] = size;
  return sizes;
}

Tensor sorted_elements(const Tensor& x) {
  const Tensor y = make_empty(x.sizes(), x.dtype(), x.device());
  SortCall call;
  call.values = y;
  call.x = x;
  run(op::sort, call);
  return y;
}

namespace {

// What comes first in sorted rows along d, as much as there is room for.
std::tuple<Tensor, Tensor> first_sorted(const char* node, const Tensor& x, int d, const Dims& sizes,
                                        const Dims& strides, bool descending) {
  const Tensor values = make_empty_strided(sizes, strides, x.dtype(), x.device());
  const Tensor indices = make_empty_strided(sizes, strides, kIndexDType, x.device());
  if (sizes == x.sizes() && count_elements(with_size(sizes, d, 1)) == x.numel()) {
    copy_elements(values, x);  // rows of one element are sorted
    zero_(indices);
  } else {
    SortCall call;
    call.values = row_view(values, d);
    call.indices = row_view(indices, d);
    call.x = row_view(x, d);
    call.descending = descending;
    run(op::sort, call);
  }
  record_choice(node, values, indices, x, d, sizes);
  return {values, indices};
}

}  // namespace

std::tuple<Tensor, Tensor> sort(const Tensor& input, int64_t dim, bool descending, bool) {
  const int d = wrap_dim(dim, input.ndim());
  return first_sorted("SortBackward0", input, d, input.sizes(), dense_strides(input), descending);
}

Tensor argsort(const Tensor& input, int64_t dim, bool descending, bool stable) {
  return std::get<1>(sort(input.detach(), dim, descending, stable));
}

Tensor msort(const Tensor& input) {
  return std::get<0>(sort(input, 0, false, true));
}

std::tuple<Tensor, Tensor> topk(const Tensor& input, int64_t k, int64_t dim, bool largest, bool) {
  const int d = wrap_dim(dim, input.ndim());
  check_topk(input, k, d);
  const Dims sizes = with_size(input.sizes(), d, k);
  return first_sorted("TopkBackward0", input, d, sizes, contiguous_strides(sizes), largest);
}

}  // namespace dt
