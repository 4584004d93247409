// A kernel gets its call by name. FAMILY.gen.h has a struct for each [kernel] or [call] row of
// capi/schema/FAMILY.toml, which is made from the counted spans that cross the ABI, and declares
// the kernels of every backend. Elementwise rows share a struct, and so do optimizers: pointwise.h
// and optimizer.h have them. Nothing else indexes the spans.
//
// What holds for every call:
// - Core has checked shapes, dtypes and devices, promoted and allocated. A kernel trusts views but
//   never index values.
// - Views have any strides unless the row says `contiguous` (dense, row-major).
// - Outputs do not overlap inputs unless a row says `may alias` (then exactly, element for
// element).
// - Sizes may be 0. A kernel must be right for empty operands.
// - Results do not depend on the number of threads.
#pragma once

#include "kernels/abi.h"

namespace dt::calls {

// What every call has.
struct Call {
  const char* op;
  void* workspace;  // null: the kernel asked for none

  explicit Call(const dt_call* call) : op(call->op), workspace(call->workspace) {}
};

// The operands of a list.
struct Views {
  const dt_view* data;
  int64_t n;

  bool empty() const { return n == 0; }
  const dt_view& operator[](int64_t i) const { return data[i]; }
  const dt_view& last() const { return data[n - 1]; }
  const dt_view* begin() const { return data; }
  const dt_view* end() const { return data + n; }
};

// All operands of any call, for what records, traces or checks calls.
inline Views outputs(const dt_call& call) {
  return {call.out, call.n_out};
}
inline Views inputs(const dt_call& call) {
  return {call.in, call.n_in};
}

// An operand that may be absent.
inline const dt_view* present(const dt_view& view) {
  return view.dtype != 0 ? &view : nullptr;
}

}  // namespace dt::calls
