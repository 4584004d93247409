// How a reduction is cut into pieces: axes in the order of memory, threads over outputs and
// elements, and chunks of the elements where outputs alone would not fill the device.
#pragma once

#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/offsets.cuh"
#include "kernels/cuda/packet.cuh"

namespace dt::cuda {

constexpr int kReduceThreads = 256;
// Blocks that fill a large device. A constant, not the device's own number: the bits of a result
// follow from the shape alone.
constexpr int64_t kManyBlocks = 1024;
constexpr int64_t kManyRows = 8192;  // whose warps fill a large device
// Elements that one thread adds up in a row: more would cost digits, because the sums of threads
// are combined pairwise.
constexpr int64_t kLongestChain = 4096;
constexpr int64_t kMaxChunks = 65535;  // gridDim.y

// Where results go, and how many elements each stands for.
struct ReduceResult {
  void* y;
  int32_t y_dtype;
  int64_t* z;  // the second output, of arg_reduce
  int64_t length;
};

// The parameters of the kernels.
struct ReduceCall {
  const void* x;
  int32_t x_dtype;
  ReduceResult result;
  Offsets<3, uint32_t> kept;     // of x, y and z at an output
  Offsets<1, uint32_t> reduced;  // of x at an element
  uint32_t outputs, length;
  uint32_t chunk_length;   // elements for a block
  uint32_t lanes;          // rows: threads that share an output; columns: threads side by side
  int64_t first_position;  // of this piece's first element
  void* partial;           // states [slots][outputs]; null: the results are stored at once
  uint64_t first_slot;     // of this piece's chunks
  uint32_t slots;
};

template <class Op>
struct ReduceKernels {
  void (*rows)(ReduceCall, Op);
  void (*columns)(ReduceCall, Op);
  void (*combine)(ReduceCall, Op);
  int row_width;     // elements in a packet
  int column_width;  // outputs of a thread
};

// What every kind of reduction works on. z, if there is one, is a second output.
struct ReduceOperands {
  const dt_view &x, &y;
  const dt_view* z;
  void* workspace;
};

struct ReduceAxes {
  Axes<3> kept;     // strides of x, y, z
  Axes<1> reduced;  // of x
};

// x's dimensions where y's size is 1 are reduced.
inline ReduceAxes reduce_axes(const ReduceOperands& on) {
  const dt_view &x = on.x, &y = on.y;
  ReduceAxes axes;
  for (int d = 0; d < x.ndim; ++d) {
    if (x.sizes[d] == 1) continue;
    if (y.sizes[d] == 1) {
      axes.reduced.insert_by_stride(x.sizes[d], {x.strides[d]});
    } else {
      axes.kept.insert_by_stride(x.sizes[d],
                                 {x.strides[d], y.strides[d], on.z ? on.z->strides[d] : 0});
    }
  }
  axes.kept.coalesce();
  axes.reduced.coalesce();
  return axes;
}

// Whether threads side by side should have outputs side by side, or elements of one output.
inline bool prefers_columns(const ReduceAxes& axes) {
  if (axes.kept.n == 0) return false;
  if (axes.reduced.n == 0) return true;
  const int64_t along_kept = magnitude(axes.kept.stride[axes.kept.last()][0]);
  const int64_t along_reduced = magnitude(axes.reduced.stride[axes.reduced.last()][0]);
  if (along_kept == 0 || along_reduced == 0) return along_reduced == 0;
  return along_kept < along_reduced;
}

template <int kOperands>
bool is_multiple(const Axes<kOperands>& axes, int axis_end, int64_t width) {
  for (int d = 0; d < axis_end; ++d) {
    if (axes.stride[d][0] % width != 0) return false;
  }
  return true;
}

// Columns of fewer elements are read one by one: then the results of a warp lie together.
constexpr int64_t kShortColumn = 32;

// Whether x can be read in packets of `width` along the axis that neighbouring threads share. Rows
// that are dense may begin anywhere, but should not be much shorter than a packet.
inline bool is_packable(const ReduceOperands& on, int width, bool fast_singles) {
  const dt_view& x = on.x;
  if (numel(x) == 0) return false;
  const ReduceAxes axes = reduce_axes(on);
  const bool columns = prefers_columns(axes);
  if (!columns && axes.reduced.n == 1 && axes.reduced.stride[0][0] == 1)
    return 4 * axes.reduced.size[0] >= width;
  if (columns && fast_singles && axes.reduced.count() < kShortColumn) return false;
  const auto inner_is_packable = [width](const auto& inner, const auto& other) {
    return inner.n > 0 && inner.stride[inner.last()][0] == 1 &&
           inner.size[inner.last()] % width == 0 && is_multiple(inner, inner.last(), width) &&
           is_multiple(other, other.n, width);
  };
  return is_aligned(x.data, width * bytes_of(x.dtype)) &&
         (columns ? inner_is_packable(axes.kept, axes.reduced)
                  : inner_is_packable(axes.reduced, axes.kept));
}

inline int64_t power_of_two_above(int64_t n, int64_t limit) {
  int64_t power = 1;
  while (power < n && power < limit) power *= 2;
  return power;
}

// The launches of one piece of the reduced elements.
struct ReducePlan {
  bool columns;
  uint32_t lanes;
  int64_t blocks;  // over the outputs
  int64_t chunks, chunk_length;
};

inline void cut_into_chunks(ReducePlan* plan, int64_t length, int64_t least, int64_t grain,
                            int64_t most) {
  plan->chunks = 1;
  plan->chunk_length = length;
  const int64_t wanted = divide_up(kManyBlocks, plan->blocks);
  int64_t chunks = 1;
  // A second launch takes as long as a few rounds of loads, so outputs that nearly fill the device
  // and short ones are left alone.
  if (plan->blocks < kManyBlocks / 4 && length >= 4 * least)
    chunks = wanted < length / least ? wanted : length / least;
  if (chunks < divide_up(length, most)) chunks = divide_up(length, most);
  if (chunks > kMaxChunks) chunks = kMaxChunks;
  if (chunks == 1) return;
  plan->chunk_length = divide_up(divide_up(length, chunks), grain) * grain;
  plan->chunks = divide_up(length, plan->chunk_length);
}

inline ReducePlan plan_rows(int64_t outputs, int64_t length, int64_t width) {
  ReducePlan plan;
  plan.columns = false;
  // A warp reads a row in a few rounds; longer rows, and rows that are few, get a block each. Many
  // rows that would leave a good part of a block's one round of loads empty do not: the fewer loads
  // there are between its beginning and its end, the longer it waits at both.
  const int64_t lanes = power_of_two_above(divide_up(length, 4 * width), kWarp);
  const int64_t of_lane = width > 1 ? width : 4;  // single elements, too, come several at a time
  const int64_t loads = width > 1 && outputs >= kManyRows ? 28 : 16;
  const bool is_long =
      length > loads * kWarp * of_lane || (outputs <= 256 && length > 2 * kWarp * of_lane);
  plan.lanes = static_cast<uint32_t>(is_long ? kReduceThreads : lanes);
  plan.blocks = divide_up(outputs * plan.lanes, kReduceThreads);
  const int64_t round = kReduceThreads * width;
  if (!is_long) {
    plan.chunks = 1;
    plan.chunk_length = length;
  } else {
    cut_into_chunks(&plan, length, 4 * round, 4 * round, kReduceThreads * kLongestChain);
  }
  return plan;
}

inline ReducePlan plan_columns(int64_t outputs, int64_t length, int64_t width) {
  ReducePlan plan;
  plan.columns = true;
  // Short columns, where there are many, leave no work for more rows of threads.
  const bool are_many = outputs >= kManyBlocks * kReduceThreads * width;
  const int64_t rows_with_work = power_of_two_above(divide_up(length, 16), kReduceThreads / kWarp);
  const int64_t most_lanes = are_many ? kReduceThreads / rows_with_work : kWarp;
  plan.lanes = static_cast<uint32_t>(power_of_two_above(divide_up(outputs, width), most_lanes));
  plan.blocks = divide_up(outputs, plan.lanes * width);
  const int64_t rows = kReduceThreads / plan.lanes;
  cut_into_chunks(&plan, length, 8 * rows, 4 * rows, rows * kLongestChain / 4);
  return plan;
}

template <class Op>
ReducePlan make_plan(const ReduceAxes& axes, const ReduceKernels<Op>& kernels, int64_t length) {
  const int64_t outputs = axes.kept.count();
  return prefers_columns(axes) ? plan_columns(outputs, length, kernels.column_width)
                               : plan_rows(outputs, length, kernels.row_width);
}

// What is done with a piece, by its address: there are as many as reductions, but pieces are found
// by one function for all.
template <int kOperands>
class PieceBody {
 public:
  template <class Body>
  explicit PieceBody(const Body& body)
      : body_(&body), call_([](const void* of, const Axes<kOperands>& piece) -> int32_t {
          return (*static_cast<const Body*>(of))(piece);
        }) {}
  int32_t operator()(const Axes<kOperands>& piece) const { return call_(body_, piece); }

