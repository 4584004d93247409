// How an elementwise call is cut into tiles, and how each operand gets to the tile function.
#pragma once

#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/tile_move.h"
#include "kernels/cpu/workers.h"

namespace dt::cpu {
namespace {

// A tile buffer: small enough for the buffers of an op to stay in L1, large enough for the cost of
// a call per tile to vanish.
constexpr int64_t kBufferBytes = 8192;
// Shorter rows are packed into one loop by way of buffers; rows at least this long get a loop of
// their own. With an operand of one element per row the limit is lower: to spread that out costs
// more. In elements of four bytes: of narrower ones a vector holds more.
constexpr int64_t kShortRow = 32, kShortRowOfOne = 17;
// A row of so many bytes, or a multiple, that needs no buffer is worth a loop of its own: with
// other lengths what is left behind its vectors takes longer.
constexpr int64_t kWholeRow = 64;
// Elements of a tile that needs no buffers, and cycles of a task, when threads share the work.
constexpr int64_t kGrain = 16384, kTaskCycles = 30000;
constexpr int kTasksPerThread = 16;
// Outputs of this size do not stay in the caches. Tiles are then short: while one is computed the
// next one's inputs are fetched, and the memory has little time to be idle. (tanh of 16M floats on
// one core: 19 ms with tiles of 8 KiB, 7.5 ms with these; written in place 10 ms.)
constexpr int64_t kStreamBytes = int64_t(32) << 20, kStreamTileBytes = 2048;

enum { kPlanDims = DT_MAX_DIMS + 3, kMaxOperands = kMaxElementwiseOut + kMaxElementwiseIn };

enum Access {
  kAbsent,
  kDirect,    // the tile function works on the tensor itself
  kScalar,    // one element per row, in the scalar form
  kConstant,  // the same in all tiles: copied to a buffer once per task
  kBuffered,  // copied for every tile
  kStreamed   // an output that is written past the caches, through a buffer
};

struct PlannedOperand {
  char* data;
  int64_t bytes;              // of an element in memory
  int64_t stride[kPlanDims];  // in bytes
  int64_t tile_stride[3];     // of the last three dimensions
  // Between the dtype in memory and the tile function's; NULL where they are the same.
  TileFunction* convert;
  Access access;
  bool immediate;
  uint64_t number;  // the value of an immediate operand, in the tile function's dtype

