// What the functions of torch.linalg share: batches of matrices as kernels see them, and what is
// refused, in PyTorch's words.
#pragma once

#include <initializer_list>
#include <string>

#include "core/runtime/call.h"
#include "core/tensor/tensor.h"

namespace dt {

// ---- batches

// The sizes of x without the last `dims` ones; and sizes with others behind them.
Dims batch_of(const Tensor& x, int dims = 2);
Dims sizes_of(Dims batch, std::initializer_list<int64_t> sizes);
// Whether right sides B of systems with the matrices A are a vector, or a vector for each matrix.
bool are_vectors(const Tensor& A, const Tensor& B);

// x outside of the graph, its matrices (or, of one dimension each, its vectors) in a row.
Tensor joined(const Tensor& x, int dims = 2);
// A fresh tensor as a kernel sees it: its last `dims` dimensions, and all others as one.
View joined_view(const Tensor& fresh, int dims);

// Fresh matrices that lie in memory column by column, as PyTorch's do; and a code for each.
Tensor empty_matrices(const Tensor& like, const Dims& batch, int64_t rows, int64_t columns);
Tensor empty_codes(const Tensor& like, const Dims& sizes);
Tensor identities(const Tensor& like, const Dims& batch, int64_t n);

Tensor turned(const Tensor& x);  // the matrices' transposes
// The same elements as a tensor that is no view. An op whose last step is a view of memory that
// nobody else looks at ends with it: PyTorch's results are no views.
Tensor no_view(const Tensor& x);
// A copy of x that has its matrices column by column in memory; no view either.
Tensor by_columns(const Tensor& x);
Tensor broadcast_matrices(const Tensor& x, const Dims& batch);
Tensor or_zeros(const Tensor& g, const Tensor& like);  // where no gradient arrived

// ---- checks

// Takes float32 and float64. `kernel` is PyTorch's name of the kernel that refuses others.
void check_real_dtype(const Tensor& x, const char* kernel);
void check_real(const Tensor& x, const char* function, const char* kernel);
void check_real_square(const Tensor& x, const char* function, const char* kernel);
// Refuses 16 bits in the words of those of PyTorch's functions that look before their kernel does.
void check_precision(const Tensor& x, const char* function);
void check_same_dtype(const Tensor& a, const Tensor& b, const char* function);
// The factors of a @ x = b (`left`) or x @ a = b.
void check_system(const Tensor& a, const Tensor& b, bool left, const char* function);

// Throws PyTorch's sentence about what has failed if a kernel has left a code that is not 0 for one
// of the matrices.
enum class Failed { kInverse, kSolve, kCholesky, kLu, kLeastSquares, kEigen, kSingularValues };
void check_codes(const Tensor& info, Failed what, const char* function);

}  // namespace dt
