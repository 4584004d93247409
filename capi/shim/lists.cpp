#include "capi/shim/lists.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/ops/copy.h"
#include "core/ops/creation.gen.h"
#include "core/ops/views.gen.h"
#include "core/runtime/context.h"

namespace dt::capi {
namespace {

template <class T>
std::vector<T> elements(const Tensor& x, DType dtype) {
  const GradMode off(false);
  const Tensor dense = on_host(contiguous(to(x, {}, dtype)));
  const T* first = dense.data_as<T>();
  return {first, first + dense.numel()};
}

}  // namespace

Tensor from_ints(IntList data, std::optional<IntList> size, DType dtype, Device device,
                 bool requires_grad) {
  const int64_t n = data.size();
  const Dims sizes(size.value_or(IntList(&n, 1)));
  DT_CHECK(count_elements(sizes) == n, kRuntimeError, "shape ", sizes, " does not hold ", n,
           " numbers");
  const GradMode off(false);
  const Tensor ints = make_empty(sizes, kIntegerDType, kCpu);
  std::copy(data.begin(), data.end(), ints.data_as<int64_t>());
  const Tensor x = to(ints, device_or_default(device), dtype);
  if (requires_grad) x.set_requires_grad(true);
  return x;
}

std::vector<int64_t> to_ints(const Tensor& x) {
  return elements<int64_t>(x, kIntegerDType);
}

std::vector<double> to_numbers(const Tensor& x) {
  return elements<double>(x, kRealDType);
}

}  // namespace dt::capi
