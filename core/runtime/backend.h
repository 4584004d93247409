// The choke point: everything that computes goes through `run`. Tracing, NaN checks and error text
// live here, once.
#pragma once

#include <string>

#include "core/runtime/call.h"
#include "core/runtime/kernel_table.h"

namespace dt {

inline constexpr int64_t kUnitStride = 1;  // of a run of elements

// Whether DT_TRACE asks for a line about each call.
bool is_tracing();

// Throws PyTorch's sentence if the devices differ.
void check_same_device(Device first, Device second);

// A call in the words of kernels/abi.h, whatever its type.
struct CallSpans {
  Span<const View> outputs, inputs;
  IntList ints;
  Floats floats;
};
// Returns false where a backend declines a shortcut, with nothing computed.
bool run_spans(int op, const CallSpans& spans, bool is_shortcut);
// Whether the kernels of an op take float16 and bfloat16 as they are; `run` widens for the others.
bool takes_narrow_floats(int op, Device device);
// Whether they keep some of what is in their outputs, or read it.
bool updates_outputs(int op);
// PyTorch's error, and its sentence, about an index that a kernel found out of range.
Code index_code(int op);
std::string index_error(int op, const dt_call& call, const dt_fault& fault);

template <class Call>
bool run_call(Op<Call> op, const Call& call, bool is_shortcut) {
  const auto ints = call.ints();
  const auto floats = call.floats();
  const CallSpans spans = {call.outs(),
                           call.ins(),
                           {ints.data(), static_cast<int64_t>(ints.size())},
                           {floats.data(), static_cast<int64_t>(floats.size())}};
  return run_spans(op.number, spans, is_shortcut);
}

// Runs the kernel of an op on the operands' device. Throws if the backend has none, or if it
// reports an error.
template <class Call>
void run(Op<Call> op, const Call& call) {
  run_call(op, call, false);
}

// The same for a shortcut, which a backend need not have for these operands, or at all. Then it
// returns false, with nothing computed.
template <class Call>
bool run_shortcut(Op<Call> op, const Call& call) {
  return run_call(op, call, true);
}

}  // namespace dt
