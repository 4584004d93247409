// The hidden states of all steps.
#pragma once

#include "kernels/cpu/recurrent_steps.h"

namespace dt::cpu {
namespace {

// Of one element: the gates' blocks are n long.

template <class T>
void lstm_forward(T* __restrict gates, T* __restrict h, T* __restrict c, T* __restrict y,
                  int64_t n) {
  map_row<Sigmoid>(gates, 2 * n);  // input, forget
  map_row<Tanh>(gates + 2 * n, n);
  map_row<Sigmoid>(gates + 3 * n, n);  // output
  for (int64_t j = 0; j < n; ++j) h[j] = c[j] = gates[n + j] * c[j] + gates[j] * gates[2 * n + j];
  map_row<Tanh>(h, n);
  for (int64_t j = 0; j < n; ++j) y[j] = h[j] *= gates[3 * n + j];
}

template <class T>
void gru_forward(T* __restrict gates, T* __restrict h, T* __restrict y, int64_t n) {
  map_row<Sigmoid>(gates, 2 * n);  // reset, update
  for (int64_t j = 0; j < n; ++j) gates[2 * n + j] += gates[j] * gates[3 * n + j];
  map_row<Tanh>(gates + 2 * n, n);
  for (int64_t j = 0; j < n; ++j)
    y[j] = h[j] = gates[2 * n + j] + gates[n + j] * (h[j] - gates[2 * n + j]);
}

template <class T>
void plain_forward(int64_t activation, T* __restrict gates, T* __restrict h, T* __restrict y,
                   int64_t n) {
  activation == DT_ACTIVATE_RELU ? map_row<Relu>(gates, n) : map_row<Tanh>(gates, n);
  for (int64_t j = 0; j < n; ++j) y[j] = h[j] = gates[j];
}

template <class T>
struct RecurrentForward {
  static constexpr bool kMultipliesFirst = true;

  const calls::Recurrent& call;
  const RecurrentShape shape;
  const int64_t hidden, together;  // the products that lie side by side: a GRU's third lies apart
  Workspace workspace;
  const PackedFactor<T> factor, third;

  // Once for the call and for the question how much memory it wants.
  __attribute__((noinline)) explicit RecurrentForward(const calls::Recurrent& call)
      : call(call),
        shape(call.h, call.gates, call.weight, call.batch_sizes, call.reverse),
        hidden(shape.hidden),
        together(shape.cell == Cell::kGru ? 2 * hidden : shape.products()),
        workspace(call.workspace),
        factor(hidden, together, &workspace),
        third(hidden, shape.products() - together, &workspace) {}

  void pack(int64_t block) const {
    const T* const weight = data<const T>(call.weight);
    factor.pack(weight, true, block);
    third.pack(weight + together * hidden, true, block);
  }

  void multiply(const StepPart& at, int64_t part, int64_t parts) const {
    const T* const h = data<T>(call.h) + at.first * hidden;
    T* const gates = data<T>(call.gates) + at.element * shape.gates();
    factor.multiply_add(at.n, h, hidden, gates, shape.gates(), part, parts);
    third.multiply_add(at.n, h, hidden, gates + 3 * hidden, shape.gates(), part, parts);
  }

  void update(int64_t element, int64_t sequence) const {
    const int64_t at = element * hidden;
    T* const gates = data<T>(call.gates) + element * shape.gates();
    T* const h = data<T>(call.h) + sequence * hidden;
    T* const y = data<T>(call.y) + at;
    if (call.before) copy_row(data<T>(*call.before) + at, h, hidden);
    if (shape.cell == Cell::kGru) return gru_forward(gates, h, y, hidden);
    if (shape.cell == Cell::kPlain) return plain_forward(call.activation, gates, h, y, hidden);
    T* const c = data<T>(*call.c) + sequence * hidden;
    if (call.cells_before) copy_row(data<T>(*call.cells_before) + at, c, hidden);
    lstm_forward(gates, h, c, y, hidden);
  }
};

}  // namespace
}  // namespace dt::cpu
