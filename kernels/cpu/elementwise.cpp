// The executor of elementwise ops: takes the short way for small contiguous calls, otherwise plans
// how to cut a call into tiles (elementwise_plan.h) and runs them.
#include "kernels/cpu/elementwise.h"

#include "kernels/cpu/elementwise_plan.h"
#include "kernels/cpu/tile_move.h"
#include "kernels/cpu/workers.h"

namespace dt::cpu {
namespace {

// ---- small calls

bool is_contiguous(const dt_view& view, int64_t n) {
  return view.ndim == 0 || n == 1 || (view.ndim == 1 && view.strides[0] == 1);
}

// Runs a call with one output whose operands the tile function can use as they are, in one go. Most
// small calls are like that, and for eight elements a plan would cost more than the work.
bool run_at_once(const dt_stream* stream, const dt_view& y, const dt_view* in,
                 const Elementwise& op) {
  if (op.n_out != 1 || y.ndim > 1 || y.dtype != op.out_dtype) return false;
  const int64_t n = y.ndim == 0 ? 1 : y.sizes[0];
  if (!is_contiguous(y, n) || n * bytes_of(y.dtype) >= kStreamBytes ||
      worth_threads(stream, n * op.cycles / 8))
    return false;
  Tile tile;
  tile.rows = 1;
  tile.n = n;
  tile.out = y.data;
  tile.parameters = op.parameters;
  int form = kVectors;
  uint64_t number = 0;
  for (int i = 0; i < op.n_in; ++i) {
    const dt_view& x = in[i];
    tile.in[i] = x.data;
    if (!x.immediate && x.dtype == op.in_dtype[i] && is_contiguous(x, n)) continue;
    const bool scalar =
        x.immediate || (x.ndim == 1 && x.strides[0] == 0 && x.dtype == op.in_dtype[i]);
    if (!scalar || form != kVectors || !has_scalar_form(op, i)) return false;
    form = scalar_form(i);
    if (x.immediate) {
      put_number(&number, op.in_dtype[i], x);
      tile.in[i] = &number;
    }
  }
  op.function[0][form](tile);
  return true;
}

// ---- tiles

// Processors take two addresses for the same one while they know but these many low bytes' worth of
// them.
constexpr int64_t kAliasBytes = 4096;

// The buffers of one task.
struct TileBuffers {
  alignas(64) unsigned char in[kMaxElementwiseIn][kBufferBytes];
  alignas(64) unsigned char out[kMaxElementwiseOut][kBufferBytes + kAliasBytes];
  alignas(64) unsigned char staging[kBufferBytes];
};

// A position in the grid of tiles, with the address of every operand's first element there.
class Cursor {
 public:
  Cursor(const ElementwisePlan& plan, int64_t tile) : plan_(plan) {
    for (int k = 0; k < plan.n_operands; ++k) address_[k] = plan.operand[k].data;
    for (int i = 0; i < plan.ndim; ++i) {
      const int d = plan.order[i];
      const int64_t steps = ceil_div(plan.size[d], plan.step[d]);
      index_[d] = tile % steps * plan.step[d];
      tile /= steps;
      move(d, index_[d]);
    }
  }

  void advance() {
    for (int i = 0; i < plan_.ndim; ++i) {
      const int d = plan_.order[i];
      index_[d] += plan_.step[d];
      move(d, plan_.step[d]);
      if (index_[d] < plan_.size[d]) return;
      move(d, -index_[d]);
      index_[d] = 0;
    }
  }

  Box box() const {
    return {extent(plan_.ndim - 3), extent(plan_.ndim - 2), extent(plan_.ndim - 1)};
  }

  char* address(int operand) const { return address_[operand]; }

 private:
  int64_t extent(int d) const { return min(plan_.step[d], plan_.size[d] - index_[d]); }

  void move(int d, int64_t count) {
    for (int k = 0; k < plan_.n_operands; ++k) address_[k] += count * plan_.operand[k].stride[d];
  }

