// Where an output's numbers lie side by side, a team of threads reads them and adds up. Where the
// outputs lie side by side, lanes keep the sums of neighbouring ones, teams of lanes divide the
// rows, and their sums are added in a fixed order.
#include "kernels/cuda/vector_product.h"

#include "kernels/activation.gen.h"
#include "kernels/cuda/reduce_block.cuh"
#include "kernels/cuda/rows.cuh"

namespace dt::cuda {
namespace {

constexpr int kAtOnce = 4;  // packets that a thread has on their way

// y[j] = activation(alpha * sum over k of vector[k] * matrix(j, k) + beta * c[j])
struct VectorProduct {
  int32_t dtype;
  int64_t outputs, depth;
  const void* vector;
  int64_t vector_step;
  const void* matrix;
  int64_t output_step, depth_step;  // of the matrix
  void* y;
  int64_t y_step;
  const void* c;  // null: nothing is added
  int64_t c_step;
  float alpha, beta;
  int activation;

  template <class T>
  __device__ __forceinline__ float at(int64_t k) const {
    return static_cast<float>(static_cast<const T*>(vector)[k * vector_step]);
  }
  template <class T>
  __device__ __forceinline__ void store(int64_t j, float sum) const {
    const float added = c ? static_cast<float>(static_cast<const T*>(c)[j * c_step]) : 0.0f;
    const float y_j = c ? alpha * sum + beta * added : alpha * sum;
    static_cast<T*>(y)[j * y_step] = T(activate(activation, y_j));
  }
};

VectorProduct form_of(const MatrixProduct& p) {
  const bool is_row = p.m == 1;
  const Matrix &v = is_row ? p.a : p.b, &m = is_row ? p.b : p.a;
  return {p.dtype,
          is_row ? p.n : p.m,
          p.k,
          v.data,
          is_row ? v.col : v.row,
          m.data,
          is_row ? m.col : m.row,
          is_row ? m.row : m.col,
          p.y.data,
          is_row ? p.y.col : p.y.row,
          p.c.data,
          is_row ? p.c.col : p.c.row,
          static_cast<float>(p.alpha),
          static_cast<float>(p.beta),
          p.activation};
}

// ---- an output's numbers side by side

constexpr int kRowThreads = 256;

template <class T, int kTeam>
__global__ void __launch_bounds__(kRowThreads) product_of_rows(VectorProduct p) {
  constexpr int kWidth = kPacketWidth<T>;
  const int lane = static_cast<int>(threadIdx.x) % kTeam;
  const int64_t j =
      int64_t{blockIdx.x} * (kRowThreads / kTeam) + static_cast<int>(threadIdx.x) / kTeam;
  const T* const row = static_cast<const T*>(p.matrix) + j * p.output_step;
  const T* const vector = static_cast<const T*>(p.vector);
  const int64_t packets = p.depth / kWidth;
  begin_kernel();
  if (j >= p.outputs) return;  // all of a team
  float sum = 0;
  for (int64_t first = lane; first < packets; first += kAtOnce * kTeam) {
    uint4 of_row[kAtOnce], of_vector[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const int64_t at = first + i * kTeam;
      if (at >= packets) continue;
      of_row[i] = reinterpret_cast<const uint4*>(row)[at];
      of_vector[i] = reinterpret_cast<const uint4*>(vector)[at];
    }
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      if (first + i * kTeam >= packets) continue;
      T x[kWidth], w[kWidth];
      memcpy(x, &of_vector[i], sizeof x);
      memcpy(w, &of_row[i], sizeof w);
#pragma unroll
      for (int v = 0; v < kWidth; ++v) sum += static_cast<float>(x[v]) * static_cast<float>(w[v]);
    }
  }
  const auto add = [](float a, float b) { return a + b; };
  if constexpr (kTeam == kWarp) {
    sum = warp_reduce(sum, add);
  } else {
    sum = block_reduce<kTeam>(sum, add, 0.0f);
  }
  if (lane == 0) p.store<T>(j, sum);
}

// ---- outputs side by side

// Two blocks of a multiprocessor, each thread with many rows on their way, keep memory as busy as
// three that fit and a fourth that waits for them.
constexpr int kColumnThreads = 512, kColumnBlocks = 2;
constexpr int kRowsAtOnce = 8;  // that a thread has on their way

template <class T, int kLanes>
__global__ void __launch_bounds__(kColumnThreads, kColumnBlocks)
    product_of_columns(VectorProduct p) {
  constexpr int kWidth = kPacketWidth<T>, kTeams = kColumnThreads / kLanes;
  constexpr int kWarps = kColumnThreads / kWarp, kOutputs = kLanes * kWidth;
  __shared__ float of_warps[kWarps][kOutputs];
  const int lane = static_cast<int>(threadIdx.x) % kLanes,
            team = static_cast<int>(threadIdx.x) / kLanes;
  const int64_t begin = int64_t{blockIdx.x} * kOutputs, j = begin + lane * kWidth;
  const T* const column = static_cast<const T*>(p.matrix) + j;
  begin_kernel();
  float sums[kWidth] = {};
  for (int64_t first = team; first < p.depth && j < p.outputs; first += kRowsAtOnce * kTeams) {
    uint4 loaded[kRowsAtOnce];
    float x[kRowsAtOnce];
#pragma unroll
    for (int i = 0; i < kRowsAtOnce; ++i) {
      const int64_t k = first + i * kTeams;
      if (k >= p.depth) continue;
      loaded[i] = *reinterpret_cast<const uint4*>(column + k * p.depth_step);
      x[i] = p.at<T>(k);
    }
#pragma unroll
    for (int i = 0; i < kRowsAtOnce; ++i) {
      if (first + i * kTeams >= p.depth) continue;
      T w[kWidth];
      memcpy(w, &loaded[i], sizeof w);
#pragma unroll
      for (int v = 0; v < kWidth; ++v) sums[v] += x[i] * static_cast<float>(w[v]);
    }
  }
#pragma unroll
  for (int v = 0; v < kWidth; ++v) {
#pragma unroll
    for (int step = kLanes; step < kWarp; step *= 2) sums[v] += __shfl_xor_sync(~0u, sums[v], step);
    if (threadIdx.x % kWarp < kLanes) of_warps[threadIdx.x / kWarp][lane * kWidth + v] = sums[v];
  }
  __syncthreads();
  const int i = static_cast<int>(threadIdx.x);
  if (i >= kOutputs || begin + i >= p.outputs) return;
  float sum = 0;
#pragma unroll
  for (int w = 0; w < kWarps; ++w) sum += of_warps[w][i];
  p.store<T>(begin + i, sum);
}

// ---- launches

constexpr int kNarrowLanes = 2;  // as little as memory gives at once

// Wider pieces of a row suit memory better, if all multiprocessors still have their blocks.
template <class T>
int32_t run_columns(const dt_stream* stream, const VectorProduct& p) {
  const int64_t packets = divide_up(p.outputs, kPacketWidth<T>);
  // A few blocks too little do not matter.
  const int64_t wanted = (2 * kColumnBlocks - 1) * multiprocessors(stream->device);
  const auto run = [&](auto kernel, int lanes) {
    return launch(stream, kernel, static_cast<unsigned>(divide_up(packets, lanes)), kColumnThreads,
                  0, p);
  };
  if (2 * packets >= 8 * wanted) return run(product_of_columns<T, 8>, 8);
  if (2 * packets >= 4 * wanted) return run(product_of_columns<T, 4>, 4);
  return run(product_of_columns<T, kNarrowLanes>, kNarrowLanes);
}

template <class T>
int32_t run_vector(const dt_stream* stream, const VectorProduct& p) {
  constexpr int64_t kWidth = kPacketWidth<T>;
  if (p.depth_step == 1) {
    const bool warps = p.depth <= 4 * kAtOnce * kWarp * kWidth;
    const int64_t blocks = warps ? divide_up(p.outputs, kRowThreads / kWarp) : p.outputs;
    return launch(stream, warps ? product_of_rows<T, kWarp> : product_of_rows<T, kRowThreads>,
                  static_cast<unsigned>(blocks), kRowThreads, 0, p);
  }
  return run_columns<T>(stream, p);
}

}  // namespace

