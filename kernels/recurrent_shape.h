// What the steps of a recurrent layer are, on both backends.
#pragma once

#include "kernels/abi.h"

namespace dt {

// What the elements of a step are made by: how many blocks of `hidden` columns its product has, and
// what is kept of the gates.
enum class Cell { kPlain, kGru, kLstm };

constexpr int product_blocks(Cell cell) {
  return cell == Cell::kPlain ? 1 : cell == Cell::kGru ? 3 : 4;
}
constexpr int gate_blocks(Cell cell) {
  return cell == Cell::kPlain ? 1 : 4;
}

// The elements of a call: batch_sizes[t] of them in step t, all of the first step first.
struct RecurrentShape {
  Cell cell;
  const int64_t* batch_sizes;
  int64_t steps, elements, batch, hidden;
  bool from_end;  // the order of steps

  __attribute__((noinline))
  RecurrentShape(const dt_view& states, const dt_view& gates, const dt_view& weight,
                 const dt_view& batch_sizes, bool from_end)
      : cell(weight.sizes[0] == weight.sizes[1]       ? Cell::kPlain
             : weight.sizes[0] == 3 * weight.sizes[1] ? Cell::kGru
                                                      : Cell::kLstm),
        batch_sizes(static_cast<const int64_t*>(batch_sizes.data)),
        steps(batch_sizes.sizes[0]),
        elements(gates.sizes[0]),
        batch(states.sizes[0]),
        hidden(states.sizes[1]),
        from_end(from_end) {}

  // Columns of what is multiplied by the weight, and of what is kept of the gates.
  int64_t products() const { return product_blocks(cell) * hidden; }
  int64_t gates() const { return gate_blocks(cell) * hidden; }

  // body(first element, elements) of each step, until one does not return DT_KERNEL_OK.
  template <class Body>
  int32_t for_each_step(const Body& body) const {
    int64_t element = from_end ? elements : 0;
    for (int64_t i = 0; i < steps; ++i) {
      const int64_t n = batch_sizes[from_end ? steps - 1 - i : i];
      if (from_end) element -= n;
      if (const int32_t code = body(element, n)) return code;
      if (!from_end) element += n;
    }
    return DT_KERNEL_OK;
  }
};

}  // namespace dt
