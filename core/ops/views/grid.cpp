// Views with the dimensions that several tensors, or a function, need: atleast_1d and its kin,
// broadcast_tensors, meshgrid; and sum_to_size, which undoes them.
#include "core/autograd/gradients.h"
#include "core/ops/creation.gen.h"
#include "core/ops/reduce.gen.h"
#include "core/ops/views.gen.h"
#include "core/ops/views/checks.h"

namespace dt {

Tensor atleast_1d(const Tensor& input) {
  return input.ndim() >= 1 ? input : reshape(input, {1});
}

Tensor atleast_2d(const Tensor& input) {
  return input.ndim() >= 2 ? input : unsqueeze(atleast_1d(input), 0);
}

Tensor atleast_3d(const Tensor& input) {
  return input.ndim() >= 3 ? input : unsqueeze(atleast_2d(input), -1);
}

Tensor ravel(const Tensor& input) {
  return reshape(contiguous(input, MemoryFormat::kContiguous), {-1});
}

std::vector<Tensor> broadcast_tensors(TensorList tensors) {
  Dims sizes;
  for (const Tensor& x : tensors) sizes = broadcast_sizes(sizes, x.sizes());
  std::vector<Tensor> out;
  for (const Tensor& x : tensors) out.push_back(x.sizes() == sizes ? x : expand(x, sizes));
  return out;
}

std::vector<Tensor> meshgrid(TensorList tensors, const std::string& indexing) {
  check_meshgrid(tensors, indexing);
  const int n = static_cast<int>(tensors.size());
  const bool swapped = indexing == "xy" && n >= 2;
  const auto dim_of = [&](int i) { return swapped && i < 2 ? 1 - i : i; };
  Dims sizes(n, 1);
  for (int i = 0; i < n; ++i) sizes[dim_of(i)] = tensors[i].numel();
  std::vector<Tensor> out;
  for (int i = 0; i < n; ++i) {
    Dims line(n, 1);
    line[dim_of(i)] = tensors[i].numel();
    out.push_back(expand(reshape(tensors[i], line), sizes));
  }
  return out;
}

Tensor narrow_copy(const Tensor& input, int64_t dim, int64_t start, int64_t length) {
  return clone(narrow(input, dim, start, length), MemoryFormat::kContiguous);
}

Tensor sum_to_size(const Tensor& input, IntList size) {
  check_sum_to_size(input, size);
  const Dims dims = dims_without(input, size);
  if (size.empty() || dims.empty()) return size.empty() ? sum(input) : input;
  const Tensor y = sum(input, IntList(dims), true);
  return y.ndim() == static_cast<int>(size.size()) ? y : view(y, size);
}

}  // namespace dt
