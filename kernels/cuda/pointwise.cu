// How an elementwise call is run: whether its operands can be moved in packets, and what the kernel
// is told.
#include <algorithm>
#include <utility>

#include "kernels/cuda/copy.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/packet.cuh"
#include "kernels/cuda/pointwise.cuh"

namespace dt::cuda {
namespace {

using PointwiseAxes = Axes<kMaxPointwise>;

struct PointwiseOperands {
  const dt_view* view[kMaxPointwise];
  int32_t own_dtype[kMaxPointwise];  // what the formula reads or writes
  int32_t dtype[kMaxPointwise];
  int n;
  int n_out;

  PointwiseOperands(const dt_view* out, const dt_view* in, const Pointwise& op,
                    const int32_t* dtypes)
      : n(op.n_out + op.n_in), n_out(op.n_out) {
    for (int k = 0; k < n; ++k) {
      const bool is_out = k < n_out;
      view[k] = is_out ? &out[k] : &in[k - n_out];
      dtype[k] = dtypes ? dtypes[k] : view[k]->dtype;
      const bool is_truth = is_out ? op.bool_out : op.bool_in >> (k - n_out) & 1;
      own_dtype[k] = is_truth ? dtype_of<bool> : op.dtype;
    }
  }

  bool is_present(int k) const { return !view[k]->immediate && view[k]->dtype != 0; }

  // The view that has the shape of the call.
  const dt_view& shape() const {
    int k = 0;
    while (k < n_out - 1 && !is_present(k)) ++k;
    return *view[k];
  }
};

PointwiseAxes axes_of(const PointwiseOperands& operands) {
  const dt_view& shape = operands.shape();
  PointwiseAxes axes;
  for (int d = 0; d < shape.ndim; ++d) {
    if (shape.sizes[d] == 1) continue;
    int64_t stride[kMaxPointwise] = {};
    for (int k = 0; k < operands.n; ++k) {
      // A view of fewer dimensions is broadcast along the first ones.
      const int at = d - (shape.ndim - operands.view[k]->ndim);
      const bool moves = operands.is_present(k) && at >= 0 && operands.view[k]->sizes[at] > 1;
      if (moves) stride[k] = operands.view[k]->strides[at];
    }
    axes.insert(axes.n, shape.sizes[d], stride);
  }
  return axes;
}

void set_parameters(PointwiseCall& kernel, const calls::Pointwise& call, const Pointwise& op) {
  for (int i = 0; i < call.n_attributes; ++i) {
    put_number(&kernel.parameters[i].bits, op.dtype, is_floating(op.dtype), call.real(i),
               call.whole(i));
  }
}

void set_numbers(PointwiseCall& kernel, const PointwiseOperands& operands) {
  for (int k = operands.n_out; k < operands.n; ++k) {
    const dt_view& x = *operands.view[k];
    if (x.immediate) put_number(&kernel.number[k - operands.n_out].bits, operands.own_dtype[k], x);
  }
}

void set_data(PointwiseCall& kernel, const PointwiseOperands& operands,
              const PointwiseAxes& piece) {
  for (int k = 0; k < operands.n; ++k) {
    char* data = operands.is_present(k) ? static_cast<char*>(operands.view[k]->data) : nullptr;
    kernel.data[k] = data ? data + piece.base[k] * bytes_of(operands.dtype[k]) : nullptr;
    kernel.dtype[k] = operands.dtype[k];
  }
}

// Bytes at whose multiples packets of `width` elements begin.
int64_t packet_boundary(int width, int64_t bytes) {
  return std::min<int64_t>(width * bytes, kPacketBytes);
}

// How a call's operands lie for packets of `width` neighbours.
struct PacketLayout {
  const PointwiseCall& kernel;
  const PointwiseOperands& operands;
  const PointwiseAxes& piece;
  int width;

  int64_t inner() const { return piece.n == 0 ? 1 : piece.size[piece.last()]; }
  bool is_one(int k) const { return piece.n == 0 || piece.stride[piece.last()][k] == 0; }
  bool is_dense(int k) const { return !is_one(k) && piece.stride[piece.last()][k] == 1; }

