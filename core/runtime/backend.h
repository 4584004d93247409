// The choke point: everything that computes goes through `run`. Tracing, NaN checks and error text
// live here, once.
#pragma once

#include "core/base/span.h"
#include "core/runtime/kernel_table.h"
#include "core/tensor/tensor.h"
#include "kernels/abi.h"

namespace dt {

// An operand of a kernel call.
struct View : dt_view {
  View() {  // absent
    dtype = 0;
    ndim = 0;
    immediate = 0;
    data = nullptr;
    device = -1;
  }
  View(const Tensor& t);
  // The tensor's memory under other sizes and strides.
  View(const Tensor& t, IntList sizes, IntList strides, int64_t offset);
  // A number, broadcast over `ndim` dimensions of the given sizes.
  View(const Scalar& number, DType dtype, IntList sizes);
};
static_assert(sizeof(View) == sizeof(dt_view), "spans of View are spans of dt_view");

using Floats = Span<const double>;

inline constexpr int64_t kUnitStride = 1;  // of a run of elements

// Throws PyTorch's sentence if the devices differ.
void check_same_device(Device first, Device second);

// Runs the kernel of `op` on the operands' device. Throws if the backend has none, or if it reports
// an error.
void run(int op, Span<const View> out, Span<const View> in, IntList ints = {}, Floats floats = {});
// The same for a shortcut, which a backend need not have for these operands, or at all. Then it
// returns false, with nothing computed.
bool run_shortcut(int op, Span<const View> out, Span<const View> in, IntList ints = {},
                  Floats floats = {});

}  // namespace dt
