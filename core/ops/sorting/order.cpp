// Elements at a place of the order: kthvalue, median, nanmedian, mode; and cummax and cummin.
#include <limits>

#include "core/ops/checks.h"
#include "core/ops/choice.h"
#include "core/ops/creation.gen.h"
#include "core/ops/indexing.gen.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/pointwise_logic.gen.h"
#include "core/ops/reduce.gen.h"
#include "core/ops/sorting.gen.h"
#include "core/ops/sorting/checks.h"
#include "core/ops/sorting/rows.h"

namespace dt {
namespace {

struct Statistic {
  int64_t rank = 0;
  bool median = false, skip_nan = false;
};

constexpr Statistic kMedian = {0, true, false}, kNanMedian = {0, true, true};

// values and indices in the sizes that the caller wants, which lie in memory as `kept` do.
struct Along {
  Tensor values, indices;
  Dims kept;

  Along(const Tensor& x, int d, bool keepdim) : kept(with_size(x.sizes(), d, 1)) {
    Dims sizes = kept;
    if (!keepdim && !sizes.empty()) sizes.erase(d);
    values = make_empty(sizes, x.dtype(), x.device());
    indices = make_empty(sizes, kIndexDType, x.device());
  }
};

std::tuple<Tensor, Tensor> order_statistic(const char* node, const Tensor& x, int d, bool keepdim,
                                           const Statistic& which) {
  const Along y(x, d, keepdim);
  const Dims strides = contiguous_strides(y.kept);
  OrderStatisticCall call;
  call.values = row_view(y.values, y.kept, strides, d);
  call.indices = row_view(y.indices, y.kept, strides, d);
  call.x = row_view(x, d);
  call.rank = which.rank;
  call.median = which.median;
  call.skip_nan = which.skip_nan;
  run(op::order_statistic, call);
  record_choice(node, y.values, y.indices, x, d, y.kept);
  return {y.values, y.indices};
}

// Of nothing it is NaN, or what that is as an integer.
Tensor median_of_all(const char* node, const Tensor& x, const Statistic& which) {
  if (x.numel() == 0) {
    const Tensor nothing =
        full({}, std::numeric_limits<double>::quiet_NaN(), kRealDType, x.device());
    return record_shared(node, to_dtype(nothing, x.dtype()), x);
  }
  check_median(x, "median_cpu");
  const Tensor elements = reshape(x.detach(), {-1});
  return record_shared(node, std::get<0>(order_statistic("", elements, 0, false, which)), x);
}

std::tuple<Tensor, Tensor> median_along(const char* node, const Tensor& x, int64_t dim,
                                        bool keepdim, const Statistic& which) {
  const int d = wrap_dim(dim, x.ndim());
  check_row(x, d, "median()");
  check_median(x, "median_out");
  return order_statistic(node, x, d, keepdim, which);
}

std::tuple<Tensor, Tensor> scan(Op<ExtremumScanCall> op, const char* node, const Tensor& x,
                                int64_t dim) {
  const int d = wrap_dim(dim, x.ndim());
  const Tensor values = make_empty(x.sizes(), x.dtype(), x.device());
  const Tensor indices = make_empty(x.sizes(), kIndexDType, x.device());
  ExtremumScanCall call;
  call.values = row_view(values, d);
  call.indices = row_view(indices, d);
  call.x = row_view(x, d);
  run(op, call);
  record_choice(node, values, indices, x, d, x.sizes(), Chosen::kSoFar);
  return {values, indices};
}

// How many elements of a sorted row, up to each, equal it.
Tensor lengths_of_runs(const Tensor& sorted, int d) {
  const int64_t n = sorted.sizes()[d];
  const Tensor first = ones(with_size(sorted.sizes(), d, 1), kMaskDType, sorted.device());
  const Tensor differs = ne(narrow(sorted, d, 1, n - 1), narrow(sorted, d, 0, n - 1));
  Dims along(sorted.ndim(), 1);
  along[d] = n;
  const Tensor places = view(arange(0, n, 1, kIndexDType, sorted.device()), along);
  const Tensor begins = where(cat({first, differs}, d), places, 0);
  return sub(places, std::get<0>(cummax(begins, d)));
}

}  // namespace

std::tuple<Tensor, Tensor> kthvalue(const Tensor& input, int64_t k, int64_t dim, bool keepdim) {
  const int d = wrap_dim(dim, input.ndim());
  check_row(input, d, "kthvalue()");
  check_kthvalue(input, k, d);
  return order_statistic("KthvalueBackward0", input, d, keepdim, {k - 1, false, false});
}

Tensor median(const Tensor& input) {
  return median_of_all("MedianBackward0", input, kMedian);
}
std::tuple<Tensor, Tensor> median_dim(const Tensor& input, int64_t dim, bool keepdim) {
  return median_along("MedianBackward1", input, dim, keepdim, kMedian);
}
Tensor nanmedian(const Tensor& input) {
  return median_of_all("NanmedianBackward0", input, kNanMedian);
}
std::tuple<Tensor, Tensor> nanmedian_dim(const Tensor& input, int64_t dim, bool keepdim) {
  return median_along("NanmedianBackward1", input, dim, keepdim, kNanMedian);
}

std::tuple<Tensor, Tensor> mode(const Tensor& input, int64_t dim, bool keepdim) {
  const int d = wrap_dim(dim, input.ndim());
  check_row(input, d, "mode()");
  Tensor values, indices;
  const Dims kept = with_size(input.sizes(), d, 1);
  {
    const GradMode no_grad(false);
    const auto [sorted, order] = sort(at_least_1d(input.detach()), d, false, true);
    const Tensor longest = argmax(lengths_of_runs(sorted, d), d, true);
    Dims sizes = kept;
    if (!keepdim && !sizes.empty()) sizes.erase(d);
    values = unsafe_view(gather(sorted, d, longest), sizes);
    indices = unsafe_view(gather(order, d, longest), sizes);
  }
  record_choice("ModeBackward0", values, indices, input, d, kept);
  return {values, indices};
}

std::tuple<Tensor, Tensor> cummax(const Tensor& input, int64_t dim) {
  return scan(op::cummax, "CummaxBackward0", input, dim);
}
std::tuple<Tensor, Tensor> cummin(const Tensor& input, int64_t dim) {
  return scan(op::cummin, "CumminBackward0", input, dim);
}

}  // namespace dt
