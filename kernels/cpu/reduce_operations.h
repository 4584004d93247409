// The operations of reductions to values.
#pragma once

#include "kernels/cpu/lanes.h"

namespace dt::cpu {
namespace {

// What every engine calls from several places is kept out of line: there are many engines.
#define DT_NOINLINE __attribute__((noinline))

// What an operation knows of some elements of an output is a state of kParts values of type T. The
// states of `width` outputs lie part after part: part p of output j is state[p * width + j]. Part 0
// becomes the result. An operation has
//
//   clear(state, width): the states of no elements.
//   add_spans(state, x, row_stride, rows, n, is_far): writes the states of `rows` outputs anew,
//     output r's of the n contiguous elements from x + r * row_stride on. is_far: they are in no
//     cache.
//   add_rows(state, width, x, row_stride, rows, seen, is_far): adds one element of each of `rows`
//     rows to the state of each output, column j's to output j's; each state has `seen` elements
//     before.
//   merge(into, into_count, from, from_count, width): `into` becomes the states of the elements of
//     both, of which those of `from` come later.

// One value per output, combined by an associative operation.
template <class Op>
struct Fold {
  using Operation = Op;
  using T = typename Op::Value;
  static constexpr int kParts = 1;

  static void clear(T* state, int64_t width) {
    for (int64_t j = 0; j < width; ++j) state[j] = Op::kIdentity;
  }
  template <class From, class Transform = Unchanged>
  DT_NOINLINE static void add_spans(T* state, const From* x, int64_t row_stride, int64_t rows,
                                    int64_t n, bool is_far,
                                    const Transform& transform = Transform()) {
    reduce_spans<Op>(state, x, row_stride, rows, n, is_far, transform);
  }
  DT_NOINLINE static void add_rows(T* state, int64_t width, const T* x, int64_t row_stride,
                                   int64_t rows, int64_t /*seen*/, bool is_far) {
    reduce_rows<Op>(state, x, row_stride, rows, width, is_far);
  }
  DT_NOINLINE static void merge(T* into, int64_t /*into_count*/, const T* from,
                                int64_t /*from_count*/, int64_t width) {
    for (int64_t j = 0; j < width; ++j) into[j] = Op::apply(into[j], from[j]);
  }
};

// Mean and sum of squared deviations. Deviations are taken from the mean of the elements so far,
// never from 0, so a large mean costs no digits (Welford; Chan, Golub and LeVeque for the merge).
struct Deviations {
  using T = double;
  static constexpr int kParts = 2;

  static void clear(double* state, int64_t width) {
    for (int64_t j = 0; j < 2 * width; ++j) state[j] = 0;
  }
  static void add_spans(double* state, const double* x, int64_t row_stride, int64_t rows, int64_t n,
                        bool is_far) {
    reduce_spans<Sum<double>>(state, x, row_stride, rows, n, is_far);
    for (int64_t r = 0; r < rows; ++r) {
      const double mean = state[r] / static_cast<double>(n);
      const auto squared = [mean](auto v) { return (v - mean) * (v - mean); };
      state[r] = mean;
      state[rows + r] = reduce_span<Sum<double>>(x + r * row_stride, n, squared);
    }
  }
  static void add_rows(double* state, int64_t width, const double* x, int64_t row_stride,
                       int64_t rows, int64_t seen, bool /*is_far*/) {
    double* mean = state;
    double* squares = state + width;
    for (int64_t r = 0; r < rows; ++r, x += row_stride) {
      const double weight = 1.0 / static_cast<double>(seen + r + 1);
      for (int64_t j = 0; j < width; ++j) {
        const double delta = x[j] - mean[j];
        mean[j] += delta * weight;
        squares[j] += delta * (x[j] - mean[j]);
      }
    }
  }
  DT_NOINLINE static void merge(double* into, int64_t into_count, const double* from,
                                int64_t from_count, int64_t width) {
    const double n = static_cast<double>(into_count + from_count);
    const double weight = static_cast<double>(from_count) / n;
    const double spread = static_cast<double>(into_count) * weight;
    for (int64_t j = 0; j < width; ++j) {
      const double delta = from[j] - into[j];
      into[j] += delta * weight;
      into[width + j] += from[width + j] + delta * delta * spread;
    }
  }
};

}  // namespace
}  // namespace dt::cpu
