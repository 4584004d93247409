// A kernel gets its call by name. FAMILY.gen.h has a struct for each row of the schema, which is
// made from the counted spans that cross the ABI, and declares the kernels of every backend.
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
  const dt_view* begin() const { return data; }
  const dt_view* end() const { return data + n; }
};

// An operand that may be absent.
inline const dt_view* present(const dt_view& view) {
  return view.dtype != 0 ? &view : nullptr;
}

}  // namespace dt::calls
