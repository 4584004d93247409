#include "core/tensor/tensor.h"

namespace dt {

TensorImpl::TensorImpl(Ref<Storage> s, int64_t at, const Dims& n, const Dims& st, DType t)
    : storage(std::move(s)), offset(at), dtype(t), sizes(n), strides(st) {
  numel = 1;
  for (int d = sizes.size() - 1; d >= 0; --d) {
    if (sizes[d] != 1 && strides[d] != numel) contiguous = false;
    numel =
        static_cast<int64_t>(uint64_t(numel) * uint64_t(sizes[d]));  // may overflow, then times 0
  }
  if (numel == 0) contiguous = true;
}

int64_t Tensor::size(int64_t dim) const {
  DT_CHECK(ndim() > 0, kIndexError, "Dimension specified as ", dim,
           " but tensor has no dimensions");
  return impl_->sizes[wrap_dim(dim, ndim())];
}

bool Tensor::is_contiguous(MemoryFormat format) const {
  if (format != MemoryFormat::kChannelsLast) return impl_->contiguous;
  if (ndim() != 4) return false;
  const Dims wanted = channels_last_strides(sizes());
  for (int d = 0; d < 4; ++d) {
    if (sizes()[d] != 1 && strides()[d] != wanted[d]) return false;
  }
  return true;
}

int64_t count_bytes(IntList sizes, int64_t elements, DType dtype) {
  int64_t bytes;
  DT_CHECK(!__builtin_mul_overflow(elements, info(dtype).bytes, &bytes), kRuntimeError,
           "Storage size calculation overflowed with sizes=", sizes);
  return bytes;
}

namespace {

// Products of sizes that no tensor may have yet: whoever makes one refuses what is too large.
int64_t times(int64_t a, int64_t b) {
  return static_cast<int64_t>(uint64_t(a) * uint64_t(b));
}

Tensor make_with_memory(int64_t bytes, const Dims& sizes, const Dims& strides, DType dtype,
                        Device device) {
  Ref<Storage> storage = take_offered(sizes, strides, dtype, device);
  if (!storage) storage = Storage::allocate(bytes, device);
  return Tensor(
      Ref<TensorImpl>::adopt(new TensorImpl(std::move(storage), 0, sizes, strides, dtype)));
}

}  // namespace

Tensor make_empty_strided(const Dims& sizes, const Dims& strides, DType dtype, Device device) {
  const int64_t n = count_elements(sizes);
  int64_t last = n > 0 ? 1 : 0;  // one past the last element's position
  for (int d = 0; n > 0 && d < sizes.size(); ++d) {
    int64_t reach;
    DT_CHECK(strides[d] >= 0 && !__builtin_mul_overflow(sizes[d] - 1, strides[d], &reach) &&
                 !__builtin_add_overflow(last, reach, &last),
             kRuntimeError, "Storage size calculation overflowed with sizes=", sizes,
             " and strides=", strides);
  }
  return make_with_memory(count_bytes(sizes, last, dtype), sizes, strides, dtype, device);
}

Tensor make_empty(const Dims& sizes, DType dtype, Device device) {
  const int64_t bytes = count_bytes(sizes, count_elements(sizes), dtype);
  return make_with_memory(bytes, sizes, contiguous_strides(sizes), dtype, device);
}

Tensor make_alias(const Tensor& x, const Dims& sizes, const Dims& strides, int64_t offset) {
  Tensor y(Ref<TensorImpl>::adopt(new TensorImpl(x.storage(), offset, sizes, strides, x.dtype())));
  y.impl()->own_version = x.impl()->own_version;
  return y;
}

Dims channels_last_strides(IntList sizes) {
  const int64_t c = sizes[1], h = sizes[2], w = sizes[3];
  return Dims{times(h, times(w, c)), 1, times(w, c), c};
}

bool is_dense(IntList sizes, IntList strides) {
  const int n = static_cast<int>(sizes.size());
  bool used[DT_MAX_DIMS] = {};
  int64_t expected = 1;
  for (int step = 0; step < n; ++step) {  // take the dimensions from the fastest to the slowest
    int next = -1;
    for (int d = 0; d < n; ++d) {
      if (!used[d] && (sizes[d] == 1 || strides[d] == expected)) {
        next = d;
        if (sizes[d] == 1) break;
      }
    }
    if (next < 0) return false;
    used[next] = true;
    expected *= sizes[next];
  }
  return true;
}

}  // namespace dt
