// A matrix that many small products share, as a CPU's kernel reads it best.
#pragma once

#include "core/ops/linalg/multiply.h"

namespace dt {

// A kernel copies a factor whose columns do not lie well, in each product anew. Here that is done
// once: columns lie in panels, each of which is one run of memory, and a product by the matrix is a
// batch of products by panels, which are read where they are.
class Panels {
 public:
  Panels() = default;
  explicit Panels(Factor b);

  // Whether products of matrices like a, of so many rows, gain from panels of b.
  static bool serve(const Tensor& a, int64_t rows, Factor b);
  bool defined() const { return data_.defined(); }
  // a @ b + addend, without a record; the addend [rows, columns] may be undefined.
  Tensor multiply(const Tensor& a, const Tensor& addend) const;

 private:
  Tensor data_;  // [panels, k, columns of a panel]
};

}  // namespace dt
