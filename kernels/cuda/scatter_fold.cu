// scatter that multiplies, or keeps the larger or smaller element. A thread takes a line along the
// dimension, so that elements which meet are combined by one thread, in order.
#include <type_traits>

#include "kernels/calls/indexing.gen.h"
#include "kernels/cuda/fault.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/types.cuh"

namespace dt::cuda {
namespace {

constexpr int kThreads = 256;

struct Multiply {
  template <class T>
  static __device__ __forceinline__ T apply(T old, T value) {
    if constexpr (kIsBool<T>) return old & value;
    return static_cast<T>(old * value);
  }
};

// NaN wins.
struct Larger {
  template <class T>
  static __device__ __forceinline__ T apply(T old, T value) {
    return value > old || value != value ? value : old;
  }
};

struct Smaller {
  template <class T>
  static __device__ __forceinline__ T apply(T old, T value) {
    return value < old || value != value ? value : old;
  }
};

// One dimension, and how far an element of each operand is from the next.
struct Step {
  int64_t size, y, source, index;
};

struct ScatterLines {
  int ndim = 0;
  Step across[DT_MAX_DIMS];
  Step along{1, 0, 0, 0};
  int64_t target_size = 1;
  int64_t count = 1;

  explicit ScatterLines(const calls::ScatterFold& call) {
    for (int d = 0; d < call.index.ndim; ++d) {
      const Step step{call.index.sizes[d], call.y.strides[d], call.source.strides[d],
                      call.index.strides[d]};
      if (d == call.dim) {
        along = step;
        target_size = call.y.sizes[d];
      } else {
        across[ndim++] = step;
        count *= step.size;
      }
    }
  }
};

template <class Op, class T>
__global__ void __launch_bounds__(kThreads)
    fold_lines(const __grid_constant__ ScatterLines lines, T* y, const T* source,
               const int64_t* index, Complaint complaint) {
  begin_kernel();
  int64_t line = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (line >= lines.count) return;
  for (int d = lines.ndim - 1; d >= 0; --d) {
    const Step& step = lines.across[d];
    const int64_t here = line % step.size;
    line /= step.size;
    y += here * step.y;
    source += here * step.source;
    index += here * step.index;
  }
  for (int64_t i = 0; i < lines.along.size; ++i) {
    const int64_t at = index[i * lines.along.index];
    if (!complaint.accepts(at, lines.target_size)) continue;
    T& element = y[at * lines.along.y];
    element = Op::apply(element, source[i * lines.along.source]);
  }
}

template <class Op, bool kWraps>
int32_t fold(const dt_stream* stream, const calls::ScatterFold& call) {
  if (numel(call.index) == 0) return DT_KERNEL_OK;
  return visit_value(call.y.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    using U = std::conditional_t<kWraps && !kIsBool<T>, WrapAround<T>, T>;
    const ScatterLines lines(call);
    return launch(stream, fold_lines<Op, U>,
                  dim3(static_cast<unsigned>(divide_up(lines.count, kThreads))), dim3(kThreads), 0,
                  lines, static_cast<U*>(call.y.data), static_cast<const U*>(call.source.data),
                  static_cast<const int64_t*>(call.index.data), Complaint(stream, call));
  });
}

}  // namespace

int32_t kernels::scatter_prod(const dt_stream* stream, const calls::ScatterFold& call) {
  return fold<Multiply, true>(stream, call);
}

int32_t kernels::scatter_amax(const dt_stream* stream, const calls::ScatterFold& call) {
  return fold<Larger, false>(stream, call);
}

int32_t kernels::scatter_amin(const dt_stream* stream, const calls::ScatterFold& call) {
  return fold<Smaller, false>(stream, call);
}

}  // namespace dt::cuda
