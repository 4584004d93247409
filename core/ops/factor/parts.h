// What the functions of torch.linalg share: batches of matrices as kernels see them, and what is
// refused, in PyTorch's words.
#pragma once

#include <initializer_list>
#include <string>

#include "core/runtime/call.h"
#include "core/tensor/tensor.h"

namespace dt {

// ---- batches

// The sizes of x but for the last `dims` ones, and with others behind them.
Dims batch_of(const Tensor& x, int dims = 2);
Dims sizes_of(Dims batch, std::initializer_list<int64_t> sizes);

// x outside of the graph, its matrices (or, of one dimension each, its vectors) in a row.
Tensor joined(const Tensor& x, int dims = 2);
// A fresh tensor as a kernel sees it: its last `dims` dimensions, and all others as one.
View joined_view(const Tensor& fresh, int dims);

// Fresh matrices that lie in memory column by column, as PyTorch's do; and a code for each.
Tensor empty_matrices(const Tensor& like, const Dims& batch, int64_t rows, int64_t columns);
Tensor empty_codes(const Tensor& like, const Dims& sizes);
Tensor identities(const Tensor& like, const Dims& batch, int64_t n);

Tensor turned(const Tensor& x);  // the matrices' transposes
// A view of what nobody else holds, as a result: no view, as PyTorch's is none.
Tensor no_view(const Tensor& x);
// x in memory that has its matrices column by column, as a result.
Tensor by_columns(const Tensor& x);
Tensor broadcast_matrices(const Tensor& x, const Dims& batch);
Tensor or_zeros(const Tensor& g, const Tensor& like);  // where no gradient arrived

// ---- checks

// Of float32 or float64. `kernel` is PyTorch's name of what refuses others.
void check_real_dtype(const Tensor& x, const char* kernel);
void check_real(const Tensor& x, const char* function, const char* kernel);
void check_real_square(const Tensor& x, const char* function, const char* kernel);
// As PyTorch's functions of square matrices that check this before their kernel does.
void check_precision(const Tensor& x, const char* function);
void check_same_dtype(const Tensor& a, const Tensor& b, const char* function);
// Of a @ x = b, or x @ a = b.
void check_system(const Tensor& a, const Tensor& b, bool left, const char* function);

// Throws `sentence(code)` if a kernel has left a code that is not 0.
enum class Failed { kInverse, kSolve, kCholesky, kLu, kLeastSquares, kEigen, kSingularValues };
void check_codes(const Tensor& info, Failed what, const char* function);

}  // namespace dt
