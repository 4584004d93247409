// Gradients of ops whose results are elements of their input.
#pragma once

#include "core/tensor/tensor.h"

namespace dt {

// Whether an element may be chosen more than once; then its gradients add up, and the indices are
// those of the best element so far.
enum class Chosen { kOnce, kSoFar };

// Records `values` as x's elements at `indices` along dimension d. Both have the sizes `kept` or,
// where d was reduced, those without it.
void record_choice(const char* node, const Tensor& values, const Tensor& indices, const Tensor& x,
                   int d, const Dims& kept, Chosen chosen = Chosen::kOnce);

// Records y, an element of x, as what all elements that equal it have a share in. NaN equals NaN.
Tensor record_shared(const char* node, const Tensor& y, const Tensor& x);

}  // namespace dt
