#include "core/ops/copy.h"

#include "core/autograd/engine.h"
#include "core/autograd/inplace.h"
#include "core/autograd/view.h"
#include "core/ops/checks.h"
#include "core/ops/creation.gen.h"
#include "core/runtime/accelerator.h"
#include "core/runtime/graph.h"
#include "core/runtime/stream.h"
#include "core/runtime/backend.h"
#include "core/tensor/layout.h"

namespace dt {
namespace {

Tensor copy_as(const Tensor& x, DType dtype, Device device, const Dims& strides,
               const char* node_name, bool non_blocking = false) {
  const Tensor y = make_empty_strided(x.sizes(), strides, dtype, device);
  copy_elements(y, x, non_blocking);
  if (!is_floating(dtype)) return y;
  // The engine converts the gradient to x's dtype.
  return record(node_name, y, {x}, [](BackwardCall& b) { b.results[0] = b.grad(); });
}

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
  Layout layout(y.sizes());
  layout.add(y);
  layout.add(x);
  layout.finish();
  run(DT_OP_copy, layout.views(0, 1), layout.views(1, 1));
}

Dims format_strides(const Tensor& x, MemoryFormat format) {
  switch (format) {
    case MemoryFormat::kContiguous:
      return contiguous_strides(x.sizes());
    case MemoryFormat::kChannelsLast:
      DT_CHECK(x.ndim() == 4, kRuntimeError, "required rank 4 tensor to use channels_last format");
      return channels_last_strides(x.sizes());
    default:
      if (is_dense(x.sizes(), x.strides())) return x.strides();
      return elementwise_strides(x.sizes(), {x});
  }
}

Tensor to_dtype(const Tensor& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  return copy_as(x, dtype, x.device(), format_strides(x, MemoryFormat::kPreserve),
                 "ToCopyBackward0");
}

Tensor clone_strided(const Tensor& x, const Dims& strides) {
  return copy_as(x, x.dtype(), x.device(), strides, "CloneBackward0");
}

Tensor on_host(const Tensor& x) {
  if (x.device() == kCpu) return x;
  const GradMode no_grad(false);
  return copy_as(x, x.dtype(), kCpu, format_strides(x, MemoryFormat::kPreserve), "");
}

Tensor alias(const Tensor& x) {
  const Tensor y = x.detach();
  return record("AliasBackward0", y, {x}, [](BackwardCall& b) { b.results[0] = b.grad(); });
}

Tensor keep_order(const Tensor& x) {
  if (!needs_graph(x)) return x;
  const Dims strides = format_strides(x, MemoryFormat::kPreserve);
  return record("AliasBackward0", x.detach(), {x}, [strides](BackwardCall& b) {
    const Tensor& g = b.grad();
    b.results[0] = g.strides() == strides ? g : clone_strided(g, strides);
  });
}

Scalar item(const Tensor& x) {
  DT_CHECK(x.numel() == 1, kRuntimeError, "a Tensor with ", x.numel(),
           " elements cannot be converted to Scalar");
  const Tensor host = on_host(x);
  return visit(x.dtype(), [&](auto zero) { return Scalar(*host.data_as<decltype(zero)>()); });
}

Tensor clone(const Tensor& input, MemoryFormat memory_format) {
  return clone_strided(input, format_strides(input, memory_format));
}

Tensor to(const Tensor& input, Device device, DType dtype, bool non_blocking, bool copy,
          MemoryFormat memory_format) {
  if (device.type == DeviceType::kDefault) device = input.device();
  if (dtype == DType::kDefault) dtype = input.dtype();
  const bool right_format = memory_format == MemoryFormat::kDefault ||
                            memory_format == MemoryFormat::kPreserve ||
                            (memory_format == MemoryFormat::kChannelsLast ? is_channels_last(input)
                                                                          : input.is_contiguous());
  if (!copy && right_format && device == input.device() && dtype == input.dtype()) return input;
  return copy_as(input, dtype, device, format_strides(input, memory_format), "ToCopyBackward0",
                 non_blocking);
}

Tensor contiguous(const Tensor& input, MemoryFormat memory_format) {
  if (memory_format == MemoryFormat::kDefault) memory_format = MemoryFormat::kContiguous;
  if (input.is_contiguous(memory_format)) return input;
  DT_CHECK(memory_format != MemoryFormat::kPreserve, kRuntimeError,
           "preserve memory format is unsupported by the contiguous operator");
  return clone(input, memory_format);
}

const Tensor& copy_(const Tensor& self, const Tensor& src, bool non_blocking) {
  DT_CHECK(broadcast_sizes(self.sizes(), src.sizes()) == self.sizes(), kRuntimeError,
           "The size of tensor a ", self.sizes(), " must match the size of tensor b ", src.sizes());
  const bool overlaps = src.storage().get() == self.storage().get() && src.numel() > 0 &&
                        !(src.offset() == self.offset() && src.sizes() == self.sizes() &&
                          same_walk(src.sizes(), src.strides(), self.strides()));
  inplace(
      "CopyBackwards", self, {self, src},
      [&] {
        const GradMode no_grad(false);
        copy_elements(self, overlaps ? clone(src) : src, non_blocking);
      },
      [](BackwardCall& b) {
        if (b.wants(0)) b.results[0] = zeros_like(b.grad());
        if (b.wants(1)) b.results[1] = b.grad();
      });
  return self;
}

namespace {

// A view with every place of an expanded tensor's memory once.
Tensor each_place(Tensor x) {
  for (int d = 0; d < x.ndim(); ++d) {
    if (x.strides()[d] == 0) x = narrow(x, d, 0, 1);
  }
  return x;
}

}  // namespace

const Tensor& fill_(const Tensor& self, const Operand& value) {
  if (!value.is_number()) {
    DT_CHECK(value.tensor().ndim() == 0, kRuntimeError,
             "fill_ only supports 0-dimension value tensor but got tensor with ",
             value.tensor().ndim(), " dimensions.");
    return copy_(self, value.tensor());
  }
  check_fits(value.number(), self.dtype());
  // Unlike other writes, that of one number to all elements may meet a place more than once.
  if (repeats_memory(self)) {
    fill_(each_place(self), value);
    return self;
  }
  inplace(
      "FillBackward0", self, {self},
      [&] {
        if (self.numel() == 0) return;
        Layout layout(self.sizes());
        layout.add(self);
        layout.add(value.number(), self.dtype());
        layout.finish();
        run(DT_OP_copy, layout.views(0, 1), layout.views(1, 1));
      },
      [](BackwardCall& b) { b.results[0] = zeros_like(b.grad()); });
  return self;
}

const Tensor& zero_(const Tensor& self) {
  return fill_(self, 0);
}

}  // namespace dt
