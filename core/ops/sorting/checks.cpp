#include "core/ops/sorting/checks.h"

#include <limits>

#include "core/ops/checks.h"
#include "core/ops/reduce.gen.h"
#include "core/runtime/backend.h"

namespace dt {
namespace {

// A number's row has one element.
int64_t row_length(const Tensor& input, int dim) {
  return input.ndim() == 0 ? 1 : input.sizes()[dim];
}

void check_not_bool(const Operand& x) {
  const bool refused =
      x.is_number() ? x.number().category() == Category::BOOL : is_bool(x.tensor().dtype());
  DT_CHECK(!refused, kRuntimeError, "Unsupported input type encountered for isin(): Bool");
}

}  // namespace

// ---- order

void check_topk(const Tensor& input, int64_t k, int dim) {
  DT_CHECK(k >= 0 && k <= row_length(input, dim), kRuntimeError, "selected index k out of range");
  DT_CHECK(!is_bool(input.dtype()), kRuntimeError, "topk does not support bool dtypes on CPU");
}

void check_row(const Tensor& input, int dim, const char* function) {
  DT_CHECK(row_length(input, dim) > 0, kIndexError, function, ": Expected reduction dim ", dim,
           " to have non-zero size.");
}

void check_kthvalue(const Tensor& input, int64_t k, int dim) {
  DT_CHECK(k >= 1 && k <= row_length(input, dim), kRuntimeError,
           "kthvalue(): selected number k out of range for dimension ", dim);
  DT_CHECK(!is_bool(input.dtype()) || input.ndim() == 0, kNotImplemented,
           "\"kthvalue_cpu\" not implemented for 'Bool'");
}

void check_median(const Tensor& input, const char* kernel) {
  DT_CHECK(!is_bool(input.dtype()), kNotImplemented, "\"", kernel, "\" not implemented for 'Bool'");
}

// ---- quantiles

void check_quantile_input(const Tensor& input) {
  DT_CHECK(input.numel() > 0, kRuntimeError, "quantile() input tensor must be non-empty");
  DT_CHECK(is_floating(input.dtype()) && !is_narrow(input.dtype()), kRuntimeError,
           "quantile() input tensor must be either float or double dtype");
}

void check_quantile_number(double q) {
  DT_CHECK(q >= 0 && q <= 1, kRuntimeError, "quantile() q must be in the range [0, 1] but got ", q);
}

void check_quantile_tensor(const Tensor& input, const Tensor& q) {
  DT_CHECK(q.ndim() <= 1, kRuntimeError, "quantile() q must be a scalar or 1D tensor");
  DT_CHECK(q.dtype() == input.dtype(), kRuntimeError,
           "quantile() q tensor must be same dtype as the input tensor");
  check_same_device(q.device(), input.device());
  if (input.device().type != DeviceType::kCpu || q.numel() == 0) return;  // a device would wait
  const Tensor numbers = q.detach();
  const bool is_fit = item(min(numbers)).to_double() >= 0 && item(max(numbers)).to_double() <= 1;
  DT_CHECK(is_fit, kRuntimeError, "quantile() q values must be in the range [0, 1]");
}

void check_interpolation(const std::string& interpolation) {
  for (const char* known : {"linear", "lower", "higher", "midpoint", "nearest"}) {
    if (interpolation == known) return;
  }
  fail(Code::kRuntimeError,
       "quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, but "
       "got ",
       interpolation);
}

// ---- searching

bool checked_side(bool right, const std::optional<std::string>& side) {
  if (!side) return right;
  DT_CHECK(*side == "left" || *side == "right", kRuntimeError,
           "torch.searchsorted(): side can only be 'left' or 'right' but got ", *side);
  DT_CHECK(*side == "right" || !right, kRuntimeError,
           "torch.searchsorted(): side and right can't be set to opposites, got side of left while "
           "right was True");
  return *side == "right";
}

void check_boundaries(const Tensor& boundaries) {
  DT_CHECK(boundaries.ndim() == 1, kRuntimeError,
           "boundaries tensor must be 1 dimension, but got dim(", boundaries.ndim(), ")");
}

void check_searched(const Tensor& sorted, const Tensor& values) {
  DT_CHECK(
      values.ndim() > 0 || sorted.ndim() == 1, kRuntimeError,
      "torch.searchsorted(): input value can be a scalar only when boundaries tensor dimension "
      "is 1, but we got boundaries tensor dim(",
      sorted.ndim(), ") and input value's dim(", values.ndim(), ") numel(", values.numel(), ")");
  DT_CHECK(sorted.ndim() > 0, kRuntimeError,
           "torch.searchsorted(): boundaries tensor should have positive dimension, but got 0 "
           "dimension");
  bool fits = sorted.ndim() == 1 || sorted.ndim() == values.ndim();
  for (int d = 0; d + 1 < sorted.ndim() && fits; ++d) fits = sorted.sizes()[d] == values.sizes()[d];
  DT_CHECK(fits, kRuntimeError,
           "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 "
           "dimensions of boundaries tensor and input value tensor must match, but we got "
           "boundaries tensor ",
           sorted.sizes(), " and input value tensor ", values.sizes());
  DT_CHECK(!is_bool(values.dtype()) || values.numel() == 0, kNotImplemented,
           "\"searchsorted_out_cpu\" not implemented for 'Bool'");
}

void check_sorter(const Tensor& sorted, const Tensor& sorter) {
  DT_CHECK(sorter.sizes() == sorted.sizes(), kRuntimeError,
           "torch.searchsorted(): boundary and sorter must have the same size, but got boundary "
           "tensor ",
           sorted.sizes(), "and got sorter tensor ", sorter.sizes());
  DT_CHECK(sorter.dtype() == kIndexDType, kRuntimeError,
           "torch.searchsorted(): sorter must be a tensor of long dtype but got dtype ",
           type_word(sorter.dtype()));
}

void check_isin(const Operand& elements, const Operand& test_elements) {
  DT_CHECK(!elements.is_number() || !test_elements.is_number(), kTypeError,
           "isin() needs a tensor: elements or test_elements");
  check_not_bool(elements);
  check_not_bool(test_elements);
}

// ---- what occurs

void check_unique(const Tensor& input, std::optional<int64_t> dim) {
  if (!dim) return;
  DT_CHECK(input.ndim() > 0, kIndexError, "Dimension specified as ", *dim,
           " but tensor has no dimensions");
  const int d = wrap_dim(*dim, input.ndim());
  int empty = 0;
  for (int i = 0; i < input.ndim(); ++i) empty += input.sizes()[i] == 0;
  DT_CHECK(empty <= 1, kRuntimeError,
           "Number of zero sized dimensions is more than one, so unique cannot be applied ");
  DT_CHECK(empty == 0 || input.sizes()[d] == 0, kRuntimeError,
           "There are 0 sized dimensions, and they aren't selected, so unique cannot be applied");
}

void check_bincount(const Tensor& input, const Tensor& weights, int64_t minlength) {
  DT_CHECK(is_integral(input.dtype()), kNotImplemented, "\"bincount_cpu\" not implemented for '",
           type_word(input.dtype()), "'");
  DT_CHECK(minlength >= 0, kRuntimeError, "minlength should be >= 0");
  DT_CHECK(input.ndim() == 1, kRuntimeError,
           "bincount only supports 1-d non-negative integral inputs.");
  DT_CHECK(input.numel() == 0 || !weights.defined() || weights.sizes() == input.sizes(),
           kRuntimeError, "weights should be 1-d and have the same length as input");
}

void check_counted(int64_t lowest, int64_t highest) {
  DT_CHECK(lowest >= 0, kRuntimeError, "bincount only supports 1-d non-negative integral inputs.");
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  DT_CHECK(highest < kMost, kRuntimeError, "maximum value of input overflowed, it should be < ",
           kMost, " but got ", highest);
}

// ---- histograms

void check_histc(const Tensor& input) {
  check_floating(input, "histogram_cpu");
}

void check_histogram(const Tensor& input, bool looks_for_range) {
  if (!looks_for_range) return check_floating(input, "histogram_cpu");
  DT_CHECK(is_floating(input.dtype()) && !is_narrow(input.dtype()), kNotImplemented,
           "\"histogramdd\" not implemented for '", type_word(input.dtype()), "'");
}

void check_bins(int64_t bins) {
  DT_CHECK(bins > 0, kRuntimeError, "torch.histogram(): bins must be > 0, but got ", bins,
           " for dimension 0");
}

void check_edges(const Tensor& input, const Tensor& edges) {
  DT_CHECK(edges.dtype() == input.dtype(), kRuntimeError,
           "torch.histogramdd: input tensor and bins tensors should have the same dtype, but got "
           "input with dtype ",
           c_type_word(input.dtype()), " and bins for dimension 0 with dtype ",
           c_type_word(edges.dtype()));
  DT_CHECK(edges.ndim() == 1, kRuntimeError,
           "torch.histogramdd: bins tensor should have one dimension, but got ", edges.ndim(),
           " dimensions in the bins tensor for dimension 0");
  DT_CHECK(edges.numel() > 0, kRuntimeError,
           "torch.histogramdd: bins tensor should have at least 1 element, but got 0 elements in "
           "the bins tensor for dimension 0");
  check_bins(edges.numel() - 1);
}

void check_range(Span<const double> range) {
  DT_CHECK(
      range.size() == 2, kRuntimeError,
      "torch.histogramdd: for a 1-dimensional histogram range should have 2 elements, but got ",
      range.size());
}

void check_weight(const Tensor& input, const Tensor& weight) {
  if (!weight.defined()) return;
  DT_CHECK(weight.dtype() == input.dtype(), kRuntimeError,
           "torch.histogramdd: if weight tensor is provided, input tensor and weight tensor should "
           "have the same dtype, but got input(",
           c_type_word(input.dtype()), "), and weight(", c_type_word(weight.dtype()), ")");
  DT_CHECK(weight.numel() == input.numel(), kRuntimeError,
           "torch.histogramdd: if weight tensor is provided it should have the same shape as the "
           "input tensor excluding its innermost dimension, but got input with shape ",
           input.sizes(), " and weight with shape ", weight.sizes());
}

}  // namespace dt
