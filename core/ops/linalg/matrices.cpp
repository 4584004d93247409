// Products of several matrices.
#include <limits>

#include "core/ops/autocast.gen.h"
#include "core/ops/checks.h"
#include "core/ops/creation.gen.h"
#include "core/ops/factor.gen.h"
#include "core/ops/linalg.gen.h"
#include "core/ops/linalg/checks.h"

namespace dt {

Tensor matrix_power(const Tensor& input, int64_t n) {
  check_square(input, "linalg.matrix_power");
  if (n == INT64_MIN) {  // which has no opposite
    const Tensor inverse = autocast::linalg_inv(input);
    return matrix_power(autocast::matmul(inverse, inverse), -(n / 2));
  }
  if (n == -1) return autocast::linalg_inv(input);
  if (n < 0) return matrix_power(autocast::linalg_inv(input), -n);
  if (n == 0) {
    const Tensor one = eye(input.size(-1), {}, input.dtype(), input.device());
    return copy_(clone(input, MemoryFormat::kContiguous), one);
  }
  if (n == 1) return clone(input, MemoryFormat::kContiguous);
  // The order of the factors decides what becomes NaN beside an infinity.
  if (n == 3) return autocast::matmul(autocast::matmul(input, input), input);
  Tensor y, power = input;
  for (;; power = autocast::matmul(power, power)) {
    if (n & 1) y = y.defined() ? autocast::matmul(y, power) : power;
    if ((n >>= 1) == 0) return y;
  }
}

namespace {

// chain[i][j]: where the product of matrices i to j is best cut, so that it takes the fewest
// multiplications; sizes[i] and sizes[i + 1] are those of matrix i.
using Cuts = std::vector<std::vector<int64_t>>;

Cuts best_cuts(const std::vector<int64_t>& sizes) {
  const size_t n = sizes.size() - 1;
  std::vector<std::vector<double>> cost(n, std::vector<double>(n));
  Cuts cuts(n, std::vector<int64_t>(n));
  for (size_t length = 1; length < n; ++length) {
    for (size_t i = 0, j = length; j < n; ++i, ++j) {
      cost[i][j] = std::numeric_limits<double>::infinity();
      for (size_t k = i; k < j; ++k) {
        const double here = cost[i][k] + cost[k + 1][j] +
                            double(sizes[i]) * double(sizes[k + 1]) * double(sizes[j + 1]);
        if (here < cost[i][j]) cost[i][j] = here, cuts[i][j] = static_cast<int64_t>(k);
      }
    }
  }
  return cuts;
}

Tensor product_of(const std::vector<Tensor>& matrices, const Cuts& cuts, int64_t i, int64_t j) {
  if (i == j) return matrices[i];
  const int64_t k = cuts[i][j];
  return autocast::mm(product_of(matrices, cuts, i, k), product_of(matrices, cuts, k + 1, j));
}

}  // namespace

Tensor linalg_multi_dot(TensorList tensors) {
  check_chain(tensors);
  std::vector<Tensor> matrices = tensors.to_vector();
  Tensor &first = matrices.front(), &last = matrices.back();
  const bool is_row = first.ndim() == 1, is_column = last.ndim() == 1;
  if (is_row) first = unsqueeze(first, 0);
  if (is_column) last = unsqueeze(last, 1);
  std::vector<int64_t> sizes = {first.size(0)};
  for (const Tensor& x : matrices) sizes.push_back(x.size(1));
  const Tensor y = product_of(matrices, best_cuts(sizes), 0, tensors.size() - 1);
  Dims kept;
  if (!is_row) kept.push_back(y.size(0));
  if (!is_column) kept.push_back(y.size(1));
  return kept.size() == 2 ? y : unsafe_view(y, kept);
}

Tensor chain_matmul(TensorList matrices) {
  DT_CHECK(!matrices.empty(), kRuntimeError, "chain_matmul(): Expected one or more matrices");
  for (const Tensor& x : matrices) {
    DT_CHECK(x.ndim() == 2, kRuntimeError, "Tensor dimension is ", x.ndim(),
             ", expected 2 instead.");
  }
  return matrices.size() == 1 ? clone(matrices[0]) : linalg_multi_dot(matrices);
}

}  // namespace dt
