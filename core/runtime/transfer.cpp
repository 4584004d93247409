#include "core/runtime/transfer.h"

#include "core/runtime/accelerator.h"
#include "core/runtime/backend.h"
#include "core/runtime/calls/creation.gen.h"
#include "core/runtime/graph.h"
#include "core/runtime/iteration_space.h"
#include "core/runtime/stream.h"
#include "core/tensor/layout.h"

namespace dt {
namespace {

// Between devices, x's bytes as they lie; y has x's sizes, strides and dtype. Between two GPUs, y's
// begins when x's has made the bytes, and x's goes on, with other bytes there, when they are
// copied.
void transfer(const Tensor& y, const Tensor& x, bool non_blocking) {
  const bool to_host = y.device() == kCpu, from_host = x.device() == kCpu;
  const bool on_devices = !to_host && !from_host;
  const Device device = to_host ? x.device() : y.device();
  check_captured(x.device());
  check_captured(y.device());
  if (on_devices) wait_for_device(y.device(), x.device());
  const bool wait = !on_devices && !non_blocking;
  dt_fault fault = {};
  check_device(accelerator(device).backend->copy(y.data(), to_host ? -1 : y.device().index,
                                                 x.data(), from_host ? -1 : x.device().index,
                                                 x.numel() * x.item_bytes(),
                                                 current_native_stream(device), wait, &fault),
               fault);
  if (on_devices) wait_for_device(x.device(), y.device());
}

// Only dense bytes cross from one device to another: order, dtype and shape change on either side.
void copy_across(const Tensor& y, const Tensor& x, bool non_blocking) {
  const bool alike = x.sizes() == y.sizes() && is_dense(y.sizes(), y.strides());
  const Dims strides = alike ? y.strides() : contiguous_strides(x.sizes());
  Tensor source = x;
  if (x.dtype() != y.dtype() || x.strides() != strides) {
    source = make_empty_strided(x.sizes(), strides, y.dtype(), x.device());
    copy_elements(source, x);
  }
  if (alike) return transfer(y, source, non_blocking);
  const Tensor arrived = make_empty_strided(x.sizes(), strides, y.dtype(), y.device());
  transfer(arrived, source, non_blocking);
  copy_elements(y, arrived);
}

}  // namespace

void copy_elements(const Tensor& y, const Tensor& x, bool non_blocking) {
  if (y.numel() == 0) return;
  if (y.device() != x.device()) return copy_across(y, x, non_blocking);
  IterationSpace space(y.sizes());
  space.add(y);
  space.add(x);
  space.finish();
  CopyCall call;
  call.y = space.view(0);
  call.x = space.view(1);
  run(op::copy, call);
}

void copy_each(Span<const Copied> pairs) {
  std::vector<const Copied*> present;
  for (const Copied& pair : pairs) {
    if (pair.y.numel() != 0) present.push_back(&pair);
  }
  if (present.empty()) return;
  if (present.size() == 1) return copy_elements(present[0]->y, present[0]->x);
  CopyEachCall call(static_cast<int64_t>(present.size()));
  for (size_t i = 0; i < present.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    IterationSpace space(present[i]->y.sizes());
    space.add(present[i]->y);
    space.add(present[i]->x);
    space.finish();
    call.y[at] = space.view(0);
    call.x[at] = space.view(1);
  }
  run(op::copy_each, call);
}

Tensor on_host(const Tensor& x) {
  if (x.device() == kCpu) return x;
  const Tensor y = make_empty_strided(x.sizes(), dense_strides(x), x.dtype(), kCpu);
  copy_elements(y, x);
  return y;
}

Scalar item(const Tensor& x) {
  DT_CHECK(x.numel() == 1, kRuntimeError, "a Tensor with ", x.numel(),
           " elements cannot be converted to Scalar");
  const Tensor host = on_host(x);
  return visit(x.dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    return Scalar(static_cast<Widened<T>>(*host.data_as<T>()));
  });
}

}  // namespace dt
