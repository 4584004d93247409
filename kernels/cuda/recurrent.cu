// One direction of a recurrent layer, step after step: a product, whose result lies in scratch
// memory, and a kernel that makes of it what the step gives. The host knows how many sequences each
// step has.
#include "kernels/activation.gen.h"
#include "kernels/calls/recurrent.gen.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/matmul.h"
#include "kernels/cuda/operands.cuh"
#include "kernels/cuda/scratch.h"
#include "kernels/math.h"
#include "kernels/recurrent_shape.h"

namespace dt::cuda {
namespace {

constexpr int kThreads = 128;

template <Cell kCell>
constexpr int kGateBlocks = gate_blocks(kCell);
template <Cell kCell>
constexpr int kProductBlocks = product_blocks(kCell);

// Of a step: thread i works on feature i % hidden of sequence i / hidden.
struct Step {
  int64_t element, count;  // its first element; sequences times features
  int hidden;

  dim3 blocks() const { return dim3(static_cast<unsigned>(divide_up(count, kThreads))); }
};

MatrixProduct product(int32_t dtype, int64_t m, int64_t n, int64_t k, Matrix a, Matrix b,
                      Matrix y) {
  return {dtype, 1, m, n, k, 1, 0, a, b, y, {}, DT_ACTIVATE_NONE};
}

// ---- forward

template <class T>
struct ForwardStep : Step {
  T *gates, *y, *h, *c, *before, *cells_before;  // before and cells_before may be null
  const T* products;                             // hidden state @ weight^T
  int activation;
};

template <class T, Cell kCell>
__global__ void __launch_bounds__(kThreads) forward_step(ForwardStep<T> s) {
  begin_kernel();
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= s.count) return;
  const int n = s.hidden, j = static_cast<int>(i % n);
  const int64_t sequence = i / n, at = s.element * n + i;
  const T h = s.h[i];
  if (s.before) s.before[at] = h;
  T* const gates = s.gates + (s.element + sequence) * kGateBlocks<kCell> * n + j;
  const T* const p = s.products + sequence * kProductBlocks<kCell> * n + j;
  T next;
  if constexpr (kCell == Cell::kPlain) {
    gates[0] = next = activate(s.activation, gates[0] + p[0]);
  } else if constexpr (kCell == Cell::kGru) {
    const T reset = math::sigmoid(gates[0] + p[0]), update = math::sigmoid(gates[n] + p[n]);
    const T third = gates[3 * n] + p[2 * n];
    const T candidate = math::tanh(gates[2 * n] + reset * third);
    gates[0] = reset, gates[n] = update, gates[2 * n] = candidate, gates[3 * n] = third;
    next = candidate + update * (h - candidate);
  } else {
    const T input = math::sigmoid(gates[0] + p[0]), forget = math::sigmoid(gates[n] + p[n]);
    const T cell = math::tanh(gates[2 * n] + p[2 * n]),
            output = math::sigmoid(gates[3 * n] + p[3 * n]);
    gates[0] = input, gates[n] = forget, gates[2 * n] = cell, gates[3 * n] = output;
    const T c = s.c[i];
    if (s.cells_before) s.cells_before[at] = c;
    s.c[i] = forget * c + input * cell;
    next = output * math::tanh(s.c[i]);
  }
  s.h[i] = s.y[at] = next;
}

template <class T>
int32_t launch_forward(const dt_stream* stream, Cell cell, const ForwardStep<T>& s) {
  constexpr auto kPlain = forward_step<T, Cell::kPlain>;
  const auto kernel = cell == Cell::kLstm  ? forward_step<T, Cell::kLstm>
                      : cell == Cell::kGru ? forward_step<T, Cell::kGru>
                                           : kPlain;
  return launch(stream, kernel, s.blocks(), kThreads, 0, s);
}

// The hidden states of n sequences times the transposed weight.
MatrixProduct forward_product(const calls::Recurrent& call, const RecurrentShape& s, int64_t n,
                              void* y) {
  return product(call.h.dtype, n, s.products(), s.hidden, {call.h.data, 0, s.hidden, 1},
                 {call.weight.data, 0, 1, s.hidden}, {y, 0, s.products(), 1});
}

// ---- backward

template <class T>
struct BackwardStep : Step {
  T *ggates, *ghidden, *gh, *gc;  // ghidden of a GRU, gc of an LSTM
  const T *g, *gates, *before, *cells_before;
  const T* through;       // what has come through the weight from the step taken before, of the
  int64_t through_count;  // first of its sequences
  int activation;
};

template <class T, Cell kCell>
__global__ void __launch_bounds__(kThreads) backward_step(BackwardStep<T> s) {
  begin_kernel();
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= s.count) return;
  const int n = s.hidden, j = static_cast<int>(i % n);
  const int64_t element = s.element + i / n, at = s.element * n + i;
  T gh = s.gh[i];
  if (i < s.through_count) gh += s.through[i];
  if (s.g) gh += s.g[at];
  const T* const gates = s.gates + element * kGateBlocks<kCell> * n + j;
  T* const to = s.ggates + element * kProductBlocks<kCell> * n + j;
  if constexpr (kCell == Cell::kPlain) {
    const T y = gates[0];
    to[0] = s.activation == DT_ACTIVATE_RELU ? (y > T(0) ? gh : T(0)) : gh * (T(1) - y * y);
    s.gh[i] = 0;
  } else if constexpr (kCell == Cell::kGru) {
    const T reset = gates[0], update = gates[n], candidate = gates[2 * n], third = gates[3 * n];
    T* const to_hidden = s.ghidden + element * kProductBlocks<kCell> * n + j;
    const T c = gh * (T(1) - update) * (T(1) - candidate * candidate);
    to[0] = to_hidden[0] = c * third * (reset * (T(1) - reset));
    to[n] = to_hidden[n] = gh * (s.before[at] - candidate) * (update * (T(1) - update));
    to[2 * n] = c;
    to_hidden[2 * n] = c * reset;
    s.gh[i] = gh * update;
  } else {
    const T input = gates[0], forget = gates[n], cell = gates[2 * n], output = gates[3 * n];
    const T before = s.cells_before[at], squashed = math::tanh(forget * before + input * cell);
    const T c = gh * output * (T(1) - squashed * squashed) + s.gc[i];
    to[0] = c * cell * (input * (T(1) - input));
    to[n] = c * before * (forget * (T(1) - forget));
    to[2 * n] = c * input * (T(1) - cell * cell);
    to[3 * n] = gh * squashed * (output * (T(1) - output));
    s.gc[i] = c * forget;
    s.gh[i] = 0;
  }
}

