#include "core/ops/indexing/checks.h"

#include <algorithm>

#include "core/ops/checks.h"
#include "core/ops/creation.gen.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/pointwise_logic.gen.h"
#include "core/ops/reduce.gen.h"
#include "core/ops/views.gen.h"
#include "core/runtime/transfer.h"

namespace dt {

// ---- index and index_put

void check_index_dtype(const Tensor& index) {
  if (!index.defined()) return;
  DT_CHECK(is_index(index.dtype()) || is_mask(index.dtype()), kIndexError,
           "tensors used as indices must be long, int, byte or bool tensors");
}

void check_index_count(int count, int ndim, int given_ndim) {
  DT_CHECK(count <= ndim, kIndexError, "too many indices for tensor of dimension ", given_ndim);
}

void check_indices_broadcast(const std::vector<Tensor>& index) {
  Dims sizes;
  bool fits = true;
  for (const Tensor& i : index) {
    if (!i.defined()) continue;
    for (int d = 1; d <= std::min(sizes.size(), i.ndim()); ++d) {
      const int64_t a = sizes[sizes.size() - d], b = i.sizes()[i.ndim() - d];
      fits = fits && (a == b || a == 1 || b == 1);
    }
    if (!fits) break;
    sizes = broadcast_sizes(sizes, i.sizes());
  }
  if (fits) return;
  std::string shapes;
  for (const Tensor& i : index) {
    if (!i.defined()) continue;
    append(shapes, shapes.empty() ? "" : ", ");
    append(shapes, i.sizes());
  }
  fail(Code::kIndexError,
       "shape mismatch: indexing tensors could not be broadcast together with shapes ", shapes);
}

void check_mask_shape(const Tensor& mask, const Tensor& base, int dim) {
  for (int d = 0; d < mask.ndim(); ++d) {
    const bool fits = dim + d < base.ndim() && mask.sizes()[d] == base.sizes()[dim + d];
    DT_CHECK(fits, kIndexError, "The shape of the mask ", mask.sizes(), " at index ", d,
             " does not match the shape of the indexed tensor ", base.sizes(), " at index ",
             dim + d);
  }
}

void check_index_values(const Tensor& self, const Tensor& values, const Dims& sizes) {
  bool fits = values.ndim() <= sizes.size();
  for (int d = 1; fits && d <= values.ndim(); ++d) {
    const int64_t n = values.sizes()[values.ndim() - d];
    fits = n == 1 || n == sizes[sizes.size() - d];
  }
  DT_CHECK(fits, kRuntimeError, "shape mismatch: value tensor of shape ", values.sizes(),
           " cannot be broadcast to indexing result of shape ", sizes);
  DT_CHECK(self.dtype() == values.dtype(), kRuntimeError,
           "Index put requires the source and destination dtypes match, got ",
           type_word(self.dtype()), " for the destination and ", type_word(values.dtype()),
           " for the source.");
}

void refuse_index(int64_t index, int dim, int64_t size) {
  if (size == 0) fail(Code::kIndexError, "index is out of bounds for dimension with size 0");
  fail(Code::kIndexError, "index ", index, " is out of bounds for dimension ", dim, " with size ",
       size);
}

// ---- slices

void check_index_select(const Tensor& input, int dim, const Tensor& index) {
  DT_CHECK(index.ndim() <= 1, kIndexError, "index_select(): Index is supposed to be a vector");
  DT_CHECK(is_index(index.dtype()), kRuntimeError,
           "index_select(): Expected dtype int32 or int64 for index");
  DT_CHECK(input.ndim() > 0 || index.numel() == 1, kRuntimeError,
           "index_select(): Index to scalar can have only 1 value, got ", index.numel(),
           " value(s)");
  DT_CHECK(input.ndim() < 2 || input.size(dim) > 0 || index.numel() == 0, kRuntimeError,
           "index_select(): self indexing axis dim should be positive");
}

void check_index_add(const Tensor& self, int dim, const Tensor& index, const Tensor& source) {
  DT_CHECK(
      is_index(index.dtype()), kRuntimeError,
      "index_add_(): Expected dtype int32/int64 for index but got: ", type_word(index.dtype()));
  DT_CHECK(index.ndim() <= 1, kIndexError,
           "index_add_(): Index is supposed to be a vector, but got dim: ", index.ndim(),
           " with type: ", type_word(index.dtype()), " and size: ", index.sizes());
  DT_CHECK(self.dtype() == source.dtype(), kRuntimeError, "index_add_(): self (",
           type_word(self.dtype()), ") and source (", type_word(source.dtype()),
           ") must have the same scalar type");
  DT_CHECK(self.ndim() == source.ndim(), kRuntimeError,
           "source tensor shape must match self tensor shape, excluding the specified dimension. "
           "Got self.shape = ",
           self.sizes(), " source.shape = ", source.sizes());
  const int64_t count = self.ndim() == 0 ? 1 : source.sizes()[dim];
  DT_CHECK(index.numel() == count, kRuntimeError, "index_add_(): Number of indices (",
           index.numel(), ") should be equal to source.size(dim): (", count, "), for dim: ", dim);
  for (int d = 0; d < self.ndim(); ++d) {
    DT_CHECK(d == dim || self.sizes()[d] == source.sizes()[d], kRuntimeError,
             "source tensor shape must match self tensor shape, excluding the specified dimension. "
             "Got self.shape = ",
             self.sizes(), " source.shape = ", source.sizes());
  }
  check_apart(self, index);
  check_apart(self, source);
}

void check_index_fill(const Tensor& self, const Tensor& index, const Operand& value) {
  DT_CHECK(index.dtype() == kIndexDType, kIndexError,
           "index_fill_(): Expected dtype int64 for index.");
  DT_CHECK(index.ndim() <= 1, kRuntimeError, "Index has to be a vector/scalar");
  DT_CHECK(value.is_number() || value.tensor().ndim() == 0, kRuntimeError,
           "index_fill_ only supports a 0-dimensional value tensor, but got tensor with ",
           value.is_number() ? 0 : value.tensor().ndim(), " dimension(s).");
  // A GPU would have to be waited for.
  if (!value.is_number() && value.tensor().device() == kCpu) {
    check_fits(item(value.tensor().detach()), self.dtype());
  }
}

void check_index_copy(const Tensor& self, int dim, const Tensor& index, const Tensor& source) {
  DT_CHECK(index.ndim() <= 1, kIndexError,
           "index_copy_(): Index should have dimension 1 or 0 (got ", index.ndim(), ")");
  DT_CHECK(source.ndim() > 0 || index.numel() == 1, kIndexError,
           "index_copy_(): When source is scalar, index should have one element (got ",
           index.numel(), ")");
  DT_CHECK(self.ndim() == 0 || source.ndim() == 0 || self.ndim() == source.ndim(), kIndexError,
           "index_copy_(): When source and destination are not scalars, their dimensionality must "
           "match. Source dimensionality (",
           source.ndim(), "), destination dimensionality (", self.ndim(), ")");
  DT_CHECK(index.dtype() == kIndexDType, kRuntimeError,
           "index_copy_(): Expected a long tensor for index, but got ", type_word(index.dtype()));
  DT_CHECK(self.dtype() == source.dtype(), kRuntimeError,
           "index_copy_(): self and source expected to have the same dtype, but got (self) ",
           type_word(self.dtype()), " and (source) ", type_word(source.dtype()));
  Dims place = self.sizes(), given = source.sizes();
  const int64_t count = given.empty() ? 1 : given[given.size() == place.size() ? dim : 0];
  if (!place.empty()) place.erase(dim);
  if (!given.empty()) given.erase(given.size() > dim ? dim : 0);
  DT_CHECK(place == given, kRuntimeError,
           "index_copy_(): Source/destination tensor must have same slice shapes. Destination "
           "slice shape: ",
           place, " at dimension ", dim, " and source slice shape: ", given, " at dimension 0.");
  DT_CHECK(index.numel() == count, kIndexError, "index_copy_(): Number of indices (", index.numel(),
           ") should be equal to source.size(dim) (", count, ")");
}

// ---- elements

namespace {

// The first dimension other than `dim` where the index is larger than self, or -1.
int oversized_dim(const Tensor& self, int dim, const Tensor& index) {
  for (int d = 0; d < index.ndim(); ++d) {
    if (d != dim && index.sizes()[d] > at_least_1d(self).sizes()[d]) return d;
  }
  return -1;
}

// A number counts as having one dimension.
bool same_rank(const Tensor& a, const Tensor& b) {
  return std::max(a.ndim(), 1) == std::max(b.ndim(), 1);
}

void check_position_dtype(const char* name, const Tensor& index) {
  DT_CHECK(index.numel() == 0 || is_index(index.dtype()), kRuntimeError, name,
           "(): Expected dtype int32/int64 for index");
}

void check_scatter_sizes(const Tensor& self, int dim, const Tensor& index, const Tensor* src) {
  DT_CHECK(same_rank(self, index), kRuntimeError,
           "Index tensor must have the same number of dimensions as self tensor");
  const bool fits = oversized_dim(self, dim, index) < 0;
  if (!src) {
    DT_CHECK(fits, kRuntimeError, "Expected index ", index.sizes(), " to be no larger than self ",
             self.sizes(), " apart from dimension ", dim);
    return;
  }
  DT_CHECK(same_rank(*src, index), kRuntimeError,
           "Index tensor must have the same number of dimensions as src tensor");
  bool covered = true;
  for (int d = 0; d < index.ndim(); ++d) {
    covered &= index.sizes()[d] <= at_least_1d(*src).sizes()[d];
  }
  DT_CHECK(fits && covered, kRuntimeError, "Expected index ", index.sizes(),
           " to be no larger than self ", self.sizes(), " apart from dimension ", dim,
           " and to be no larger size than src ", src->sizes());
}

}  // namespace

void check_gather_options(bool sparse_grad) {
  DT_CHECK(!sparse_grad, kNotImplemented, "sparse_grad must be false: there are no sparse tensors");
}

void check_gather(const Tensor& input, int dim, const Tensor& index) {
  check_position_dtype("gather", index);
  DT_CHECK(same_rank(input, index), kRuntimeError,
           "Index tensor must have the same number of dimensions as input tensor");
  const int wrong = oversized_dim(input, dim, index);
  DT_CHECK(wrong < 0, kRuntimeError, "Size does not match at dimension ", wrong, " expected index ",
           index.sizes(), " to be no larger than self ", input.sizes(), " apart from dimension ",
           dim);
}

void check_scatter_dtypes(const char* name, const Tensor& self, const Tensor* src,
                          const Tensor& index) {
  DT_CHECK(!src || src->dtype() == self.dtype(), kRuntimeError, name,
           "(): Expected self.dtype to be equal to src.dtype");
  check_position_dtype(name, index);
}

void check_scatter(const Tensor& self, int dim, const Tensor& index, const Operand& src) {
  const Tensor* source = src.is_number() ? nullptr : &src.tensor();
  check_scatter_sizes(self, dim, index, source);
  if (!source) check_fits(src.number(), self.dtype());
}

void check_scatter_apart(const Tensor& self, const Tensor& index, const Operand& src) {
  if (!src.is_number()) check_apart(self, src.tensor());
  check_apart(self, index);
}

void check_scatter_reduce(const std::string& reduce) {
  const bool known = reduce == "sum" || reduce == "prod" || reduce == "mean" || reduce == "amax" ||
                     reduce == "amin";
  DT_CHECK(known, kRuntimeError,
           "reduce argument must be either sum, prod, mean, amax or amin, got ", reduce);
}

void check_has_mean(const Tensor& self, const std::string& reduce) {
  DT_CHECK(reduce != "mean" || !is_bool(self.dtype()), kNotImplemented,
           "\"div_floor_cpu\" not implemented for 'Bool'");
}

void check_index_reduce(const Tensor& self, int dim, const Tensor& index, const Tensor& source,
                        const std::string& reduce, bool include_self) {
  DT_CHECK(reduce == "prod" || reduce == "mean" || reduce == "amax" || reduce == "amin",
           kRuntimeError,
           "index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got ", reduce,
           ".");
  DT_CHECK(index.ndim() <= 1, kIndexError,
           "index_reduce_(): Index is supposed to be a vector, but got dim: ", index.ndim());
  DT_CHECK(is_index(index.dtype()), kRuntimeError,
           "index_reduce(): Expected dtype int32/int64 for index");
  DT_CHECK(self.dtype() == source.dtype(), kRuntimeError,
           "index_reduce_(): self and source must have the same scalar type");
  DT_CHECK(self.ndim() > 1 || !is_bool(self.dtype()), kNotImplemented,
           "\"index_func_\" not implemented for 'Bool'");
  DT_CHECK(include_self || !is_bool(self.dtype()), kNotImplemented,
           "\"index_reduce_func_exclude_input_init\" not implemented for 'Bool'");
  check_has_mean(self, reduce);
  const int64_t count = source.ndim() == 0 ? 1 : source.size(dim);
  DT_CHECK(index.numel() == count, kRuntimeError, "index_reduce_(): Number of indices (",
           index.numel(), ") should be equal to source.size(dim): (", count, "), for dim: ", dim);
}

void check_segments(const Tensor& data, const std::string& reduce, int axis, const Tensor& given,
                    bool by_offsets, const Tensor& indices, bool unsafe) {
  const auto need = [](bool holds, const char* sentence) {
    DT_CHECK(holds, kRuntimeError, sentence);
  };
  bool known = false;
  for (const char* word : {"sum", "mean", "prod", "max", "amax", "min", "amin"})
    known |= reduce == word;
  const char* unknown = "reduce argument must be either sum, prod, mean, amax or amin, got ";
  DT_CHECK(known, kRuntimeError, unknown, reduce.c_str());
  need(!indices.defined(), "indices based reduction is not supported yet.");
  need(given.defined(), "Either lengths or offsets must be defined.");
  check_floating(data, "_segment_reduce_cpu");
  const char* kernel = "_segment_reduce_lengths_cpu_kernel1";
  DT_CHECK(given.dtype() == kIndexDType || given.dtype() == kDTypeOf<int32_t>, kNotImplemented,
           "\"", kernel, "\" not implemented for '", type_word(given.dtype()), "'");
  DT_CHECK(axis == given.ndim() - 1, kRuntimeError, "Expected axis to be the last dimension of ",
           by_offsets ? "offsets" : "lengths", " but got ", axis, ".");
  bool fits = data.ndim() > axis && given.sizes()[axis] >= by_offsets;
  for (int d = 0; d < axis; ++d) fits = fits && given.sizes()[d] == data.sizes()[d];
  need(fits, "lengths and offsets must have the sizes of data before the axis, and offsets an end");
  const int64_t count = given.sizes()[axis] - by_offsets;
  if (unsafe || count == 0) return;
  const GradMode no_grad(false);
  const Tensor lengths =
      by_offsets ? sub(narrow(given, axis, 1, count), narrow(given, axis, 0, count)) : given;
  need(item(min(lengths)).to_int64() >= 0,
       by_offsets ? "offsets must not decrease" : "lengths contains negative value!");
  // Sums of longer ones could go round to the right one.
  const auto add_up = [&](int64_t size) {
    return item(max(lengths)).to_int64() <= size &&
           item(all(eq(sum(lengths, Dims{axis}), size))).to_bool();
  };
  need(by_offsets || add_up(data.sizes()[axis]),
       "Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) when "
       "!unsafe.");
}

int64_t checked_classes(const Tensor& input, int64_t num_classes) {
  DT_CHECK(input.dtype() == kIndexDType, kRuntimeError,
           "one_hot is only applicable to index tensor of type LongTensor.");
  DT_CHECK(num_classes >= -1, kRuntimeError, "num_classes should be positive");
  if (input.numel() == 0) {
    DT_CHECK(num_classes > 0, kRuntimeError,
             "Can not infer total number of classes from empty tensor.");
  } else if (num_classes <= 0 ||
             input.device() == kCpu) {  // else the scatter looks, without a wait
    const int64_t largest = item(max(input)).to_int64();
    DT_CHECK(item(min(input)).to_int64() >= 0, kRuntimeError, "Class values must be non-negative.");
    if (num_classes == -1) num_classes = largest + 1;
    DT_CHECK(largest < num_classes, kRuntimeError,
             "Class values must be smaller than num_classes.");
  }
  return num_classes;
}

// ---- others

void check_masked_select(const Tensor& mask) {
  DT_CHECK(is_bool(mask.dtype()), kRuntimeError, "masked_select: expected BoolTensor for mask");
}

void check_masked_scatter(const Tensor& self, const Tensor& mask, const Tensor& source) {
  DT_CHECK(self.dtype() == source.dtype(), kRuntimeError,
           "masked_scatter: expected self and source to have same dtypes but got",
           type_word(self.dtype()), " and ", type_word(source.dtype()));
  DT_CHECK(is_bool(mask.dtype()), kRuntimeError,
           "masked_scatter_ only supports boolean masks, but got mask with dtype ",
           type_word(mask.dtype()));
}

void check_masked_count(const Tensor& source, int64_t count) {
  DT_CHECK(source.numel() >= count, kRuntimeError,
           "Number of elements of source < number of ones in mask");
}

void check_take(const Tensor& input, const Tensor& index) {
  DT_CHECK(index.dtype() == kIndexDType, kRuntimeError,
           "take(): Expected a long tensor for index, but got ", type_word(index.dtype()));
  DT_CHECK(input.numel() > 0 || index.numel() == 0, kIndexError,
           "take(): tried to take from an empty tensor");
}

void check_take_along_dim(const Tensor& input, const Tensor& indices, bool has_dim) {
  DT_CHECK(!has_dim || input.ndim() == indices.ndim(), kRuntimeError,
           "torch.take_along_dim(): input and indices should have the same number of dimensions, "
           "but got ",
           input.ndim(), " dimensions for input, and ", indices.ndim(), " dimensions for indices");
  DT_CHECK(!has_dim || input.ndim() > 0, kIndexError,
           "Dimension specified as 0 but tensor has no dimensions");
  DT_CHECK(!has_dim || indices.dtype() == kIndexDType, kRuntimeError,
           "torch.take_along_dim(): dtype of indices should be Long but got ",
           type_word(indices.dtype()));
}

void check_put(const Tensor& self, const Tensor& index, const Tensor& source) {
  DT_CHECK(index.dtype() == kIndexDType, kRuntimeError,
           "put_(): Expected a long tensor for index, but got ", type_word(index.dtype()));
  DT_CHECK(self.dtype() == source.dtype(), kRuntimeError,
           "put_(): self and source expected to have the same dtype, but got self.dtype = ",
           type_word(self.dtype()), " and source.dtype = ", type_word(source.dtype()));
  DT_CHECK(index.numel() == source.numel(), kIndexError,
           "put_(): Expected source and index to have the same number of elements, but got "
           "source.numel() = ",
           source.numel(), ", index.numel() = ", index.numel());
  DT_CHECK(self.numel() > 0 || index.numel() == 0, kIndexError,
           "put_(): Tried to put elements into an empty tensor");
}

void check_nonzero_static(int64_t size) {
  DT_CHECK(size >= 0, kRuntimeError, "nonzero_static: 'size' must be an non-negative integer");
}

void check_triangle(const char* name, const Tensor& input) {
  DT_CHECK(input.ndim() >= 2, kRuntimeError, name,
           ": input tensor must have at least 2 dimensions");
}

}  // namespace dt
