// The triangle of a matrix.
#include "kernels/calls/indexing.gen.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/offsets.cuh"
#include "kernels/cuda/types.cuh"

namespace dt::cuda {
namespace {

constexpr int kThreads = 256;

struct Triangle {
  void* y;
  const void* x;
  uint32_t count, rows, columns;
  FastDivide by_rows, by_columns;
  int64_t diagonal;
  bool upper;
  Offsets<4, uint32_t> offsets;
};

template <class T>
__global__ void __launch_bounds__(kThreads) triangle_kernel(const __grid_constant__ Triangle call) {
  begin_kernel();
  const uint32_t element = blockIdx.x * kThreads + threadIdx.x;
  if (element >= call.count) return;
  const uint32_t line = call.by_columns.divide(element);
  const int64_t j = element - line * call.columns;
  const int64_t i = line - call.by_rows.divide(line) * call.rows;
  int64_t offset[4];
  call.offsets.at(element, offset);
  const bool keeps = call.upper ? j - i >= call.diagonal : j - i <= call.diagonal;
  const T* x = static_cast<const T*>(call.x);
  static_cast<T*>(call.y)[offset[0]] = keeps ? x[offset[1]] : T(0);
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
    const int64_t blocks = divide_up(kernel.count, kThreads);
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
