#include "core/ops/copy.h"

#include "core/autograd/gradients.h"
#include "core/autograd/inplace.h"
#include "core/autograd/view.h"
#include "core/ops/checks.h"
#include "core/ops/creation.gen.h"
#include "core/ops/creation/checks.h"
#include "core/runtime/accelerator.h"
#include "core/runtime/graph.h"
#include "core/runtime/stream.h"
#include "core/runtime/backend.h"
#include "core/runtime/calls/creation.gen.h"
#include "core/runtime/iteration_space.h"
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

}  // namespace

Dims format_strides(const Tensor& x, MemoryFormat format) {
  switch (format) {
    case MemoryFormat::kContiguous:
      return contiguous_strides(x.sizes());
    case MemoryFormat::kChannelsLast:
      check_channels_last_rank(x.ndim());
      return channels_last_strides(x.sizes());
    default:
      return dense_strides(x);
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

Tensor constant_slope(const Tensor& x) {
  return record("AliasBackward0", x.detach(), {x},
                [](BackwardCall& b) { b.results[0] = b.flat_in_inputs(b.grad()); });
}

Tensor keep_order(const Tensor& x) {
  if (!needs_graph(x)) return x;
  const Dims strides = format_strides(x, MemoryFormat::kPreserve);
  return record("AliasBackward0", x.detach(), {x}, [strides](BackwardCall& b) {
    const Tensor& g = b.grad();
    b.results[0] = g.strides() == strides ? g : clone_strided(g, strides);
  });
}

Tensor clone(const Tensor& input, MemoryFormat memory_format) {
  return clone_strided(input, format_strides(input, memory_format));
}

Tensor to(const Tensor& input, Device device, DType dtype, bool non_blocking, bool copy,
          MemoryFormat memory_format) {
  if (device.type == DeviceType::kDefault) device = input.device();
  if (dtype == DType::kDefault) dtype = input.dtype();
  // What lies in no order of its own counts as row-major.
  const bool right_format =
      memory_format == MemoryFormat::kDefault || memory_format == MemoryFormat::kPreserve ||
      (memory_format == MemoryFormat::kChannelsLast) == is_channels_last(input);
  if (!copy && right_format && device == input.device() && dtype == input.dtype()) return input;
  return copy_as(input, dtype, device, format_strides(input, memory_format), "ToCopyBackward0",
                 non_blocking);
}

Tensor contiguous(const Tensor& input, MemoryFormat memory_format) {
  if (memory_format == MemoryFormat::kDefault) memory_format = MemoryFormat::kContiguous;
  if (input.is_contiguous(memory_format)) return input;
  check_contiguous_format(memory_format);
  return clone(input, memory_format);
}

Tensor row_major(const Tensor& x) {
  return is_row_major(x) ? x : clone(x, MemoryFormat::kContiguous);
}

const Tensor& copy_(const Tensor& self, const Tensor& src, bool non_blocking) {
  check_copy_sizes(self, src);
  const bool shared = src.storage().get() == self.storage().get() && src.numel() > 0;
  const bool same = shared && src.offset() == self.offset() && src.sizes() == self.sizes() &&
                    same_walk(src.sizes(), src.strides(), self.strides());
  if (same && !needs_graph({self, src})) {
    self.bump_version();
    return self;
  }
  const bool overlaps = shared && !same;
  inplace(
      "torch::autograd::CopyBackwards", self, {self, src},
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

Tensor each_place(Tensor x) {
  for (int d = 0; d < x.ndim(); ++d) {
    if (x.strides()[d] == 0) x = narrow(x, d, 0, 1);
  }
  return x;
}

const Tensor& fill_(const Tensor& self, const Operand& value) {
  check_fill(self, value);
  if (!value.is_number()) return copy_(self, value.tensor());
  // Unlike other writes, that of one number to all elements may meet a place more than once.
  if (repeats_memory(self)) {
    fill_(each_place(self), value);
    return self;
  }
  inplace(
      "FillBackward0", self, {self},
      [&] {
        if (self.numel() == 0) return;
        IterationSpace space(self.sizes());
        space.add(self);
        space.add(value.number(), self.dtype());
        space.finish();
        CopyCall call;
        call.y = space.view(0);
        call.x = space.view(1);
        run(op::copy, call);
      },
      [](BackwardCall& b) { b.results[0] = zeros_like(b.grad()); });
  return self;
}

const Tensor& zero_(const Tensor& self) {
  return fill_(self, 0);
}

}  // namespace dt
