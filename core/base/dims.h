// Sizes or strides of a tensor: up to DT_MAX_DIMS numbers stored in place, so that a tensor needs
// no second allocation.
#pragma once

#include <string>

#include "core/base/error.h"
#include "core/base/span.h"
#include "kernels/abi.h"

namespace dt {

class Dims {
 public:
  Dims() = default;
  Dims(IntList list) {
    check_count(list.size());
    for (int64_t v : list) v_[n_++] = v;
  }
  Dims(std::initializer_list<int64_t> list) : Dims(IntList(list)) {}
  Dims(int n, int64_t value) {
    check_count(n);
    while (n_ < n) v_[n_++] = value;
  }
  Dims(const Dims& other) { *this = other; }
  // Copies the numbers in use only: most tensors have few of the 16.
  Dims& operator=(const Dims& other) {
    n_ = other.n_;
    for (int i = 0; i < n_; ++i) v_[i] = other.v_[i];
    return *this;
  }

  int size() const { return n_; }
  bool empty() const { return n_ == 0; }
  int64_t operator[](int i) const { return v_[i]; }
  int64_t& operator[](int i) { return v_[i]; }
  const int64_t* begin() const { return v_; }
  const int64_t* end() const { return v_ + n_; }
  const int64_t* data() const { return v_; }
  int64_t back() const { return v_[n_ - 1]; }
  operator IntList() const { return {v_, n_}; }

  void push_back(int64_t v) {
    check_count(n_ + 1);
    v_[n_++] = v;
  }
  void insert(int at, int64_t v) {
    push_back(0);
    for (int i = n_ - 1; i > at; --i) v_[i] = v_[i - 1];
    v_[at] = v;
  }
  void erase(int at) {
    for (int i = at + 1; i < n_; ++i) v_[i - 1] = v_[i];
    --n_;
  }

  bool operator==(const Dims& other) const { return IntList(*this) == IntList(other); }
  bool operator!=(const Dims& other) const { return !(*this == other); }

 private:
  static void check_count(int64_t n) {
    DT_CHECK(n <= DT_MAX_DIMS, kRuntimeError, "a tensor has at most ", int(DT_MAX_DIMS),
             " dimensions, got ", n);
  }

  int n_ = 0;
  int64_t v_[DT_MAX_DIMS];
};

// "[2, 3]", as PyTorch prints a size.
inline void append(std::string& s, IntList list) {
  s += '[';
  for (int64_t i = 0; i < list.size(); ++i) {
    if (i) s += ", ";
    s += std::to_string(list[i]);
  }
  s += ']';
}
inline void append(std::string& s, const Dims& dims) {
  append(s, IntList(dims));
}

// Checked product of sizes; a size may be 0 but not negative.
int64_t count_elements(IntList sizes);
Dims contiguous_strides(IntList sizes);

// Turns a negative dimension into its positive twin. A 0-d tensor counts as having one dimension,
// as in PyTorch.
inline int wrap_dim(int64_t dim, int ndim) {
  const int64_t n = ndim > 0 ? ndim : 1;
  DT_CHECK(dim >= -n && dim < n, kIndexError,
           "Dimension out of range (expected to be in range of [", -n, ", ", n - 1, "], but got ",
           dim, ")");
  return static_cast<int>(dim < 0 ? dim + n : dim);
}

// The common shape of two, or PyTorch's sentence about the first dimension that differs.
Dims broadcast_sizes(IntList a, IntList b);

}  // namespace dt
