#include "core/runtime/iteration_space.h"

#include "core/tensor/layout.h"

namespace dt {

void IterationSpace::add(const Tensor& t) {
  tensors_[n_++] = &t;
}

void IterationSpace::add(const Scalar& number, DType dtype) {
  tensors_[n_] = nullptr;
  views_[n_] = View(number, dtype, {});
  ++n_;
}

void IterationSpace::add_absent() {
  tensors_[n_] = nullptr;
  views_[n_] = View();
  ++n_;
}

void IterationSpace::order() {
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
void IterationSpace::merge() {
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
bool IterationSpace::is_one_run(int64_t n) const {
  for (int k = 0; k < n_; ++k) {
    const Tensor* t = tensors_[k];
    if (t && t->numel() != 1 && !(t->impl()->contiguous && t->numel() == n)) return false;
  }
  return true;
}

void IterationSpace::finish() {
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

void IterationSpace::make_views() {
  for (int k = 0; k < n_; ++k) {
    if (tensors_[k]) {
      views_[k].show(*tensors_[k], sizes_, strides_[k], tensors_[k]->offset());
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
