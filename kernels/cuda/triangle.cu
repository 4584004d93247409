// The triangle of a matrix.
#include "kernels/calls/indexing.gen.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/offsets.cuh"
#include "kernels/cuda/types.cuh"

namespace dt::cuda {
namespace {

constexpr int kThreads = 256, kUnits = 4;  // elements of a thread, on the way at the same time

struct Triangle {
  void* y;
  const void* x;
  uint32_t count, rows, columns;
  FastDivide by_rows, by_columns;
  int64_t diagonal;
  bool upper, dense;  // dense: element i lies at i
  Offsets<4, uint32_t> offsets;

  __device__ __forceinline__ bool keeps(uint32_t element) const {
    const uint32_t line = by_columns.divide(element);
    const int64_t j = element - line * columns, i = line - by_rows.divide(line) * rows;
    return upper ? j - i >= diagonal : j - i <= diagonal;
  }
};

bool is_dense(const Axes<4>& axes) {
  int64_t next = 1;
  bool dense = true;
  for (int d = axes.last(); d >= 0; next *= axes.size[d--])
    dense &= axes.size[d] == 1 || (axes.stride[d][0] == next && axes.stride[d][1] == next);
  return dense;
}

template <class T>
__global__ void __launch_bounds__(kThreads) triangle_kernel(const __grid_constant__ Triangle call) {
  begin_kernel();
  const uint32_t first = blockIdx.x * (kThreads * kUnits) + threadIdx.x;
  T value[kUnits];
  int64_t at[kUnits];
#pragma unroll
  for (int i = 0; i < kUnits; ++i) {
    const uint32_t element = first + i * kThreads;
    if (element >= call.count) break;
    int64_t offset[4] = {element, element, 0, 0};
    if (!call.dense) call.offsets.at(element, offset);
    at[i] = offset[0];
    value[i] = call.keeps(element) ? static_cast<const T*>(call.x)[offset[1]] : T(0);
  }
#pragma unroll
  for (int i = 0; i < kUnits; ++i) {
    if (first + i * kThreads < call.count) static_cast<T*>(call.y)[at[i]] = value[i];
  }
}

template <class T>
int32_t triangle_typed(const dt_stream* stream, const calls::Triangle& call) {
  const dt_view &y = call.y, &x = call.x;
  // Two more "operands" count rows and columns: their bases say where a piece starts, which moves
  // its diagonal.
  Axes<4> axes;
  for (int d = 0; d < y.ndim; ++d) {
    axes.insert(axes.n, y.sizes[d],
                {y.strides[d], x.strides[d], d == y.ndim - 2 ? 1 : 0, d == y.ndim - 1 ? 1 : 0});
  }
  Triangle kernel;
  kernel.upper = call.upper;
  kernel.dense = is_dense(axes);
  return for_each_piece(axes, false, [&](const Axes<4>& piece) {
    kernel.y = static_cast<T*>(y.data) + piece.base[0];
    kernel.x = static_cast<const T*>(x.data) + piece.base[1];
    kernel.diagonal = call.diagonal + piece.base[2] - piece.base[3];
    kernel.count = static_cast<uint32_t>(piece.count());
    kernel.rows = static_cast<uint32_t>(piece.size[piece.n - 2]);
    kernel.columns = static_cast<uint32_t>(piece.size[piece.n - 1]);
    kernel.by_rows = FastDivide(kernel.rows);
    kernel.by_columns = FastDivide(kernel.columns);
    kernel.offsets = Offsets<4, uint32_t>(piece);
    const int64_t blocks = divide_up(kernel.count, kThreads * kUnits);
    return launch(stream, triangle_kernel<T>, dim3(static_cast<unsigned>(blocks)), dim3(kThreads),
                  0, kernel);
  });
}

}  // namespace

int32_t kernels::triangle(const dt_stream* stream, const calls::Triangle& call) {
  if (numel(call.y) == 0) return DT_KERNEL_OK;
  return visit_width(call.y.dtype, [&](auto type) {
    return triangle_typed<typename decltype(type)::type>(stream, call);
  });
}

}  // namespace dt::cuda