  // Elements of a single row until packets of the first output begin.
  int64_t head() const {
    int k = 0;
    while (kernel.data[k] == nullptr) ++k;
    if (piece.n != 1 || !is_dense(k)) return 0;
    const int64_t bytes = bytes_of(operands.dtype[k]), boundary = packet_boundary(width, bytes);
    const auto behind = static_cast<int64_t>(reinterpret_cast<uintptr_t>(kernel.data[k]) %
                                             static_cast<uintptr_t>(boundary));
    return behind % bytes != 0 ? 0 : std::min((boundary - behind) % boundary / bytes, inner());
  }

  // Whether packets of a dense operand begin `head` elements behind its first.
  bool is_in_packets(int k, int64_t head) const {
    const int64_t bytes = bytes_of(operands.dtype[k]);
    const char* const data = static_cast<const char*>(kernel.data[k]) + head * bytes;
    if (!is_aligned(data, packet_boundary(width, bytes))) return false;
    for (int d = 0; d < piece.last(); ++d) {
      if (piece.stride[d][k] % width != 0) return false;
    }
    return true;
  }
};

// The kernel that knows the operands' dtypes in packets, or null.
const PacketKernel* packet_kernel(PointwiseCall& kernel, const Pointwise& op,
                                  const PointwiseOperands& operands) {
  kernel.narrow = 0;
  int64_t bytes = 0;  // of narrow elements: all have as many
  for (int k = 0; k < operands.n; ++k) {
    if (kernel.data[k] == nullptr || operands.dtype[k] == operands.own_dtype[k]) continue;
    if (bytes == 0) bytes = bytes_of(operands.dtype[k]);
    const bool is_narrow = operands.own_dtype[k] == op.dtype &&
                           compute_of(operands.dtype[k]) == op.dtype &&
                           bytes_of(operands.dtype[k]) == bytes;
    if (!is_narrow) return nullptr;
    kernel.narrow |= 1u << k;
  }
  if (bytes == 0) return &op.own;
  const PacketKernel* const narrow = bytes <= 2 ? &op.narrow[bytes - 1] : nullptr;
  return narrow && narrow->function ? narrow : nullptr;
}

// Whether packet i of every operand lies i packets behind the first, and no input needs another
// way of loading than the others.
bool is_plain(const PointwiseCall& kernel, const Pointwise& op, const PointwiseAxes& piece) {
  const uint32_t inputs = ((1u << op.n_in) - 1) << op.n_out, narrow = kernel.narrow & inputs;
  for (int k = op.n_out; k < op.n_out + op.n_in; ++k) {
    if (kernel.data[k] == nullptr) return false;
  }
  return piece.n == 1 && (kernel.splat | kernel.apart) == 0 && (narrow == 0 || narrow == inputs);
}

// Plans a launch of packets of `width` elements; false if some operand does not allow it. Outputs
// must be written in packets; a dense input that begins elsewhere is read one by one.
bool plan_packets(PointwiseCall& kernel, int width, const Pointwise& op,
                  const PointwiseOperands& operands, PointwiseAxes piece) {
  const PacketLayout layout = {kernel, operands, piece, width};
  const int64_t inner = layout.inner(), head = layout.head();
  const bool has_rows = piece.n > 1;
  if (has_rows && inner % width != 0) return false;
  uint32_t splat = 0, apart = 0;
  for (int k = 0; k < operands.n; ++k) {
    if (kernel.data[k] == nullptr) continue;
    if (layout.is_one(k)) {
      if (k < op.n_out && piece.n > 0) return false;
      splat |= 1u << k;
    } else if (!layout.is_dense(k)) {
      return false;
    } else if (!layout.is_in_packets(k, head)) {
      if (k < op.n_out) return false;
      apart |= 1u << k;
    }
  }
  for (int k = 0; k < operands.n; ++k) {
    if (kernel.data[k] != nullptr && (splat >> k & 1) == 0)
      kernel.data[k] = static_cast<char*>(kernel.data[k]) + head * bytes_of(operands.dtype[k]);
  }
  const int64_t packets = (inner - head) / width;
  if (piece.n > 0) {
    piece.size[piece.last()] = packets;
    for (int k = 0; k < operands.n; ++k) piece.stride[piece.last()][k] *= width;
  }
  kernel.splat = splat, kernel.apart = apart;
  kernel.plain = is_plain(kernel, op, piece);
  kernel.head = static_cast<uint32_t>(head);
  kernel.tail = static_cast<uint32_t>(has_rows ? 0 : (inner - head) % width);
  kernel.count = static_cast<uint32_t>(has_rows ? piece.count() : packets);
  kernel.offsets = Offsets<kMaxPointwise, uint32_t, int32_t>(piece);
  return true;
}

// The axis along which some operand is denser than along the last one, if tiles of both are worth
// it; or -1.
int crossing_axis(const PointwiseAxes& axes, int operands) {
  const int last = axes.last();
  if (axes.n < 2 || axes.size[last] < kWorthTiles) return -1;
  int best = -1;
  int64_t densest = 0;
  for (int d = 0; d < last; ++d) {
    if (axes.size[d] < kWorthTiles) continue;
    for (int k = 0; k < operands; ++k) {
      const int64_t stride = magnitude(axes.stride[d][k]);
      const bool is_denser = stride != 0 && stride < magnitude(axes.stride[last][k]);
      if (is_denser && (best < 0 || stride < densest)) best = d, densest = stride;
    }
  }
  return best;
}

// Blocks of the kernel for any strides.
int64_t plan_elements(PointwiseCall& kernel, const Pointwise& op, int operands,
                      PointwiseAxes piece) {
  const int crossing = crossing_axis(piece, operands);
  if (crossing >= 0) {
    std::swap(piece.size[crossing], piece.size[piece.last() - 1]);
    std::swap(piece.stride[crossing], piece.stride[piece.last() - 1]);
  }
  kernel.count = static_cast<uint32_t>(piece.count());
  kernel.offsets = Offsets<kMaxPointwise, uint32_t, int32_t>(piece);
  kernel.walk = TileWalk();
  if (crossing < 0) return divide_up(kernel.count, kPointwiseThreads * op.elements);
  const int64_t rows = piece.size[piece.last() - 1], columns = piece.size[piece.last()];
  const int64_t row_tiles = divide_up(columns, kWalkColumns);
  const int64_t tiles = row_tiles * divide_up(rows, kWalkRows * op.elements);
  kernel.walk = {static_cast<uint32_t>(rows), static_cast<uint32_t>(columns),
                 FastDivide(static_cast<uint32_t>(tiles)),
                 FastDivide(static_cast<uint32_t>(row_tiles))};
  return kernel.count / (rows * columns) * tiles;
}

int32_t launch_piece(const dt_stream* stream, PointwiseCall& kernel, const Pointwise& op,
                     const PointwiseOperands& operands, const PointwiseAxes& piece) {
  set_data(kernel, operands, piece);
  const PacketKernel* const packets = packet_kernel(kernel, op, operands);
  if (packets && plan_packets(kernel, packets->width, op, operands, piece)) {
    const int64_t per_block = kPointwiseThreads * packets->packets;
    // A tail without packets needs a block, too.
    const int64_t blocks = kernel.count == 0 ? 1 : divide_up(kernel.count, per_block);
    return launch(stream, packets->function, dim3(static_cast<unsigned>(blocks)),
                  dim3(kPointwiseThreads), 0, kernel);
  }
  const int64_t blocks = plan_elements(kernel, op, operands.n, piece);
  return launch(stream, op.general, dim3(static_cast<unsigned>(blocks)), dim3(kPointwiseThreads), 0,
                kernel);
}

int32_t run(const dt_stream* stream, PointwiseCall& kernel, const Pointwise& op,
            const PointwiseOperands& operands) {
  const PointwiseAxes axes = axes_of(operands);
  if (numel(operands.shape()) == 0) return DT_KERNEL_OK;
  set_numbers(kernel, operands);
  return for_each_piece(axes, true, [&](const PointwiseAxes& piece) {
    return launch_piece(stream, kernel, op, operands, piece);
  });
}

}  // namespace

int32_t run_pointwise(const dt_stream* stream, const calls::Pointwise& call, const Pointwise& op) {
  PointwiseCall kernel;
  set_parameters(kernel, call, op);
  return run(stream, kernel, op,
             PointwiseOperands(call.outputs.data, call.inputs.data, op, nullptr));
}

int32_t run_pointwise(const dt_stream* stream, const dt_view* out, const dt_view* in,
                      const Pointwise& op, const int32_t* dtypes) {
  PointwiseCall kernel;
  return run(stream, kernel, op, PointwiseOperands(out, in, op, dtypes));
}

}  // namespace dt::cuda
