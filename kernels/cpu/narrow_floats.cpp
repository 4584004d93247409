// Elementwise calls of 16-bit floats, without passes over buffers of floats.
#include <string.h>

#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/halves.h"

namespace dt::cpu {
namespace {

bool is_number(unsigned numbers, int input) {
  return (numbers >> input & 1) != 0;
}

// Which operands are numbers; *fits if the others are of the output's dtype.
unsigned numbers_of(const calls::Pointwise& call, int n_in, bool* fits) {
  unsigned numbers = 0;
  *fits = true;
  for (int i = 0; i < n_in; ++i) {
    if (call.inputs[i].immediate) {
      numbers |= 1u << i;
    } else {
      *fits &= call.inputs[i].dtype == call.outputs.data->dtype;
    }
  }
  return numbers;
}

}  // namespace

void run_half_rows(HalfRow* row, int n_in, unsigned numbers, const Tile& tile) {
  constexpr int64_t kBytes = sizeof(uint16_t);
  for (int64_t r = 0; r < tile.rows; ++r) {
    const void* in[kMaxHalfIn];
    for (int k = 0; k < n_in; ++k) {
      const int64_t bytes = is_number(numbers, k) ? int64_t{sizeof(float)} : kBytes;
      in[k] = static_cast<const char*>(tile.in[k]) + r * tile.in_row[k] * bytes;
    }
    row(static_cast<char*>(tile.out) + r * tile.out_row * kBytes, in,
        static_cast<const float*>(tile.parameters), tile.n);
  }
}

void run_last_halves(HalfRow* row, int n_in, unsigned numbers, void* out, const void* const* in,
                     const float* parameters, int64_t done, int64_t n) {
  const size_t bytes = static_cast<size_t>(n - done) * sizeof(uint16_t);
  uint16_t x[kMaxHalfIn][kHalves] = {}, y[kHalves];
  const void* vectors[kMaxHalfIn];
  for (int k = 0; k < n_in; ++k) {
    vectors[k] = is_number(numbers, k) ? in[k] : x[k];
    if (!is_number(numbers, k)) memcpy(x[k], static_cast<const uint16_t*>(in[k]) + done, bytes);
  }
  row(y, vectors, parameters, kHalves);
  memcpy(static_cast<uint16_t*>(out) + done, y, bytes);
}

bool run_halves(const dt_stream* stream, const calls::Pointwise& call, const HalfFormula& formula) {
  const bool brain = call.outputs.data->dtype == dtype_of<BFloat16>;
  if (!brain && call.outputs.data->dtype != dtype_of<Float16>) return false;
  const HalfTiles& tiles = brain ? formula.on_bfloat16 : formula.on_float16;
  bool fits;
  const unsigned numbers = numbers_of(call, formula.n_in, &fits);
  const bool exists = numbers == 0 ? tiles.of_halves != nullptr : numbers == formula.numbers;
  if (!fits || !exists) return false;
  Elementwise op;
  // Of two operands the second may be one number for a row. Numbers among three are spread out.
  const bool has_scalar = numbers != 0 && formula.n_in == 2;
  op.function[0][kVectors] = numbers == 0 || has_scalar ? tiles.of_halves : tiles.of_numbers;
  op.function[0][kSecondScalar] = has_scalar ? tiles.of_numbers : nullptr;
  op.function[0][kFirstScalar] = nullptr;
  op.n_in = formula.n_in;
  op.n_out = 1;
  for (int i = 0; i < op.n_in; ++i)
    op.in_dtype[i] = call.inputs[i].immediate ? dtype_of<float> : call.outputs.data->dtype;
  op.out_dtype = call.outputs.data->dtype;
  op.cycles = 2 * (op.n_in + 1) + formula.cycles;
  float parameters[calls::PointwiseAttributes::kMax];
  for (int i = 0; i < call.n_attributes; ++i) parameters[i] = static_cast<float>(call.real(i));
  op.parameters = parameters;
  run_elementwise(stream, call.outputs.data, call.inputs.data, op);
  return true;
}

}  // namespace dt::cpu
