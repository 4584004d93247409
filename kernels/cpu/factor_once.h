// The factorisations of kernels/cpu/once are compiled once, for any processor: what an instruction
// set lends them are the loops in which the time goes.
#pragma once

#include "kernels/factor.h"

namespace dt::factor {

// Element (i, j) of a matrix is data[i * row + j * col].
template <class T>
struct Strided {
  T* data;
  int64_t row, col;

  __attribute__((always_inline)) T& at(int64_t i, int64_t j) const {
    return data[i * row + j * col];
  }
  Strided from(int64_t i, int64_t j) const { return {&at(i, j), row, col}; }
  Strided turned() const { return {data, col, row}; }
  operator Strided<const T>() const { return {data, row, col}; }
};

// y[m, n] = alpha * a @ b + beta * y; rows or columns of y are contiguous, beta is 0 or 1.
template <class T>
struct StridedProduct {
  int64_t m, n, k;
  Strided<T> y;
  Strided<const T> a, b;
  T alpha, beta;
};

// t @ x = x with a triangular t of at most kSmall rows.
template <class T>
struct Substitution {
  Strided<const T> t;
  Strided<T> x;
  int64_t n, cols;
  bool upper, unit;
};

constexpr int64_t kSmall = 32;        // rows of what is factored or solved without products
constexpr int64_t kPanelBytes = 128;  // of a row whose columns are rotated together

template <class T>
struct FastLoops {
  T (*dot)(const T* a, const T* b, int64_t n);
  void (*add_scaled)(T* y, T factor, const T* x, int64_t n);  // y += factor * x
  void (*divide)(T* x, T by, int64_t n);
  // x += a p + b v; gives the product of x and w.
  T (*update_dot)(T* x, T a, const T* p, T b, const T* v, const T* w, int64_t n);
  // x += a p + b v, then sum += f x.
  void (*update_add)(T* x, T a, const T* p, T b, const T* v, T f, T* sum, int64_t n);
  // y[j * y_stride + i] = x[i * x_stride + j] for i < rows, j < cols.
  void (*copy_transposed)(T* y, int64_t y_stride, const T* x, int64_t x_stride, int64_t rows,
                          int64_t cols);
  void (*substitute)(const Substitution<T>& s);
  // The lower Cholesky factor of at most kSmall rows, in place; gives the order of the first minor
  // that is not positive, or 0.
  int64_t (*cholesky)(Strided<T> a, int64_t n);
  // The place of the first of the largest magnitudes; 0 if x[0] is NaN.
  int64_t (*find_pivot)(const T* x, int64_t n);
  // Rotates rows of kPanelBytes that lie one behind the other.
  void (*rotate)(T* panel, const Rotation* rotations, int64_t count);
  void (*multiply)(const dt_stream* stream, const StridedProduct<T>& p, void* workspace);
  // What no product of k terms needs more than, of `most` rows and columns at most.
  int64_t (*product_workspace)(const dt_stream* stream, int64_t most, int64_t k);
};

struct AllLoops {
  FastLoops<float> f32;
  FastLoops<double> f64;
};

// In the order of DT_FACTOR_KERNELS.
enum class Kernel : int32_t {
#define DT_FACTOR_KERNEL(NAME, CALL, PROBLEM) NAME,
  DT_FACTOR_KERNELS(DT_FACTOR_KERNEL)
#undef DT_FACTOR_KERNEL
};

}  // namespace dt::factor

// `call` is of the kernel's type in kernels/calls/factor.gen.h.
extern "C" {
int32_t dt_factor_solve(dt::factor::Kernel kernel, const dt_stream* stream, const void* call,
                        void* workspace, const dt::factor::AllLoops* loops);
int64_t dt_factor_workspace(dt::factor::Kernel kernel, const dt_stream* stream, const void* call,
                            const dt::factor::AllLoops* loops);
}
