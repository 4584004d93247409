// The operands of a matrix product as its kernels see them.
#pragma once

#include "kernels/activation.gen.h"
#include "kernels/cuda/matmul.h"
#include "kernels/cuda/product_math.cuh"

namespace dt::cuda {

// lines x k: of a the rows, of b the columns.
template <class T>
struct FactorLines {
  const T* data;
  int64_t batch, line, step;
  bool along_k;

  __device__ __forceinline__ void select(int64_t b) { data += b * batch; }
  __device__ __forceinline__ T operator()(int64_t i, int64_t k) const {
    return data[i * line + k * step];
  }
};

template <class T>
FactorLines<T> left_lines(const MatrixProduct& p) {
  return {static_cast<const T*>(p.a.data), p.a.batch, p.a.row, p.a.col, p.a.col == 1};
}
template <class T>
FactorLines<T> right_lines(const MatrixProduct& p) {
  return {static_cast<const T*>(p.b.data), p.b.batch, p.b.col, p.b.row, p.b.row == 1};
}

// Stores alpha * sum + beta * c.
template <class Math>
struct Store {
  using T = typename Math::Value;
  T* y;
  const T* c;
  int64_t y_batch, y_row, y_col, c_batch, c_row, c_col;
  typename Math::Scale alpha, beta;

  explicit Store(const MatrixProduct& p)
      : y(static_cast<T*>(p.y.data)),
        c(static_cast<const T*>(p.c.data)),
        y_batch(p.y.batch),
        y_row(p.y.row),
        y_col(p.y.col),
        c_batch(p.c.batch),
        c_row(p.c.row),
        c_col(p.c.col),
        alpha(static_cast<typename Math::Scale>(p.alpha)),
        beta(static_cast<typename Math::Scale>(c == nullptr ? 0 : p.beta)) {}

  __device__ __forceinline__ void operator()(int, int64_t b, int64_t i, int64_t j, T sum) const {
    put(b, i, j, sum, addend(b, i, j));
  }
  __device__ __forceinline__ T addend(int64_t b, int64_t i, int64_t j) const {
    return c == nullptr ? T(0) : c[b * c_batch + i * c_row + j * c_col];
  }
  __device__ __forceinline__ void put(int64_t b, int64_t i, int64_t j, T sum, T addend) const {
    at(b, i, j) = combine(sum, addend);
  }
  __device__ __forceinline__ T combine(T sum, T addend) const {
    return Math::combine(sum, addend, alpha, beta);
  }
  __device__ __forceinline__ T& at(int64_t b, int64_t i, int64_t j) const {
    return y[b * y_batch + i * y_row + j * y_col];
  }
};

// The same with the activation, for kernels in which a thread stores few sums: written out for each
// of many, the functions would be most of a kernel.
template <class Math>
struct ActivatingStore : Store<Math> {
  using T = typename Math::Value;
  int activation;

  explicit ActivatingStore(const MatrixProduct& p) : Store<Math>(p), activation(p.activation) {}

  __device__ __forceinline__ void operator()(int, int64_t b, int64_t i, int64_t j, T sum) const {
    put(b, i, j, sum, this->addend(b, i, j));
  }
  __device__ __forceinline__ void put(int64_t b, int64_t i, int64_t j, T sum, T addend) const {
    T y = this->combine(sum, addend);
    if constexpr (std::is_floating_point_v<T>) y = activate(activation, y);
    this->at(b, i, j) = y;
  }
};

}  // namespace dt::cuda