  BoxStrides tile_strides() const {
    return {tile_stride[0] / bytes, tile_stride[1] / bytes, tile_stride[2] / bytes};
  }
};

// The last three dimensions (planes, rows, elements) are cut into tiles of `step`; in the others a
// tile is 1 wide.
struct ElementwisePlan {
  const Elementwise* op;
  int n_operands;
  PlannedOperand operand[kMaxOperands];  // outputs first
  int form;
  int ndim;
  int64_t size[kPlanDims], step[kPlanDims];
  int order[kPlanDims];  // of the walk over tiles, fastest dimension first
  bool flat;             // a tile is one run of elements; otherwise rows
  bool blocked;    // an operand runs along the rows: tiles are blocks that suit both directions
  bool constants;  // there are kConstant operands
  bool gathers;    // an input is read straight into the output
  bool streams;    // there are kStreamed ones
  int64_t tiles, tasks;
};

// ---- operands

inline void add_operand(ElementwisePlan& plan, const dt_view& view, int32_t tile_dtype,
                        bool output) {
  PlannedOperand& x = plan.operand[plan.n_operands++];
  x.immediate = view.immediate != 0;
  x.access = view.dtype == 0 ? kAbsent : kBuffered;
  x.convert = nullptr;
  x.data = static_cast<char*>(view.data);
  x.bytes = bytes_of(x.immediate || view.dtype == 0 ? tile_dtype : view.dtype);
  if (x.immediate) {
    put_number(&x.number, tile_dtype, view);
    x.data = reinterpret_cast<char*>(&x.number);
  } else if (view.dtype != 0 && view.dtype != tile_dtype) {
    x.convert = output ? conversion(tile_dtype, view.dtype) : conversion(view.dtype, tile_dtype);
  }
  const int padding = plan.ndim - view.ndim;
  for (int d = 0; d < plan.ndim; ++d) {
    const bool real = !x.immediate && view.dtype != 0 && d >= padding && plan.size[d] > 1;
    x.stride[d] = real ? view.strides[d - padding] * x.bytes : 0;
  }
}

// Sizes, and all operands. False if there is nothing to do.
inline bool add_operands(ElementwisePlan& plan, const dt_view* out, const dt_view* in,
                         const Elementwise& op) {
  const dt_view* y = out;
  while (y->dtype == 0 && y < out + op.n_out - 1) ++y;
  const int padding = max(0, 3 - y->ndim);
  plan.ndim = y->ndim + padding;
  int64_t total = y->dtype == 0 ? 0 : 1;
  for (int d = 0; d < plan.ndim; ++d) {
    plan.size[d] = d < padding ? 1 : y->sizes[d - padding];
    total *= plan.size[d];
  }
  plan.n_operands = 0;
  for (int j = 0; j < op.n_out; ++j) add_operand(plan, out[j], op.out_dtype, true);
  for (int i = 0; i < op.n_in; ++i) add_operand(plan, in[i], op.in_dtype[i], false);
  return total > 0;
}

// ---- the dimensions of a tile

inline void move_dimension(ElementwisePlan& plan, int from, int to) {
  const auto rotate = [from, to](int64_t* values) {
    const int64_t moved = values[from];
    for (int d = from; d < to; ++d) values[d] = values[d + 1];
    values[to] = moved;
  };
  rotate(plan.size);
  for (int k = 0; k < plan.n_operands; ++k) rotate(plan.operand[k].stride);
}

// If an operand runs along another dimension than the last, that one becomes the tile's rows, so
// that the operand is read in blocks. Returns the operand's element size, or 0.
inline int64_t find_transposed(ElementwisePlan& plan) {
  const int last = plan.ndim - 1;
  if (plan.size[last] < 2) return 0;
  for (int k = plan.n_operands - 1; k >= 0; --k) {
    const PlannedOperand& x = plan.operand[k];
    if (x.access == kAbsent || x.stride[last] == 0 || x.stride[last] == x.bytes) continue;
    for (int d = last - 1; d >= 0; --d) {
      if (x.stride[d] != x.bytes || plan.size[d] < 4) continue;
      move_dimension(plan, d, last - 1);
      return x.bytes;
    }
  }
  return 0;
}

// Whether the operand's elements within a tile are one contiguous run.
inline bool is_dense(const ElementwisePlan& plan, const PlannedOperand& x) {
  int64_t run = x.bytes;
  for (int d = plan.ndim - 1; d >= plan.ndim - 3; --d) {
    if (plan.step[d] > 1 && x.stride[d] != run) return false;
    run *= plan.size[d];
  }
  return true;
}

// Whether the operand is the same in all tiles: it does not move in any direction that tiles are
// stepped along. In a plan by rows, one row must serve for all.
inline bool is_constant(const ElementwisePlan& plan, const PlannedOperand& x) {
  for (int d = 0; d < plan.ndim; ++d) {
    const bool stepped = plan.step[d] < plan.size[d] || (!plan.flat && d < plan.ndim - 1);
    if (stepped && x.stride[d] != 0) return false;
  }
  return true;
}

inline bool is_uniform(const ElementwisePlan& plan, const PlannedOperand& x) {
  for (int d = 0; d < plan.ndim; ++d) {
    if (x.stride[d] != 0) return false;
  }
  return true;
}

inline bool has_scalar_form(const Elementwise& op, int input) {
  return input < 2 && op.function[0][scalar_form(input)] != nullptr;
}

// Decides how inputs get to the tile function. Depends on plan.flat and plan.step.
inline void choose_input_access(ElementwisePlan& plan) {
  plan.form = kVectors;
  plan.constants = false;
  for (int i = plan.op->n_in - 1; i >= 0; --i) {
    PlannedOperand& x = plan.operand[plan.op->n_out + i];
    const bool one_per_row = plan.flat ? is_uniform(plan, x) : x.stride[plan.ndim - 1] == 0;
    const bool in_place = plan.flat ? is_dense(plan, x) : x.stride[plan.ndim - 1] == x.bytes;
    const bool may_be_scalar = plan.form == kVectors && has_scalar_form(*plan.op, i);
    if (x.convert == nullptr && one_per_row && may_be_scalar) {
      x.access = kScalar;
      plan.form = scalar_form(i);
    } else if (x.convert == nullptr && in_place) {
      x.access = kDirect;
    } else if (is_constant(plan, x)) {
      x.access = kConstant;
      plan.constants = true;
    } else {
      x.access = kBuffered;
    }
  }
}

// Whether elements come out as they went in.
inline bool only_moves(const ElementwisePlan& plan) {
  const Elementwise& op = *plan.op;
  return op.n_in == 1 && op.n_out == 1 && keeps_bits(op.in_dtype[0], op.out_dtype) &&
         plan.operand[0].convert == nullptr && plan.operand[1].convert == nullptr &&
         op.function[0][kVectors] == conversion(op.in_dtype[0], op.out_dtype);
}

// Whether an input that is not used in place can be read straight into the output. Not blocks,
// because rows of 2^k bytes share few cache sets; nor narrow elements that are moved one by one,
// which a buffer in the first-level cache takes sooner.
inline bool only_gathers(const ElementwisePlan& plan) {
  const PlannedOperand &y = plan.operand[0], &x = plan.operand[1];
  if (plan.blocked || !only_moves(plan) || y.access != kDirect || x.access != kBuffered)
    return false;
  const int64_t step = x.stride[plan.ndim - 1];
  const bool in_vectors = step == 0 || step == -x.bytes;
  return in_vectors || x.bytes >= 4;
}

inline bool overwrites_input(const ElementwisePlan& plan, const PlannedOperand& output) {
  for (int k = plan.op->n_out; k < plan.n_operands; ++k) {
    if (plan.operand[k].data == output.data) return true;
  }
  return false;
}

// Whole cache lines only: a line that is streamed in parts is slower than an ordinary store. So is
// one that has just been read.
inline bool worth_streaming(const ElementwisePlan& plan, const PlannedOperand& y) {
  const int last = plan.ndim - 1;
  int64_t bytes = y.bytes;
  bool aligned = reinterpret_cast<uintptr_t>(y.data) % 64 == 0 && y.stride[last] == y.bytes;
  for (int d = 0; d < plan.ndim; ++d) {
    bytes *= plan.size[d];
    aligned = aligned && (d == last || y.stride[d] % 64 == 0);
  }
  return y.access != kAbsent && aligned && bytes >= kStreamBytes && !overwrites_input(plan, y);
}

inline void choose_output_access(ElementwisePlan& plan) {
  for (int j = 0; j < plan.op->n_out; ++j) {
    PlannedOperand& y = plan.operand[j];
    if (y.access == kAbsent) continue;
    const int last = plan.ndim - 1;
    const bool in_place =
        plan.flat ? is_dense(plan, y) : y.stride[last] == y.bytes || plan.size[last] == 1;
    // With several outputs, one that is written over an input must wait for the others.
    const bool waits = plan.op->n_out > 1 && overwrites_input(plan, y);
    const bool direct = y.convert == nullptr && in_place && !waits;
    const bool whole_lines = !plan.flat && plan.step[last] * y.bytes % 64 == 0;
    y.access = !direct ? kBuffered : whole_lines && worth_streaming(plan, y) ? kStreamed : kDirect;
  }
}

inline bool has_access(const ElementwisePlan& plan, Access access) {
  for (int k = 0; k < plan.n_operands; ++k) {
    if (plan.operand[k].access == access) return true;
  }
  return false;
}

// How many elements of every operand fit in a buffer.
inline int64_t buffer_elements(const ElementwisePlan& plan, const Elementwise& op) {
  int64_t widest = bytes_of(op.out_dtype);
  for (int i = 0; i < op.n_in; ++i) widest = max(widest, bytes_of(op.in_dtype[i]));
  for (int k = 0; k < plan.n_operands; ++k) widest = max(widest, plan.operand[k].bytes);
  return kBufferBytes / widest;
}

inline void set_step(ElementwisePlan& plan, int64_t planes, int64_t rows, int64_t n) {
  const int last = plan.ndim - 1;
  for (int d = 0; d < last - 2; ++d) plan.step[d] = 1;
  plan.step[last - 2] = planes;
  plan.step[last - 1] = rows;
  plan.step[last] = n;
}

// The shape of a tile that is read across: a cache line of the transposed operand wide, and as long
// as the buffer lets it be; two lines each way if the output is streamed, because processors fetch
// lines in pairs and follow no more than some 32 streams.
inline void set_blocked_step(ElementwisePlan& plan, int64_t transposed_bytes, int64_t capacity) {
  const int64_t n = plan.size[plan.ndim - 1], rows = plan.size[plan.ndim - 2];
  if (worth_streaming(plan, plan.operand[0])) {
    const int64_t lines = 128 / min(transposed_bytes, plan.operand[0].bytes);
    set_step(plan, 1, min(rows, min(lines, capacity / lines)), min(n, lines));
  } else {
    const int64_t tile_n = min(n, capacity / min(rows, 64 / transposed_bytes));
    set_step(plan, 1, min(rows, capacity / tile_n), tile_n);
  }
}

// Whether rows lie in all operands as the tile function takes them.
inline bool needs_no_buffers(const ElementwisePlan& plan) {
  const int last = plan.ndim - 1;
  for (int k = 0; k < plan.n_operands; ++k) {
    const PlannedOperand& x = plan.operand[k];
    if (x.access == kAbsent || x.immediate) continue;
    if (x.convert != nullptr || x.stride[last] != x.bytes) return false;
  }
  return true;
}

// Whether a row is a few vectors and nothing else.
inline bool is_vector_row(const ElementwisePlan& plan) {
  const int64_t bytes = bytes_of(plan.op->in_dtype[0]), row = plan.size[plan.ndim - 1] * bytes;
  return row > 0 && row % kWholeRow == 0 && bytes_of(plan.op->out_dtype) == bytes;
}

// Whether rows are too short for a loop each. To move one, as it is, takes none.
inline bool has_short_rows(const ElementwisePlan& plan) {
  const int last = plan.ndim - 1;
  const PlannedOperand &y = plan.operand[0], &moved = plan.operand[1];
  if (only_moves(plan) && !moved.immediate && moved.stride[last] == moved.bytes &&
      y.stride[last] == y.bytes)
    return plan.size[last] == 1;
  const int64_t packed = max<int64_t>(1, 4 / bytes_of(plan.op->in_dtype[0]));
  if (is_vector_row(plan) && needs_no_buffers(plan)) return false;
  for (int k = plan.op->n_out; k < plan.n_operands; ++k) {
    const PlannedOperand& x = plan.operand[k];
    if (x.stride[last] == 0 && x.stride[last - 1] != 0)
      return plan.size[last] < kShortRowOfOne * packed;
  }
  return plan.size[last] < kShortRow * packed;
}

// One run of elements, a block, or a row. That decides how operands get to the tile function.
inline void choose_shape(ElementwisePlan& plan, int64_t capacity) {
  const int64_t transposed_bytes = find_transposed(plan);
  const int last = plan.ndim - 1;
  const int64_t n = plan.size[last], rows = plan.size[last - 1], planes = plan.size[last - 2];
  plan.flat = has_short_rows(plan);
  plan.blocked = !plan.flat && transposed_bytes != 0;
  if (plan.flat) {
    const int64_t tile_rows = min(rows, capacity / n);
    set_step(plan, tile_rows == rows ? min(planes, capacity / (n * rows)) : 1, tile_rows, n);
  } else if (plan.blocked) {
    set_blocked_step(plan, transposed_bytes, capacity);
  } else {
    set_step(plan, 1, 1, min(n, capacity));
  }
}

// Of a tile that is a row: how much of it, or how many, when it is known which buffers that fills.
inline void choose_rows(ElementwisePlan& plan, int64_t capacity, int64_t grain) {
  const int64_t n = plan.size[plan.ndim - 1], rows = plan.size[plan.ndim - 2];
  const int64_t most = plan.streams                  ? capacity * kStreamTileBytes / kBufferBytes
                       : has_access(plan, kBuffered) ? capacity
                                                     : grain;
  const int64_t tile_n = min(n, plan.constants ? min(most, capacity) : most);
  set_step(plan, 1, tile_n < n ? 1 : min(rows, max<int64_t>(1, most / n)), tile_n);
}

// `grain`: how many elements a tile may have if it needs no buffers.
inline void choose_tile(ElementwisePlan& plan, int64_t grain) {
  const int64_t capacity = buffer_elements(plan, *plan.op);
  choose_shape(plan, capacity);
  choose_input_access(plan);
  choose_output_access(plan);
  plan.streams = has_access(plan, kStreamed);
  plan.gathers = only_gathers(plan);
  if (!plan.flat && !plan.blocked) choose_rows(plan, capacity, grain);
}

// Along the last dimension first, except that blocks of a transposed operand follow its own
// direction: neighbouring tiles then read neighbouring cache lines of the same pages.
inline void choose_order(ElementwisePlan& plan) {
  const int last = plan.ndim - 1;
  for (int i = 0; i < plan.ndim; ++i) plan.order[i] = last - i;
  if (plan.blocked) {
    plan.order[0] = last - 1;
    plan.order[1] = last;
  }
}

// False if the call has no elements.
inline bool make_plan(ElementwisePlan& plan, const dt_stream* stream, const dt_view* out,
                      const dt_view* in, const Elementwise& op) {
  plan.op = &op;
  if (!add_operands(plan, out, in, op)) return false;
  int64_t total = 1;
  for (int d = 0; d < plan.ndim; ++d) total *= plan.size[d];
  const int64_t cycles = total * op.cycles / 8;
  const bool parallel = worth_threads(stream, cycles);
  choose_tile(plan, parallel ? kGrain : total);
  choose_order(plan);
  plan.tiles = 1;
  for (int d = 0; d < plan.ndim; ++d) plan.tiles *= ceil_div(plan.size[d], plan.step[d]);
  const int64_t most = static_cast<int64_t>(stream->threads) * kTasksPerThread;
  plan.tasks = parallel ? min(plan.tiles, min(most, cycles / kTaskCycles)) : 1;
  for (int k = 0; k < plan.n_operands; ++k) {
    for (int i = 0; i < 3; ++i)
      plan.operand[k].tile_stride[i] = plan.operand[k].stride[plan.ndim - 3 + i];
  }
  return true;
}

}  // namespace
}  // namespace dt::cpu