// For sequences that have no further step.
template <class T>
__global__ void __launch_bounds__(kThreads) add_through(T* gh, const T* through, int64_t count) {
  begin_kernel();
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i < count) gh[i] += through[i];
}

template <class T>
int32_t launch_backward(const dt_stream* stream, Cell cell, const BackwardStep<T>& s) {
  constexpr auto kPlain = backward_step<T, Cell::kPlain>;
  const auto kernel = cell == Cell::kLstm  ? backward_step<T, Cell::kLstm>
                      : cell == Cell::kGru ? backward_step<T, Cell::kGru>
                                           : kPlain;
  return launch(stream, kernel, s.blocks(), kThreads, 0, s);
}

// The gradients of n elements' products times the weight.
MatrixProduct backward_product(const calls::RecurrentBackward& call, const RecurrentShape& s,
                               int64_t element, int64_t n, void* y) {
  const dt_view& sides = call.ghidden ? *call.ghidden : call.ggates;
  char* const first =
      static_cast<char*>(sides.data) + element * s.products() * bytes_of(sides.dtype);
  return product(call.gh.dtype, n, s.hidden, s.products(), {first, 0, s.products(), 1},
                 {call.weight.data, 0, s.hidden, 1}, {y, 0, s.hidden, 1});
}

// ---- scratch memory: the products of a step, and what computing them takes

template <class ProductOf>
int64_t product_bytes(const dt_stream* stream, const RecurrentShape& s,
                      const ProductOf& product_of) {
  int64_t most = 0;
  for (int64_t i = 0; i < s.steps; ++i) {
    if (i > 0 && s.batch_sizes[i] == s.batch_sizes[i - 1]) continue;
    const int64_t bytes = multiply_workspace(stream, product_of(s.batch_sizes[i]));
    most = bytes > most ? bytes : most;
  }
  return most;
}

RecurrentShape shape_of(const calls::Recurrent& call) {
  return RecurrentShape(call.h, call.gates, call.weight, call.batch_sizes, call.reverse);
}
RecurrentShape shape_of(const calls::RecurrentBackward& call) {
  return RecurrentShape(call.gh, call.gates, call.weight, call.batch_sizes, !call.reverse);
}

