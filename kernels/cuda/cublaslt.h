// Matrix products by cuBLASLt, which is opened when the first one is asked for.
#pragma once

#include <functional>

#include "kernels/cuda/matmul.h"

namespace dt::cuda {

// Whether the library is there and can express the product without its addend and its activation:
// floating types, and each operand with a stride of 1 and no broadcast.
bool cublaslt_can(const MatrixProduct& product);
// Whether it can add c too: as a matrix, or as a vector that is the same for every row.
bool cublaslt_can_add(const MatrixProduct& product);
// Whether it can apply the activation too.
bool cublaslt_can_activate(const MatrixProduct& product);

// Bytes of scratch memory for cublaslt_multiply.
int64_t cublaslt_workspace(const dt_stream* stream, const MatrixProduct& product);
// Another way to compute the same product on the call's stream, with the same scratch memory.
using Rival = std::function<int32_t()>;
// DT_KERNEL_UNSUPPORTED, with nothing computed, if the library knows no algorithm. The first
// product of a shape times the algorithms that the library proposes, and the rival if there is one,
// unless the stream is being captured; the fastest serves from then on.
int32_t cublaslt_multiply(const dt_stream* stream, const MatrixProduct& product, void* workspace,
                          const Rival& rival);

}  // namespace dt::cuda