bool is_vector_product(const dt_stream* stream, const MatrixProduct& p) {
  if (p.batch != 1 || (p.m == 1) == (p.n == 1)) return false;
  if (p.dtype != dtype_of<float> && !is_narrow_float(p.dtype)) return false;
  const VectorProduct v = form_of(p);
  const int64_t width = kPacketBytes / bytes_of(p.dtype);
  const auto whole = [&](int64_t size, int64_t step) {
    return size % width == 0 && step % width == 0 && is_aligned(v.matrix, kPacketBytes);
  };
  constexpr int64_t kLong = 8192;  // of longer sums each is worth several blocks
  if (v.depth_step == 1) {
    return whole(v.depth, v.output_step) && v.vector_step == 1 &&
           is_aligned(v.vector, kPacketBytes) && v.outputs >= 32 &&
           (v.depth <= kLong || v.outputs >= 2 * multiprocessors(stream->device));
  }
  return v.output_step == 1 && whole(v.outputs, v.depth_step) && v.outputs >= 8 * width &&
         (v.depth <= kLong || v.outputs >= kNarrowLanes * width * multiprocessors(stream->device));
}

int32_t multiply_vector(const dt_stream* stream, const MatrixProduct& p) {
  return visit_stored_floating(p.dtype, [&](auto type) -> int32_t {
    using T = typename decltype(type)::type;
    if constexpr (std::is_same_v<Widened<T>, float>) {
      return run_vector<T>(stream, form_of(p));
    } else {
      return DT_KERNEL_UNSUPPORTED;
    }
  });
}

}  // namespace dt::cuda
