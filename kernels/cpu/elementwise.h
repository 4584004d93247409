// How an elementwise op runs on the CPU.
//
// The op itself is a *tile function*: a plain loop over contiguous rows of one arithmetic type,
// compiled per op and type (pointwise_kernel.h). The executor (elementwise.cpp), compiled once,
// cuts a call of any strides and dtypes into tiles that fit in L1, hands the tile function pointers
// into the tensors where they are usable as they are, and otherwise copies through small buffers
// (tile_move.h). A fused program would be a list of tile functions between the same loads and
// stores.
#pragma once

#include "kernels/calls/pointwise.h"
#include "kernels/cpu/common.h"

namespace dt::cpu {

enum { kMaxElementwiseIn = 6, kMaxElementwiseOut = 3 };

// What a tile function works on: `rows` rows of n elements each. A row's elements are contiguous,
// except that an operand in the scalar form has one element per row. Row strides count elements.
struct Tile {
  int64_t rows, n;
  void* out;
  int64_t out_row;
  const void* in[kMaxElementwiseIn];
  int64_t in_row[kMaxElementwiseIn];
  const void* parameters;  // the op's scalar attributes, in the arithmetic type
};

typedef void TileFunction(const Tile& tile);

// The forms that an op of two inputs is compiled in; other ops have kVectors alone.
enum Form { kVectors, kSecondScalar, kFirstScalar, kForms };

// The form in which an input is the scalar.
inline int scalar_form(int input) {
  return input == 0 ? kFirstScalar : kSecondScalar;
}

struct Elementwise {
  TileFunction* function[kMaxElementwiseOut][kForms];
  int n_in, n_out;
  int32_t in_dtype[kMaxElementwiseIn];  // what the tile functions read
  int32_t out_dtype;                    // and write
  int32_t cycles;                       // estimated cost of eight elements, memory traffic included
  const void* parameters;
};

// Runs the op over its outputs and inputs: see kernels/calls/pointwise.h.
int32_t run_elementwise(const dt_stream* stream, const dt_view* out, const dt_view* in,
                        const Elementwise& op);

// A formula of integers that has tile functions of narrow ones besides those of arithmetic types.
struct NarrowFormula {
  int n_in;
  unsigned bool_in;  // the inputs that are conditions
  bool bool_out, takes_bool;
  TileFunction *on_unsigned_bytes, *on_signed_bytes, *on_shorts;
};

// Runs a call all of whose operands are of one narrow integer dtype, conditions apart. False if
// they are not.
bool run_narrow(const dt_stream* stream, const calls::Pointwise& call,
                const NarrowFormula& formula);

// A formula that has tile functions of 16-bit floats: of these alone, and where the operands that
// `numbers` has a bit for are numbers; either may be absent. They calculate with floats, as which
// numbers come.
enum { kMaxHalfIn = 3 };
struct HalfTiles {
  TileFunction *of_halves, *of_numbers;
};
struct HalfFormula {
  int n_in;
  unsigned numbers;
  int32_t cycles;
  HalfTiles on_float16, on_bfloat16;
};

// Runs a call all of whose operands are of one such dtype, or numbers. False if they are not.
bool run_halves(const dt_stream* stream, const calls::Pointwise& call, const HalfFormula& formula);

// A row of such a tile; and what calls it for each row, and with whole vectors for elements `done`
// to n, that a row ends with.
typedef void HalfRow(void* out, const void* const* in, const float* parameters, int64_t n);
void run_half_rows(HalfRow* row, int n_in, unsigned numbers, const Tile& tile);
void run_last_halves(HalfRow* row, int n_in, unsigned numbers, void* out, const void* const* in,
                     const float* parameters, int64_t done, int64_t n);

// The tile function that converts from one dtype to another: integers wrap, floating numbers
// truncate, anything nonzero is true.
TileFunction* conversion(int32_t from, int32_t to);

}  // namespace dt::cpu
