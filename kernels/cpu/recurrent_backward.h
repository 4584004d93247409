// The gradients of all steps, from the last one taken to the first.
#pragma once

#include "kernels/cpu/recurrent_steps.h"

namespace dt::cpu {
namespace {

// Of one element. gh is the gradient of its hidden state and becomes what reaches the one before
// otherwise than through products; `to` are the gradients of the gates' sums.

template <class T>
void lstm_backward(T* __restrict to, T* __restrict gh, T* __restrict gc, const T* __restrict gates,
                   const T* __restrict before, int64_t n) {
  const T *const input = gates, *const forget = gates + n, *const cell = gates + 2 * n,
                 *const output = gates + 3 * n;
  T* const squashed = to + 3 * n;  // tanh(c)
  for (int64_t j = 0; j < n; ++j) squashed[j] = forget[j] * before[j] + input[j] * cell[j];
  map_row<Tanh>(squashed, n);
  for (int64_t j = 0; j < n; ++j) {
    const T c = Tanh::gradient(gh[j] * output[j], squashed[j]) + gc[j];
    to[j] = Sigmoid::gradient(c * cell[j], input[j]);
    to[n + j] = Sigmoid::gradient(c * before[j], forget[j]);
    to[2 * n + j] = Tanh::gradient(c * input[j], cell[j]);
    squashed[j] = Sigmoid::gradient(gh[j] * squashed[j], output[j]);
    gc[j] = c * forget[j];
    gh[j] = 0;
  }
}

template <class T>
void gru_backward(T* __restrict to, T* __restrict to_hidden, T* __restrict gh,
                  const T* __restrict gates, const T* __restrict before, int64_t n) {
  const T *const reset = gates, *const update = gates + n, *const candidate = gates + 2 * n,
                 *const product = gates + 3 * n;
  for (int64_t j = 0; j < n; ++j) {
    const T c = Tanh::gradient(gh[j] * (T(1) - update[j]), candidate[j]);
    to[j] = to_hidden[j] = Sigmoid::gradient(c * product[j], reset[j]);
    to[n + j] = to_hidden[n + j] = Sigmoid::gradient(gh[j] * (before[j] - candidate[j]), update[j]);
    to[2 * n + j] = c;
    to_hidden[2 * n + j] = c * reset[j];
    gh[j] *= update[j];
  }
}

template <class F, class T>
void plain_backward(T* __restrict to, T* __restrict gh, const T* __restrict gates, int64_t n) {
  for (int64_t j = 0; j < n; ++j) {
    to[j] = F::gradient(gh[j], gates[j]);
    gh[j] = 0;
  }
}

template <class T>
struct RecurrentBackward {
  static constexpr bool kMultipliesFirst = false;

  const calls::RecurrentBackward& call;
  const RecurrentShape shape;
  const int64_t hidden;
  Workspace workspace;
  const PackedFactor<T> factor;

  // Once for the call and for the question how much memory it wants.
  __attribute__((noinline)) explicit RecurrentBackward(const calls::RecurrentBackward& call)
      : call(call),
        shape(call.gh, call.gates, call.weight, call.batch_sizes, !call.reverse),
        hidden(shape.hidden),
        workspace(call.workspace),
        factor(shape.products(), hidden, &workspace) {}

  void pack(int64_t block) const { factor.pack(data<const T>(call.weight), false, block); }

  void update(int64_t element, int64_t sequence) const {
    const int64_t at = element * hidden, n = hidden;
    const T* const gates = data<const T>(call.gates) + element * shape.gates();
    T* const to = data<T>(call.ggates) + element * shape.products();
    T* const gh = data<T>(call.gh) + sequence * n;
    if (call.g) add_row(gh, data<const T>(*call.g) + at, n);
    if (shape.cell == Cell::kPlain) {
      return call.activation == DT_ACTIVATE_RELU ? plain_backward<Relu>(to, gh, gates, n)
                                                 : plain_backward<Tanh>(to, gh, gates, n);
    }
    if (shape.cell == Cell::kGru)
      return gru_backward(to, hidden_side(element), gh, gates, data<const T>(*call.before) + at, n);
    lstm_backward(to, gh, data<T>(*call.gc) + sequence * n, gates,
                  data<const T>(*call.cells_before) + at, n);
  }

  void multiply(const StepPart& at, int64_t part, int64_t parts) const {
    factor.multiply_add(at.n, hidden_side(at.element), shape.products(),
                        data<T>(call.gh) + at.first * hidden, hidden, part, parts);
  }

 private:
  // The gradients that go through the weight.
  T* hidden_side(int64_t element) const {
    return data<T>(call.ghidden ? *call.ghidden : call.ggates) + element * shape.products();
  }

  static void add_row(T* __restrict y, const T* __restrict x, int64_t n) {
    for (int64_t j = 0; j < n; ++j) y[j] += x[j];
  }
};

}  // namespace
}  // namespace dt::cpu
