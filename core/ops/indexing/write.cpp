// What advanced indexing serves under other names: slices along one dimension (index_fill,
// index_copy), elements in row-major order (take, put, masked_scatter).
#include "core/autograd/record.h"
#include "core/ops/checks.h"
#include "core/ops/copy.h"
#include "core/ops/creation.gen.h"
#include "core/ops/indexing.gen.h"
#include "core/ops/indexing/checks.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/pointwise_logic.gen.h"
#include "core/ops/sorting.gen.h"
#include "core/ops/views.gen.h"

namespace dt {
namespace {

// self[:, ..., index] = values, with `dim` colons.
void write_slices(const Tensor& self, int dim, const Tensor& index, const Tensor& values) {
  std::vector<Tensor> places(static_cast<size_t>(dim));
  places.push_back(index);
  index_put_(self, places, values);
}

// The indices, from the end too, without their repetitions.
Tensor each_once(const Tensor& index, int64_t size) {
  const GradMode off(false);
  return std::get<0>(unique(where(lt(index, 0), add(index, size), index)));
}

}  // namespace

const Tensor& index_fill_(const Tensor& self, int64_t dim, const Tensor& index,
                          const Operand& value) {
  const int d = wrap_dim(dim, self.ndim());
  check_index_fill(self, index, value);
  // One that lies in the tensor is the number that it was before. Its gradient counts a slice once,
  // however often it is named.
  const Tensor number = value.is_number() ? full({}, value.number(), self.dtype(), self.device())
                                          : to(clone(value.tensor()), self.device(), self.dtype());
  write_slices(
      at_least_1d(self), d,
      needs_graph(number) ? each_once(index, at_least_1d(self).size(d)) : at_least_1d(index),
      number);
  return self;
}

Tensor index_fill(const Tensor& input, int64_t dim, const Tensor& index, const Operand& value) {
  const Tensor y = clone(input);
  index_fill_(y, dim, index, value);
  return y;
}

const Tensor& index_copy_(const Tensor& self, int64_t dim, const Tensor& index,
                          const Tensor& source) {
  const int d = wrap_dim(dim, self.ndim());
  check_index_copy(self, d, index, source);
  write_slices(at_least_1d(self), d, at_least_1d(index), at_least_1d(source));
  return self;
}

Tensor index_copy(const Tensor& input, int64_t dim, const Tensor& index, const Tensor& source) {
  const Tensor y = clone(input, MemoryFormat::kContiguous);
  index_copy_(y, dim, index, source);
  return y;
}

const Tensor& masked_scatter_(const Tensor& self, const Tensor& mask, const Tensor& source) {
  check_masked_scatter(self, mask, source);
  // Elements of one run are found by one number each. A graph sees the tensor as it is.
  const bool is_run = self.is_contiguous() && !self.requires_grad() && !source.requires_grad();
  const Tensor target = is_run ? view(self, {self.numel()}) : at_least_1d(self);
  const Tensor here = reshape(expand(mask, self.sizes()), target.sizes());
  const std::vector<Tensor> places = unbind(nonzero(here), 1);
  const int64_t count = places[0].numel();
  check_masked_count(source, count);
  const bool overlaps = source.storage().get() == self.storage().get();
  index_put_(target, places, narrow(flatten(overlaps ? clone(source) : source), 0, 0, count));
  return self;
}

Tensor masked_scatter(const Tensor& input, const Tensor& mask, const Tensor& source) {
  const Dims sizes = broadcast_sizes(input.sizes(), mask.sizes());
  const Tensor y = clone(expand(input, sizes), MemoryFormat::kContiguous);
  masked_scatter_(y, mask, source);
  return y;
}

Tensor take(const Tensor& input, const Tensor& index) {
  check_take(input, index);
  return dt::index(reshape(input, {-1}), {index});
}

const Tensor& put_(const Tensor& self, const Tensor& index, const Tensor& source, bool accumulate) {
  check_put(self, index, source);
  const Tensor flat = reshape(self, {self.numel()});  // a copy, if no view shows it in this order
  index_put_(flat, {reshape(index, {index.numel()})}, reshape(source, {source.numel()}),
             accumulate);
  if (flat.storage().get() != self.storage().get()) copy_(self, reshape(flat, self.sizes()));
  return self;
}

Tensor put(const Tensor& input, const Tensor& index, const Tensor& source, bool accumulate) {
  const Tensor y = clone(input);
  put_(y, index, source, accumulate);
  return y;
}

Tensor take_along_dim(const Tensor& input, const Tensor& indices, std::optional<int64_t> dim) {
  check_take_along_dim(input, indices, dim.has_value());
  if (!dim) return gather(reshape(input, {input.numel()}), 0, reshape(indices, {indices.numel()}));
  const int d = wrap_dim(*dim, input.ndim());
  // All other dimensions broadcast.
  Dims x = input.sizes(), i = indices.sizes();
  x[d] = i[d] = 1;
  x = broadcast_sizes(x, i);
  i = x;
  x[d] = input.sizes()[d];
  i[d] = indices.sizes()[d];
  // Negative ones count from the end, as they do not in gather.
  const Tensor at = where(lt(indices, 0), add(indices, input.sizes()[d]), indices);
  return gather(expand(input, x), d, expand(at, i));
}

}  // namespace dt
