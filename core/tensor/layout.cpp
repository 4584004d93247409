#include "core/tensor/layout.h"

#include <algorithm>

namespace dt {
namespace {

// Whether dimension b of the operands lies inside dimension a (walks memory faster). The first
// operand that can tell decides; broadcast dimensions cannot tell. 0 when none can.
int compare_dims(const Dims* strides, int operands, const Dims& sizes, int a, int b) {
  for (int k = 0; k < operands; ++k) {
    if (strides[k].size() == 0) continue;
    const int64_t sa = strides[k][a], sb = strides[k][b];
    if (sa == 0 || sb == 0) continue;
    if (sa != sb) return sa > sb ? 1 : -1;
    if (sizes[a] < sizes[b]) return -1;  // equal strides: the smaller dimension goes inside
  }
  return 0;
}

// Dimensions from the slowest to the fastest, by PyTorch's insertion sort: it begins with the last
// dimension and looks past those that nothing tells apart, which is not the same in another order.
void memory_order(const Dims* strides, int operands, const Dims& sizes, int* order) {
  const int n = sizes.size();
  for (int d = 0; d < n; ++d) order[d] = d;
  for (int i = n - 2; i >= 0; --i) {
    int at = i;
    for (int j = i + 1; j < n; ++j) {
      const int c = compare_dims(strides, operands, sizes, order[at], order[j]);
      if (c > 0) break;
      if (c == 0) continue;
      std::swap(order[at], order[j]);
      at = j;
    }
  }
}

}  // namespace

bool same_walk(const Dims& sizes, const Dims& a, const Dims& b) {
  for (int d = 0; d < sizes.size(); ++d) {
    if (sizes[d] != 1 && a[d] != b[d]) return false;
  }
  return true;
}

Dims broadcast_strides(IntList sizes, IntList strides, IntList over) {
  Dims result(static_cast<int>(over.size()), 0);
  const int64_t lead = over.size() - sizes.size();
  for (int64_t d = 0; d < sizes.size(); ++d) {
    const int at = static_cast<int>(lead + d);
    if (sizes[d] == over[at]) result[at] = strides[d];
  }
  return result;
}

Dims elementwise_strides(const Dims& sizes, TensorList inputs) {
  const auto counts = [](const Tensor& t) { return t.defined() && t.ndim() > 0; };
  bool all_contiguous = true;
  for (const Tensor& t : inputs) all_contiguous &= !counts(t) || t.impl()->contiguous;
  if (all_contiguous) return contiguous_strides(sizes);
  Dims strides[Layout::kMaxOperands];
  int n = 0;
  for (const Tensor& t : inputs) {
    if (!counts(t) || n == Layout::kMaxOperands) continue;
    strides[n++] = broadcast_strides(t.sizes(), t.strides(), sizes);
  }
  int order[DT_MAX_DIMS];
  memory_order(strides, n, sizes, order);
  Dims result(sizes.size(), 1);
  int64_t stride = 1;
  for (int i = sizes.size() - 1; i >= 0; --i) {
    result[order[i]] = stride;
    stride *= std::max<int64_t>(sizes[order[i]], 1);
  }
  return result;
}

void Layout::add(const Tensor& t) {
  tensors_[n_++] = &t;
}

void Layout::add(const Scalar& number, DType dtype) {
  tensors_[n_] = nullptr;
  views_[n_] = View(number, dtype, {});
  ++n_;
}

void Layout::add_absent() {
  tensors_[n_] = nullptr;
  views_[n_] = View();
  ++n_;
}

void Layout::order() {
  int perm[DT_MAX_DIMS];
  memory_order(strides_, n_, sizes_, perm);
  const Dims sizes = sizes_;
  for (int d = 0; d < sizes.size(); ++d) sizes_[d] = sizes[perm[d]];
  for (int k = 0; k < n_; ++k) {
    if (!tensors_[k]) continue;
    const Dims strides = strides_[k];
    for (int d = 0; d < sizes.size(); ++d) strides_[k][d] = strides[perm[d]];
  }
}

// Drops dimensions of size 1 and merges neighbours that every operand walks as one.
void Layout::merge() {
  int last = -1;  // the last dimension kept
  for (int d = 0; d < sizes_.size(); ++d) {
    if (sizes_[d] == 1) continue;
    bool one_walk = last >= 0;
    for (int k = 0; one_walk && k < n_; ++k) {
      if (tensors_[k]) one_walk = strides_[k][last] == strides_[k][d] * sizes_[d];
    }
    if (one_walk) {
      sizes_[last] *= sizes_[d];
    } else {
      sizes_[++last] = sizes_[d];
    }
    for (int k = 0; k < n_; ++k) {
      if (tensors_[k]) strides_[k][last] = strides_[k][d];
    }
  }
  while (sizes_.size() > last + 1) {
    for (int k = 0; k < n_; ++k) {
      if (tensors_[k]) strides_[k].erase(strides_[k].size() - 1);
    }
    sizes_.erase(sizes_.size() - 1);
  }
}

// Operands that are dense, row-major and whole, or single elements, are walked as one run.
bool Layout::is_one_run(int64_t n) const {
  for (int k = 0; k < n_; ++k) {
    const Tensor* t = tensors_[k];
    if (t && t->numel() != 1 && !(t->impl()->contiguous && t->numel() == n)) return false;
  }
  return true;
}

void Layout::finish() {
  const int64_t n = count_elements(sizes_);
  const bool one_run = is_one_run(n);
  if (one_run) sizes_ = {n};
  for (int k = 0; k < n_; ++k) {
    if (!tensors_[k]) continue;
    const Tensor& t = *tensors_[k];
    strides_[k] =
        one_run ? Dims(1, t.numel() == n) : broadcast_strides(t.sizes(), t.strides(), sizes_);
  }
  if (!one_run) {
    if (sizes_.size() > 1) order();
    merge();
  }
  make_views();
}

void Layout::make_views() {
  for (int k = 0; k < n_; ++k) {
    if (tensors_[k]) {
      views_[k] = View(*tensors_[k], sizes_, strides_[k], tensors_[k]->offset());
      continue;
    }
    View& v = views_[k];
    v.ndim = sizes_.size();
    for (int d = 0; d < v.ndim; ++d) {
      v.sizes[d] = sizes_[d];
      v.strides[d] = 0;
    }
  }
}

}  // namespace dt
