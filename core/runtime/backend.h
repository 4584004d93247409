// The choke point: everything that computes goes through `run`. Tracing, NaN checks and error text
// live here, once.
#pragma once

#include <string>

#include "core/runtime/call.h"
#include "core/runtime/kernel_table.h"

namespace dt {

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

template <class Call>
void run(Op<Call> op, const Call& call) {
  const auto ints = call.ints();
  const auto floats = call.floats();
  run(op.number, call.outs(), call.ins(), {ints.data(), static_cast<int64_t>(ints.size())},
      {floats.data(), static_cast<int64_t>(floats.size())});
}

template <class Call>
bool run_shortcut(Op<Call> op, const Call& call) {
  const auto ints = call.ints();
  const auto floats = call.floats();
  return run_shortcut(op.number, call.outs(), call.ins(),
                      {ints.data(), static_cast<int64_t>(ints.size())},
                      {floats.data(), static_cast<int64_t>(floats.size())});
}

// PyTorch's sentence about an index that a kernel found out of range.
std::string index_error(int op, const dt_call& call, const dt_fault& fault);

}  // namespace dt