 private:
  const void* body_;
  int32_t (*call_)(const void* body, const Axes<kOperands>& piece);
};

template <int kOperands, class Body>
int32_t reduce_each_piece(const Axes<kOperands>& axes, const Body& body) {
  return for_each_piece(axes, false, PieceBody<kOperands>(body));
}

// How many chunks the pieces of the reduced elements have together.
template <class Op>
int64_t count_slots(const ReduceAxes& axes, const ReduceKernels<Op>& kernels) {
  int64_t slots = 0;
  reduce_each_piece(axes.reduced, [&](const Axes<1>& piece) {
    slots += make_plan(axes, kernels, piece.count()).chunks;
    return DT_KERNEL_OK;
  });
  return slots;
}

// Many states of few outputs are combined by more threads each, but still in whole sectors of
// memory.
template <class Op>
int32_t launch_combine(const dt_stream* stream, ReduceCall& kernel, const Op& op,
                       const ReduceKernels<Op>& kernels) {
  constexpr uint32_t kSector = 8;
  kernel.lanes = kernel.outputs < kSector ? 1 : kernel.slots > kWarp ? kSector : kWarp;
  const int64_t blocks = divide_up(kernel.outputs, kernel.lanes);
  return launch(stream, kernels.combine, dim3(static_cast<unsigned>(blocks)), dim3(kReduceThreads),
                0, kernel, op);
}

// Tells a call which outputs a piece of them all has, and where x, y and z begin in it.
inline void begin_piece(ReduceCall* call, const ReduceOperands& on, const Axes<3>& piece) {
  call->x = static_cast<const char*>(on.x.data) + piece.base[0] * bytes_of(on.x.dtype);
  call->result.y = static_cast<char*>(on.y.data) + piece.base[1] * bytes_of(on.y.dtype);
  if (on.z) call->result.z = static_cast<int64_t*>(on.z->data) + piece.base[2];
  call->kept = Offsets<3, uint32_t>(piece);
}

// Reduces all elements of the outputs of `kept`.
template <class Op>
int32_t run_outputs(const dt_stream* stream, ReduceCall& kernel, const Op& op,
                    const ReduceKernels<Op>& kernels, const ReduceAxes& axes, void* workspace) {
  const char* x = static_cast<const char*>(kernel.x);
  const int64_t outputs = axes.kept.count();
  kernel.outputs = static_cast<uint32_t>(outputs);
  kernel.slots = static_cast<uint32_t>(count_slots(axes, kernels));
  kernel.partial = kernel.slots > 1 ? workspace : nullptr;
  kernel.first_slot = 0;
  kernel.first_position = 0;
  const auto reduce_piece = [&](const Axes<1>& piece) {
    const int64_t length = piece.count();
    const ReducePlan plan = make_plan(axes, kernels, length);
    kernel.x = x + piece.base[0] * bytes_of(kernel.x_dtype);
    kernel.reduced = Offsets<1, uint32_t>(piece);
    kernel.length = static_cast<uint32_t>(length);
    kernel.chunk_length = static_cast<uint32_t>(plan.chunk_length);
    kernel.lanes = plan.lanes;
    const dim3 grid(static_cast<unsigned>(plan.blocks), static_cast<unsigned>(plan.chunks));
    const int32_t code = launch(stream, plan.columns ? kernels.columns : kernels.rows, grid,
                                dim3(kReduceThreads), 0, kernel, op);
    kernel.first_slot += static_cast<uint64_t>(plan.chunks);
    kernel.first_position += length;
    return code;
  };
  if (const int32_t code = reduce_each_piece(axes.reduced, reduce_piece)) return code;
  if (!kernel.partial) return DT_KERNEL_OK;
  return launch_combine(stream, kernel, op, kernels);
}

// Reducing nothing gives what the operation makes of no states.
template <class Op>
int32_t store_empty(const dt_stream* stream, ReduceCall& kernel, const Op& op,
                    const ReduceKernels<Op>& kernels, const dt_view& y) {
  Axes<3> outputs = {};
  for (int d = 0; d < y.ndim; ++d) outputs.insert(outputs.n, y.sizes[d], {0, y.strides[d], 0});
  if (outputs.count() == 0) return DT_KERNEL_OK;
  kernel.partial = nullptr;
  kernel.slots = 0;
  return reduce_each_piece(outputs, [&](const Axes<3>& piece) {
    kernel.result.y = static_cast<char*>(y.data) + piece.base[1] * bytes_of(y.dtype);
    kernel.kept = Offsets<3, uint32_t>(piece);
    kernel.outputs = static_cast<uint32_t>(piece.count());
    return launch_combine(stream, kernel, op, kernels);
  });
}

// Runs a reduction, or, when asked for `bytes`, only says how much scratch memory it needs.
template <class Op>
int32_t run_plan(const dt_stream* stream, const ReduceOperands& on, const Op& op,
                 const ReduceKernels<Op>& kernels, int64_t* bytes) {
  const dt_view &x = on.x, &y = on.y;
  ReduceCall kernel;
  kernel.x_dtype = x.dtype;
  kernel.result = {y.data, y.dtype, nullptr, numel(y) == 0 ? 0 : numel(x) / numel(y)};
  if (numel(x) == 0) return bytes ? DT_KERNEL_OK : store_empty(stream, kernel, op, kernels, y);
  ReduceAxes axes = reduce_axes(on);
  const Axes<3> kept = axes.kept;
  return reduce_each_piece(kept, [&](const Axes<3>& piece) {
    axes.kept = piece;
    if (bytes) {
      const int64_t outputs = piece.count();
      const int64_t slots = count_slots(axes, kernels);
      const int64_t needed =
          slots > 1 ? slots * outputs * static_cast<int64_t>(sizeof(typename Op::Partial)) : 0;
      *bytes = needed > *bytes ? needed : *bytes;
      return static_cast<int32_t>(DT_KERNEL_OK);
    }
    begin_piece(&kernel, on, piece);
    return run_outputs(stream, kernel, op, kernels, axes, on.workspace);
  });
}

}  // namespace dt::cuda
