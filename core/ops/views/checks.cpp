#include "core/ops/views/checks.h"

#include "core/ops/checks.h"
#include "core/runtime/backend.h"

namespace dt {

void check_shape(IntList shape, int64_t numel) {
  bool has_unknown = false;
  int64_t known = 1;
  for (int64_t size : shape) {
    if (size == -1) {
      DT_CHECK(!has_unknown, kRuntimeError, "only one dimension can be inferred");
      has_unknown = true;
    } else {
      DT_CHECK(size >= 0, kRuntimeError, "invalid shape dimension ", size);
      DT_CHECK(!__builtin_mul_overflow(known, size, &known), kRuntimeError, "shape '", shape,
               "' has too many elements");
    }
  }
  DT_CHECK(!has_unknown || known != 0 || numel != 0, kRuntimeError, "cannot reshape tensor of ",
           numel, " elements into shape ", shape,
           " because the unspecified dimension size -1 can be any value and is ambiguous");
  const bool fits = has_unknown && known != 0 ? numel % known == 0 : numel == known;
  DT_CHECK(fits, kRuntimeError, "shape '", shape, "' is invalid for input of size ", numel);
}

void check_view(bool is_possible) {
  DT_CHECK(is_possible, kRuntimeError,
           "view size is not compatible with input tensor's size and stride (at least one "
           "dimension spans across two "
           "contiguous subspaces). Use .reshape(...) instead.");
}

void check_flatten(int first, int last) {
  DT_CHECK(first <= last, kRuntimeError,
           "flatten() has invalid args: start_dim cannot come after end_dim");
}

void check_unflatten(const Tensor& input, int64_t dim, IntList sizes) {
  DT_CHECK(!sizes.empty(), kRuntimeError, "sizes must be non-empty");
  DT_CHECK(input.ndim() > 0, kRuntimeError,
           "unflatten got an unexpected error:\nDimension specified "
           "as ",
           dim, " but tensor has no dimensions");
  const int d = wrap_dim(dim, input.ndim());
  const int64_t n = input.size(d);
  int64_t known = 1;
  bool has_unknown = false;
  for (int64_t size : sizes) {
    has_unknown |= size == -1;
    if (size != -1) (void)__builtin_mul_overflow(known, size, &known);  // which is then no size
  }
  const bool fits = known == n || (has_unknown && (known == 0 ? n == 0 : n % known == 0));
  DT_CHECK(fits, kRuntimeError, "Provided sizes ", sizes, " don't multiply up to the size of dim ",
           d, " (", n, ") in the input tensor");
}

void check_permute(IntList dims, int ndim) {
  DT_CHECK(dims.size() == ndim, kRuntimeError,
           "number of dimensions in the tensor input does not match the length of the "
           "desired ordering of dimensions i.e. input.dim() = ",
           ndim, " is not equal to len(dims) = ", dims.size());
  bool seen[DT_MAX_DIMS] = {};
  for (int64_t dim : dims) {
    const int d = wrap_dim(dim, ndim);
    DT_CHECK(!seen[d], kRuntimeError, "duplicate dims are not allowed.");
    seen[d] = true;
  }
}

void check_movedim(IntList source, IntList destination, int ndim) {
  DT_CHECK(source.size() == destination.size(), kRuntimeError,
           "movedim: Invalid source or destination dims: source (", source,
           " dims) should contain the same number of dims as destination (", destination, " dims)");
  bool taken[DT_MAX_DIMS] = {}, given[DT_MAX_DIMS] = {};
  for (int64_t i = 0; i < source.size(); ++i) {
    const int from = wrap_dim(source[i], ndim), to = wrap_dim(destination[i], ndim);
    DT_CHECK(!taken[from], kRuntimeError, "movedim: repeated dim in `source` (", source, ")");
    DT_CHECK(!given[to], kRuntimeError, "movedim: repeated dim in `destination` (", destination,
             ")");
    taken[from] = given[to] = true;
  }
}

void check_t(const Tensor& input) {
  DT_CHECK(input.ndim() <= 2, kRuntimeError,
           "t() expects a tensor with <= 2 dimensions, but self is ", input.ndim(), "D");
}

void check_expand(const Tensor& input, IntList size) {
  const int64_t lead = size.size() - input.ndim();
  DT_CHECK(lead >= 0, kRuntimeError, "the number of sizes provided (", size.size(),
           ") must be greater or equal to the number of dimensions in the tensor (", input.ndim(),
           ")");
  for (int64_t d = size.size() - 1; d >= 0; --d) {
    const int64_t from = d < lead ? 1 : input.sizes()[static_cast<int>(d - lead)];
    DT_CHECK(size[d] != -1 || d >= lead, kRuntimeError,
             "The expanded size of the tensor (-1) isn't allowed in a leading, "
             "non-existing dimension ",
             d);
    const bool fits = size[d] == -1 || (size[d] >= 0 && (from == size[d] || from == 1));
    DT_CHECK(fits, kRuntimeError, "The expanded size of the tensor (", size[d],
             ") must match the existing size (", from, ") at non-singleton dimension ", d,
             ".  Target sizes: ", size, ".  Tensor sizes: ", input.sizes());
  }
}

void check_select(const Tensor& input, int64_t dim, int64_t index) {
  DT_CHECK(input.ndim() > 0, kIndexError, "select() cannot be applied to a 0-dim tensor.");
  const int d = wrap_dim(dim, input.ndim());
  const int64_t n = input.sizes()[d];
  DT_CHECK(index >= -n && index < n, kIndexError, "index ", index,
           " is out of bounds for dimension ", d, " with size ", n);
}

void check_slice(const Tensor& input, int64_t step) {
  DT_CHECK(input.ndim() > 0, kIndexError, "slice() cannot be applied to a 0-dim tensor.");
  DT_CHECK(step > 0, kRuntimeError, "slice step must be positive");
}

void check_narrow(const Tensor& input, int64_t dim, int64_t start, int64_t length) {
  DT_CHECK(input.ndim() > 0, kRuntimeError, "narrow() cannot be applied to a 0-dim tensor.");
  const int64_t n = input.size(dim);
  DT_CHECK(length >= 0, kRuntimeError, "narrow(): length must be non-negative.");
  DT_CHECK(start >= -n && start <= n, kIndexError,
           "start out of range (expected to be in range of [", -n, ", ", n, "], but got ", start,
           ")");
  if (start < 0) start += n;
  DT_CHECK(start <= n - length, kRuntimeError, "start (", start, ") + length (", length,
           ") exceeds dimension size (", n, ").");
}

void check_as_strided(const Tensor& input, IntList size, IntList stride, int64_t start) {
  DT_CHECK(size.size() == stride.size(), kRuntimeError, "mismatch in length of strides and shape");
  DT_CHECK(start >= 0, kRuntimeError, "Tensor: invalid storage offset ", start);
  int64_t last = start, needed;
  bool fits = true;
  for (int64_t d = 0; d < size.size(); ++d) {
    DT_CHECK(stride[d] >= 0, kRuntimeError,
             "as_strided: Negative strides are not supported at the moment, got strides: ", stride);
    int64_t reach;
    fits &= !__builtin_mul_overflow(size[d] - 1, stride[d], &reach) &&
            !__builtin_add_overflow(last, reach, &last);
  }
  fits &= !__builtin_add_overflow(last, 1, &needed) &&
          !__builtin_mul_overflow(needed, input.item_bytes(), &needed);
  if (!fits) needed = INT64_MAX;
  const int64_t capacity = input.storage()->bytes();
  DT_CHECK(count_elements(size) == 0 || (fits && needed <= capacity), kRuntimeError,
           "setStorage: sizes ", size, ", strides ", stride, ", storage offset ", start,
           ", and itemsize ", input.item_bytes(), " requiring a storage size of ", needed,
           " are out of bounds for storage of size ", capacity);
}

void check_diagonal_dims(bool same, int64_t dim1, int64_t dim2) {
  DT_CHECK(!same, kRuntimeError, "diagonal dimensions cannot be identical ", dim1, ", ", dim2);
}

void check_unfold(const Tensor& input, int dim, int64_t size, int64_t step) {
  const int64_t n = input.ndim() == 0 ? 1 : input.sizes()[dim];
  DT_CHECK(size >= 0, kRuntimeError, "size is ", size, " but must be >= 0");
  DT_CHECK(size <= n, kRuntimeError, "maximum size for tensor at dimension ", dim, " is ", n,
           " but size is ", size);
  DT_CHECK(step > 0, kRuntimeError, "step is ", step, " but must be > 0");
}

void check_resize(const Tensor& self, IntList size) {
  DT_CHECK(!self.requires_grad(), kRuntimeError, "cannot resize variables that require grad");
  for (int64_t n : size) {
    DT_CHECK(n >= 0, kRuntimeError, "Trying to create tensor with negative dimension ", n, ": ",
             size);
  }
}

void check_resizable(const Tensor& self) {
  DT_CHECK(!self.storage()->deleter(), kRuntimeError,
           "Trying to resize storage that is not resizable");
}

void check_view_dtype(const Tensor& input, DType dtype) {
  const auto check = [&](bool fits, const std::string& words) {
    DT_CHECK(fits, kRuntimeError, "self.", words, " to view ", type_word(input.dtype()), " as ",
             type_word(dtype), " (different element sizes)");
  };
  const int64_t from = input.item_bytes(), to = info(dtype).bytes;
  if (from == to) return;
  check(input.ndim() > 0, "dim() cannot be 0");
  check(input.strides().back() == 1, "stride(-1) must be 1");
  if (to < from) return;
  const std::string divides = text(" must be divisible by ", to / from);
  check(input.size(-1) % (to / from) == 0, "size(-1)" + divides);
  check(input.offset() % (to / from) == 0, "storage_offset()" + divides);
  for (int d = 0; d < input.ndim() - 1; ++d)
    check(input.strides()[d] % (to / from) == 0, text("stride(", d, ")") + divides);
}

void check_split_with_sizes(const Tensor& input, IntList split_sizes, int64_t dim) {
  DT_CHECK(input.ndim() > 0, kRuntimeError, "split expects at least a 1-dimensional tensor");
  const int64_t n = input.size(dim);
  int64_t total = 0;
  for (int64_t size : split_sizes) {
    DT_CHECK(size >= 0, kRuntimeError,
             "split_with_sizes expects split_sizes have only non-negative entries, but got "
             "split_sizes=",
             split_sizes);
    DT_CHECK(!__builtin_add_overflow(total, size, &total), kRuntimeError,
             "split_sizes add up to too much");
  }
  DT_CHECK(total == n, kRuntimeError, "split_with_sizes expects split_sizes to sum exactly to ", n,
           " (input tensor's size at dimension ", dim, "), but got split_sizes=", split_sizes);
}

void check_split(const Tensor& input, int64_t split_size, int64_t dim) {
  DT_CHECK(input.ndim() > 0, kRuntimeError, "split expects at least a 1-dimensional tensor");
  DT_CHECK(split_size >= 0, kRuntimeError,
           "split expects split_size be non-negative, but got split_size=", split_size);
  const int64_t n = input.size(dim);
  DT_CHECK(split_size > 0 || n == 0, kRuntimeError,
           "split_size can only be 0 if dimension size is 0, but got dimension "
           "size of ",
           n);
}

void check_chunk(const Tensor& input, int64_t chunks) {
  DT_CHECK(input.ndim() > 0, kRuntimeError, "chunk expects at least a 1-dimensional tensor");
  DT_CHECK(chunks > 0, kRuntimeError, "chunk expects `chunks` to be greater than 0, got: ", chunks);
}

void check_tensor_split(const Tensor& input) {
  DT_CHECK(input.ndim() > 0, kRuntimeError,
           "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims");
}

void check_sections(int64_t sections) {
  DT_CHECK(sections > 0, kRuntimeError, "number of sections must be larger than 0, got ", sections);
}

void check_equal_split(const char* name, const Tensor& input, int least_dims, int dim,
                       int64_t sections) {
  DT_CHECK(input.ndim() >= least_dims, kRuntimeError, "torch.", name,
           " requires a tensor with at least ", least_dims, " dimension, but got a tensor with ",
           input.ndim(), " dimensions!");
  const int64_t n = input.sizes()[dim];
  DT_CHECK(sections > 0 && n % sections == 0, kRuntimeError, "torch.", name,
           " attempted to split along dimension ", dim, ", but the size of the dimension ", n,
           " is not divisible by the split_size ", sections, "!");
}

void check_meshgrid(TensorList tensors, const std::string& indexing) {
  DT_CHECK(!tensors.empty(), kRuntimeError, "meshgrid expects a non-empty TensorList");
  for (const Tensor& x : tensors) {
    DT_CHECK(x.ndim() <= 1, kRuntimeError,
             "torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: ", x.sizes());
    DT_CHECK(x.dtype() == tensors[0].dtype(), kRuntimeError,
             "meshgrid expects all tensors to have the same dtype");
    DT_CHECK(x.device() == tensors[0].device(), kRuntimeError,
             "meshgrid expects all tensors to have the same device");
  }
  DT_CHECK(indexing == "ij" || indexing == "xy", kRuntimeError,
           "torch.meshgrid: indexing must be one of \"xy\" or \"ij\", but received: ", indexing);
}

void check_sum_to_size(const Tensor& input, IntList size) {
  const int64_t lead = input.ndim() - size.size();
  bool fits = lead >= 0;
  for (int64_t d = 0; fits && d < size.size(); ++d)
    fits = size[d] == 1 || size[d] == input.sizes()[static_cast<int>(d + lead)];
  DT_CHECK(fits, kRuntimeError, "size {", size, "} is not expandable to size {", input.sizes(),
           "}.");
}

bool joins_anything(const Tensor& x) {
  return x.ndim() == 1 && x.numel() == 0;
}

void check_cat(TensorList tensors) {
  DT_CHECK(!tensors.empty(), kValueError, "expected a non-empty list of Tensors");
  for (int64_t i = 0; i < tensors.size(); ++i) {
    DT_CHECK(tensors[i].ndim() > 0, kRuntimeError, "zero-dimensional tensor (at position ", i,
             ") cannot be concatenated");
    check_same_device(tensors[0].device(), tensors[i].device());
  }
}

namespace {

void check_joinable(const Tensor& first, const Tensor& x, int64_t number, int dim) {
  DT_CHECK(x.ndim() == first.ndim(), kRuntimeError,
           "Tensors must have same number of dimensions: got ", first.ndim(), " and ", x.ndim());
  for (int d = 0; d < x.ndim(); ++d) {
    DT_CHECK(d == dim || x.sizes()[d] == first.sizes()[d], kRuntimeError,
             "Sizes of tensors must match except in "
             "dimension ",
             dim, ". Expected size ", first.sizes()[d], " but got size ", x.sizes()[d],
             " for tensor number ", number, " in the list.");
  }
}

}  // namespace

void check_cat_sizes(TensorList tensors, const Tensor& model, int dim) {
  int64_t total = 0;
  for (int64_t i = 0; i < tensors.size(); ++i) {
    const Tensor& x = tensors[i];
    if (joins_anything(x)) continue;
    check_joinable(model, x, i, dim);
    DT_CHECK(!__builtin_add_overflow(total, x.sizes()[dim], &total), kRuntimeError,
             "the sizes in dimension ", dim, " add up to more than an int64 can count");
  }
}

void check_stack(TensorList tensors, int64_t dim) {
  DT_CHECK(!tensors.empty(), kRuntimeError, "stack expects a non-empty TensorList");
  wrap_dim(dim, tensors[0].ndim() + 1);
  for (int64_t i = 0; i < tensors.size(); ++i) {
    DT_CHECK(tensors[i].sizes() == tensors[0].sizes(), kRuntimeError,
             "stack expects each tensor to be equal size, but "
             "got ",
             tensors[0].sizes(), " at entry 0 and ", tensors[i].sizes(), " at entry ", i);
  }
}

void check_repeat(const Tensor& input, IntList repeats) {
  DT_CHECK(repeats.size() >= input.ndim(), kRuntimeError,
           "Number of dimensions of repeat dims can not be smaller than number of dimensions of "
           "tensor");
}

void check_flip(IntList dims, int ndim) {
  bool flipped[DT_MAX_DIMS] = {};
  for (int64_t dim : dims) {
    const int d = wrap_dim(dim, ndim);
    check_named_once(flipped[d], d);
    flipped[d] = true;
  }
}

}  // namespace dt