  const ElementwisePlan& plan_;
  int64_t index_[kPlanDims];
  char* address_[kMaxOperands];
};

// Reads a box of an operand into a dense buffer of the dtype that the tile function wants.
void load(const PlannedOperand& x, void* buffer, const char* address, const Box& box,
          void* staging) {
  const int64_t bytes = x.bytes;
  if (x.convert == nullptr) return gather(buffer, box.n, address, bytes, box, x.tile_strides());
  Tile tile;
  tile.out = buffer;
  if (x.tile_stride[2] == bytes && box.planes == 1) {
    tile.rows = box.rows;
    tile.n = tile.out_row = box.n;
    tile.in[0] = address;
    tile.in_row[0] = x.tile_stride[1] / bytes;
  } else {
    gather(staging, box.n, address, bytes, box, x.tile_strides());
    tile.rows = 1;
    tile.n = box.planes * box.rows * box.n;
    tile.in[0] = staging;
  }
  x.convert(tile);
}

void store(const PlannedOperand& y, char* address, const void* buffer, const Box& box,
           void* staging) {
  const int64_t bytes = y.bytes;
  if (y.convert == nullptr) return scatter(address, y.tile_strides(), buffer, bytes, box);
  Tile tile;
  tile.in[0] = buffer;
  if (y.tile_stride[2] == bytes && box.planes == 1) {
    tile.rows = box.rows;
    tile.n = tile.in_row[0] = box.n;
    tile.out = address;
    tile.out_row = y.tile_stride[1] / bytes;
    y.convert(tile);
  } else {
    tile.rows = 1;
    tile.n = box.planes * box.rows * box.n;
    tile.out = staging;
    y.convert(tile);
    scatter(address, y.tile_strides(), staging, bytes, box);
  }
}

// Fills the buffers of the operands that are the same in every tile.
void load_constants(const ElementwisePlan& plan, const Cursor& start, TileBuffers& scratch) {
  const int last = plan.ndim - 1;
  // The first tile of a row is not shorter than any other; a row of a plan by rows serves for all
  // rows.
  const Box box = {plan.flat ? plan.step[last - 2] : 1, plan.flat ? plan.step[last - 1] : 1,
                   plan.step[last]};
  for (int i = 0; i < plan.op->n_in; ++i) {
    const PlannedOperand& x = plan.operand[plan.op->n_out + i];
    if (x.access != kConstant) continue;
    load(x, scratch.in[i], x.immediate ? x.data : start.address(plan.op->n_out + i), box,
         scratch.staging);
  }
}

// Where in its buffer an output is written: at the same place of a page as the tile of the first
// input lies. If it lay a little further on, each load of that input would seem to read what was
// stored just before, and wait for it.
unsigned char* output_buffer(const Tile& tile, unsigned char* buffer) {
  const uintptr_t distance =
      reinterpret_cast<uintptr_t>(tile.in[0]) - reinterpret_cast<uintptr_t>(buffer);
  return buffer + distance % kAliasBytes / 64 * 64;
}

// Fetches as much of an input as a tile has, from where the tile ends.
void prefetch_next(const PlannedOperand& x, const char* address, const Box& box) {
  const int64_t bytes = box.rows * box.n * x.bytes;
  for (int64_t i = 0; i < bytes; i += 64) __builtin_prefetch(address + bytes + i);
}

void gather_tile(const ElementwisePlan& plan, const Cursor& cursor) {
  const Box box = cursor.box();
  const PlannedOperand &y = plan.operand[0], &x = plan.operand[1];
  const int64_t y_row = plan.flat ? box.n : y.tile_stride[1] / y.bytes;
  gather(cursor.address(0), y_row, cursor.address(1), x.bytes, box, x.tile_strides());
}

// A tile with its inputs: in the tensors where they can be used there, else in buffers.
Tile with_inputs(const ElementwisePlan& plan, const Cursor& cursor, const Box& box,
                 TileBuffers& scratch) {
  const Elementwise& op = *plan.op;
  Tile tile;
  tile.rows = plan.flat ? 1 : box.rows;
  tile.n = plan.flat ? box.planes * box.rows * box.n : box.n;
  tile.parameters = op.parameters;
  for (int i = 0; i < op.n_in; ++i) {
    const PlannedOperand& x = plan.operand[op.n_out + i];
    const char* const address = cursor.address(op.n_out + i);
    const bool in_place = x.access == kDirect || x.access == kScalar;
    if (x.access == kDirect && plan.streams) prefetch_next(x, address, box);
    if (x.access == kBuffered) load(x, scratch.in[i], address, box, scratch.staging);
    tile.in[i] = in_place ? static_cast<const void*>(address) : scratch.in[i];
    tile.in_row[i] = in_place ? x.tile_stride[1] / x.bytes : x.access == kConstant ? 0 : box.n;
  }
  return tile;
}

// Brings an output that was written to a buffer to its tensor.
void store_output(const ElementwisePlan& plan, int j, const Cursor& cursor, const Box& box,
                  unsigned char* buffer, TileBuffers& scratch) {
  const PlannedOperand& y = plan.operand[j];
  if (y.access == kBuffered) store(y, cursor.address(j), buffer, box, scratch.staging);
  if (y.access != kStreamed) return;
  const int64_t row_bytes = box.n * y.bytes;
  stream_rows(cursor.address(j), y.tile_stride[1], reinterpret_cast<const char*>(buffer), row_bytes,
              box.rows, row_bytes);
}

void run_tile(const ElementwisePlan& plan, const Cursor& cursor, TileBuffers& scratch) {
  if (plan.gathers) return gather_tile(plan, cursor);
  const Elementwise& op = *plan.op;
  const Box box = cursor.box();
  Tile tile = with_inputs(plan, cursor, box, scratch);
  for (int j = 0; j < op.n_out; ++j) {
    const PlannedOperand& y = plan.operand[j];
    if (y.access == kAbsent) continue;
    const bool direct = y.access == kDirect;
    tile.out = direct ? static_cast<void*>(cursor.address(j)) : output_buffer(tile, scratch.out[j]);
    tile.out_row = direct ? y.tile_stride[1] / y.bytes : box.n;
    op.function[j][plan.form](tile);
  }
  // Only now: an output may be an input of the next output's function.
  for (int j = 0; j < op.n_out; ++j)
    store_output(plan, j, cursor, box, output_buffer(tile, scratch.out[j]), scratch);
}

void run_tiles(const ElementwisePlan& plan, int64_t begin, int64_t end) {
  if (begin >= end) return;
  TileBuffers scratch;
  Cursor cursor(plan, begin);
  if (plan.constants) load_constants(plan, Cursor(plan, 0), scratch);
  for (int64_t tile = begin;;) {
    run_tile(plan, cursor, scratch);
    if (++tile == end) break;
    cursor.advance();
  }
  if (plan.streams) finish_streaming();
}

}  // namespace

int32_t run_elementwise(const dt_stream* stream, const dt_view* out, const dt_view* in,
                        const Elementwise& op) {
  if (run_at_once(stream, *out, in, op)) return DT_KERNEL_OK;
  ElementwisePlan plan;
  if (!make_plan(plan, stream, out, in, op)) return DT_KERNEL_OK;
  const int64_t tasks = plan.tasks, tiles = plan.tiles;
  const auto run = [&plan, tasks, tiles](int64_t task) {
    run_tiles(plan, tiles * task / tasks, tiles * (task + 1) / tasks);
  };
  parallel_for(stream, tasks, run);
  return DT_KERNEL_OK;
}

}  // namespace dt::cpu
