// How an elementwise call is run: whether its operands can be moved in packets, and what the kernel
// is told.
#include <algorithm>

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
    put_number(&kernel.parameters[i].bits, op.dtype, is_floating(op.dtype), call.floats[i],
               call.ints[i]);
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

// Whether an operand is dense or one element in every packet of `width` neighbours.
bool is_packable(const PointwiseAxes& piece, int k, const void* data, int width, int64_t bytes) {
  if (piece.n == 0) return true;
  const int64_t inner = piece.stride[piece.last()][k];
  if (inner == 0) return true;
  if (inner != 1 || !is_aligned(data, std::min<int64_t>(width * bytes, kPacketBytes))) return false;
  for (int d = 0; d < piece.last(); ++d) {
    if (piece.stride[d][k] % width != 0) return false;
  }
  return true;
}

// The kernel that knows the operands' dtypes in packets, or null.
const PacketKernel* packet_kernel(PointwiseCall& kernel, const Pointwise& op,
                                  const PointwiseOperands& operands) {
  kernel.narrow = 0;
  for (int k = 0; k < operands.n; ++k) {
    if (kernel.data[k] == nullptr || operands.dtype[k] == operands.own_dtype[k]) continue;
    if (!is_narrow_float(operands.dtype[k]) || operands.own_dtype[k] != dtype_of<float>)
      return nullptr;
    kernel.narrow |= 1u << k;
  }
  if (kernel.narrow == 0) return &op.own;
  return op.narrow.function ? &op.narrow : nullptr;
}

// Plans a launch of packets of `width` elements; false if some operand does not allow it.
bool plan_packets(PointwiseCall& kernel, int width, const Pointwise& op,
                  const PointwiseOperands& operands, PointwiseAxes piece) {
  const int64_t inner = piece.n == 0 ? 1 : piece.size[piece.last()];
  const bool has_rows = piece.n > 1;
  if (has_rows && inner % width != 0) return false;
  kernel.splat = 0;
  for (int k = 0; k < operands.n; ++k) {
    if (kernel.data[k] == nullptr) continue;
    if (!is_packable(piece, k, kernel.data[k], width, bytes_of(operands.dtype[k]))) return false;
    const bool is_one = piece.n == 0 || piece.stride[piece.last()][k] == 0;
    if (is_one && k < op.n_out && piece.n > 0) return false;
    if (is_one) kernel.splat |= 1u << k;
  }
  if (piece.n > 0) {
    piece.size[piece.last()] = inner / width;
    for (int k = 0; k < operands.n; ++k) piece.stride[piece.last()][k] *= width;
  }
  kernel.tail = static_cast<uint32_t>(has_rows ? 0 : inner % width);
  kernel.count = static_cast<uint32_t>(has_rows ? piece.count() : inner / width);
  kernel.offsets = Offsets<kMaxPointwise, uint32_t, int32_t>(piece);
  return true;
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
  kernel.count = static_cast<uint32_t>(piece.count());
  kernel.offsets = Offsets<kMaxPointwise, uint32_t, int32_t>(piece);
  const int64_t blocks = divide_up(kernel.count, kPointwiseThreads * op.elements);
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
  return run(stream, kernel, op, PointwiseOperands(call.out, call.in, op, nullptr));
}

int32_t run_pointwise(const dt_stream* stream, const dt_view* out, const dt_view* in,
                      const Pointwise& op, const int32_t* dtypes) {
  PointwiseCall kernel;
  return run(stream, kernel, op, PointwiseOperands(out, in, op, dtypes));
}

}  // namespace dt::cuda