template <class T>
int32_t run_forward(const dt_stream* stream, const calls::Recurrent& call) {
  const RecurrentShape shape = shape_of(call);
  Scratch scratch(call.workspace);
  T* const products = scratch.take<T>(shape.batch * shape.products());
  void* const rest = scratch.take<char>(0);
  ForwardStep<T> s = {};
  s.hidden = static_cast<int>(shape.hidden);
  s.gates = static_cast<T*>(call.gates.data);
  s.y = static_cast<T*>(call.y.data);
  s.h = static_cast<T*>(call.h.data);
  s.c = optional_data<T>(call.c);
  s.before = optional_data<T>(call.before);
  s.cells_before = optional_data<T>(call.cells_before);
  s.products = products;
  s.activation = call.activation;
  return shape.for_each_step([&](int64_t element, int64_t n) {
    const int32_t code = multiply(stream, forward_product(call, shape, n, products), rest);
    if (code != DT_KERNEL_OK) return code;
    s.element = element, s.count = n * shape.hidden;
    return launch_forward(stream, shape.cell, s);
  });
}

template <class T>
int32_t run_backward(const dt_stream* stream, const calls::RecurrentBackward& call) {
  const RecurrentShape shape = shape_of(call);
  Scratch scratch(call.workspace);
  T* const through = scratch.take<T>(shape.batch * shape.hidden);
  void* const rest = scratch.take<char>(0);
  BackwardStep<T> s = {};
  s.hidden = static_cast<int>(shape.hidden);
  s.ggates = static_cast<T*>(call.ggates.data);
  s.ghidden = optional_data<T>(call.ghidden);
  s.gh = static_cast<T*>(call.gh.data);
  s.gc = optional_data<T>(call.gc);
  s.g = optional_data<const T>(call.g);
  s.gates = static_cast<const T*>(call.gates.data);
  s.before = optional_data<const T>(call.before);
  s.cells_before = optional_data<const T>(call.cells_before);
  s.through = through;
  s.activation = call.activation;
  // Adds what has come through the weight for features from `first` on.
  const auto finish_from = [&](int64_t first) -> int32_t {
    const int64_t count = s.through_count - first;
    if (count <= 0) return DT_KERNEL_OK;
    const auto blocks = static_cast<unsigned>(divide_up(count, kThreads));
    return launch(stream, add_through<T>, blocks, kThreads, 0, s.gh + first,
                  static_cast<const T*>(through) + first, count);
  };
  const int32_t code = shape.for_each_step([&](int64_t element, int64_t n) {
    s.element = element, s.count = n * shape.hidden;
    if (const int32_t result = finish_from(s.count)) return result;
    if (const int32_t result = launch_backward(stream, shape.cell, s)) return result;
    s.through_count = s.count;
    return multiply(stream, backward_product(call, shape, element, n, through), rest);
  });
  return code == DT_KERNEL_OK ? finish_from(0) : code;
}

template <class T>
int64_t scratch_bytes(int64_t elements) {
  Scratch scratch(nullptr);
  scratch.take<T>(elements);
  return scratch.used();
}

}  // namespace

int32_t kernels::recurrent(const dt_stream* stream, const calls::Recurrent& call) {
  return visit_floating(call.y.dtype, [&](auto type) {
    return run_forward<typename decltype(type)::type>(stream, call);
  });
}

int64_t kernels::recurrent_workspace(const dt_stream* stream, const calls::Recurrent& call) {
  const RecurrentShape s = shape_of(call);
  return scratch_bytes<double>(s.batch * s.products()) + product_bytes(stream, s, [&](int64_t n) {
           return forward_product(call, s, n, call.y.data);
         });
}

int32_t kernels::recurrent_backward(const dt_stream* stream, const calls::RecurrentBackward& call) {
  return visit_floating(call.gh.dtype, [&](auto type) {
    return run_backward<typename decltype(type)::type>(stream, call);
  });
}

int64_t kernels::recurrent_backward_workspace(const dt_stream* stream,
                                              const calls::RecurrentBackward& call) {
  const RecurrentShape s = shape_of(call);
  return scratch_bytes<double>(s.batch * s.hidden) + product_bytes(stream, s, [&](int64_t n) {
           return backward_product(call, s, 0, n, call.gh.data);
         });
}

}  // namespace dt::cuda
