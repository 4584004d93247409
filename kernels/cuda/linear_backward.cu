// All gradients of a small linear layer by one kernel: with y = activation(x @ w^T + b) and h the
// gradient of the activation's argument,
//   gx = h @ w,  gw = h^T @ x  and  gb = the sum of h's rows.
// A launch takes as long as such a product, and libraries need several.
#include <algorithm>

#include "kernels/activation.gen.h"
#include "kernels/calls/nn.gen.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/types.cuh"

namespace dt::cuda {
namespace {

// y[i, j] = sum over k of a[i, k] * b[k, j], and sums[i] = sum over k of a[i, k], which is one more
// column to compute: as if b were 1 there. With an activation, a[i, k] is first multiplied by its
// derivative, which follows from result[i, k].
template <class T>
struct GradientProduct {
  const T *a, *b, *result;
  T *y, *sums;  // sums may be null
  int rows, columns, depth;
  int slices;  // threads that share a sum: a power of two
  int blocks;
  int64_t a_row, a_step, b_step, b_column, y_row, y_column, sums_stride, result_row, result_step;

  __host__ __device__ int across() const { return columns + (sums != nullptr); }
};

template <class T>
struct GradientProducts {
  GradientProduct<T> of[2];  // of gx and of gw
  int activation;
};

// Sums of a thread: neighbours down a column, which share b. The results of an activation take
// registers too.
template <bool kActivated>
constexpr int kSums = kActivated ? 2 : 4;
constexpr int kColumns = 32;  // threads side by side read neighbouring columns of b
constexpr int kSlices = 32;   // at most; threads above each other share k, or take other columns
constexpr int kLoads = 4;     // steps of k that a thread asks for at once, however few there are

// The gradients of an activation's results become those of its arguments.
template <class T, int n>
__device__ __forceinline__ void pass_activation(int activation, T (&grad)[n][kLoads],
                                                const T (&result)[n][kLoads]) {
#pragma unroll
  for (int q = 0; q < n; ++q) {
#pragma unroll
    for (int l = 0; l < kLoads; ++l)
      grad[q][l] = activation_gradient(activation, grad[q][l], result[q][l]);
  }
}

template <class T, bool kActivated>
__global__ void __launch_bounds__(kColumns* kSlices)
    small_products(const __grid_constant__ GradientProducts<T> products) {
  constexpr int kRows = kSums<kActivated>;
  __shared__ T slices[kSlices][kRows][kColumns];
  const int which = static_cast<int>(blockIdx.x) >= products.of[0].blocks;
  const GradientProduct<T>& p = products.of[which];
  const int block = static_cast<int>(blockIdx.x) - (which ? products.of[0].blocks : 0);
  const int slice = static_cast<int>(threadIdx.y) % p.slices;
  const int row_of_items = block * static_cast<int>(blockDim.y) + static_cast<int>(threadIdx.y);
  const int item = row_of_items / p.slices * kColumns + static_cast<int>(threadIdx.x);
  const int j = item % p.across(), i0 = item / p.across() * kRows;
  const bool exists = i0 < p.rows, is_sum = j == p.columns;

  const T *a[kRows], *result[kRows];
#pragma unroll
  for (int q = 0; q < kRows; ++q) {
    const int i = min(i0 + q, p.rows - 1);
    a[q] = p.a + i * p.a_row, result[q] = p.result + i * p.result_row;
  }
  const T* const b = p.b + (is_sum ? 0 : j * p.b_column);
  const int length = (p.depth + p.slices - 1) / p.slices;
  const int k0 = slice * length, k_end = min(p.depth, k0 + length);
  T* const y = is_sum ? p.sums + i0 * p.sums_stride : p.y + i0 * p.y_row + j * p.y_column;
  const int64_t y_step = is_sum ? p.sums_stride : p.y_row;
  begin_kernel();

  T sums[kRows] = {};
  if (exists) {
    for (int k = k0; k < k_end; k += kLoads) {
      T value[kRows][kLoads], factor[kLoads];
#pragma unroll
      for (int l = 0; l < kLoads; ++l) {
        const bool is_left = k + l < k_end;
        factor[l] = is_sum ? T(1) : is_left ? b[(k + l) * p.b_step] : T(0);
#pragma unroll
        for (int q = 0; q < kRows; ++q) value[q][l] = is_left ? a[q][(k + l) * p.a_step] : T(0);
      }
      if constexpr (kActivated) {
        T of_result[kRows][kLoads];
#pragma unroll
        for (int l = 0; l < kLoads; ++l) {
          const int last = min(k + l, k_end - 1);
#pragma unroll
          for (int q = 0; q < kRows; ++q) of_result[q][l] = result[q][last * p.result_step];
        }
        pass_activation(products.activation, value, of_result);
      }
#pragma unroll
      for (int l = 0; l < kLoads; ++l) {
#pragma unroll
        for (int q = 0; q < kRows; ++q) sums[q] = fma(value[q][l], factor[l], sums[q]);
      }
    }
  }
  if (p.slices == 1) {
#pragma unroll
    for (int q = 0; q < kRows; ++q) {
      if (exists && i0 + q < p.rows) y[q * y_step] = sums[q];
    }
    return;
  }
#pragma unroll
  for (int q = 0; q < kRows; ++q) slices[threadIdx.y][q][threadIdx.x] = sums[q];
  __syncthreads();
  for (int q = slice; q < kRows; q += p.slices) {
    if (!exists || i0 + q >= p.rows) return;
    T total = 0;
    for (int s = 0; s < p.slices; ++s) total += slices[threadIdx.y - slice + s][q][threadIdx.x];
    y[q * y_step] = total;
  }
}

// More work than that is worth the tiles of a library; with an activation, whose results each
// thread reads too, much less is worth a kernel of its own for the activation.
bool is_small(int64_t rows, int64_t columns, int64_t depth, bool activated) {
  const double most_work = activated ? 1 << 16 : 4 << 20;
  constexpr int64_t kDeepest = 2048;
  const double work = static_cast<double>(rows) * columns * std::max<int64_t>(depth, 1);
  return depth <= kDeepest && work <= most_work;
}

// About as many steps of k as a thread should wait for in a row.
template <class T>
int slices_for(const GradientProduct<T>& p) {
  constexpr int kSlice = 8;
  int slices = 1;
  while (slices < kSlices && slices * kSlice < p.depth) slices *= 2;
  return slices;
}

template <class T>
void cut(GradientProduct<T>* p, int rows, int height) {
  const int64_t items = divide_up(p->rows, rows) * p->across();
  p->blocks = static_cast<int>(divide_up(items, kColumns * (height / p->slices)));
}

template <class T>
GradientProduct<T> input_gradient(const calls::LinearBackward& call) {
  GradientProduct<T> p = {};
  p.slices = 1;
  if (!call.gx) return p;
  const dt_view &g = call.g, &w = *call.weight, &gx = *call.gx;
  p.a = static_cast<const T*>(g.data), p.b = static_cast<const T*>(w.data);
  p.y = static_cast<T*>(gx.data);
  p.rows = static_cast<int>(g.sizes[0]), p.depth = static_cast<int>(g.sizes[1]);
  p.columns = static_cast<int>(w.sizes[1]);
  p.a_row = g.strides[0], p.a_step = g.strides[1];
  if (call.y) {
    p.result = static_cast<const T*>(call.y->data);
    p.result_row = call.y->strides[0], p.result_step = call.y->strides[1];
  }
  p.b_step = w.strides[0], p.b_column = w.strides[1];
  p.y_row = gx.strides[0], p.y_column = gx.strides[1];
  p.slices = slices_for(p);
  return p;
}

template <class T>
GradientProduct<T> parameter_gradients(const calls::LinearBackward& call) {
  const dt_view& g = call.g;
  GradientProduct<T> p = {};
  p.a = static_cast<const T*>(g.data);
  p.rows = static_cast<int>(g.sizes[1]), p.depth = static_cast<int>(g.sizes[0]);
  p.a_row = g.strides[1], p.a_step = g.strides[0];
  if (call.y) {
    p.result = static_cast<const T*>(call.y->data);
    p.result_row = call.y->strides[1], p.result_step = call.y->strides[0];
  }
  if (call.gweight) {
    const dt_view &x = *call.x, &gw = *call.gweight;
    p.b = static_cast<const T*>(x.data), p.y = static_cast<T*>(gw.data);
    p.columns = static_cast<int>(x.sizes[1]);
    p.b_step = x.strides[0], p.b_column = x.strides[1];
    p.y_row = gw.strides[0], p.y_column = gw.strides[1];
  }
  if (call.gbias)
    p.sums = static_cast<T*>(call.gbias->data), p.sums_stride = call.gbias->strides[0];
  p.slices = slices_for(p);
  return p;
}

template <class T>
int32_t run(const dt_stream* stream, const calls::LinearBackward& call) {
  GradientProducts<T> products = {{input_gradient<T>(call), parameter_gradients<T>(call)},
                                  call.activation};
  const int height = std::max(products.of[0].slices, products.of[1].slices);
  const bool activated = products.activation != DT_ACTIVATE_NONE;
  for (GradientProduct<T>& p : products.of) cut(&p, activated ? kSums<true> : kSums<false>, height);
  return launch(stream, activated ? small_products<T, true> : small_products<T, false>,
                static_cast<unsigned>(products.of[0].blocks + products.of[1].blocks),
                dim3(kColumns, static_cast<unsigned>(height)), 0, products);
}

}  // namespace

int32_t kernels::linear_backward(const dt_stream* stream, const calls::LinearBackward& call) {
  const dt_view& g = call.g;
  const int64_t rows = g.sizes[0], outputs = g.sizes[1];
  const bool activated = call.activation != DT_ACTIVATE_NONE;
  if (call.gx && !is_small(rows, call.weight->sizes[1], outputs, activated))
    return DT_KERNEL_UNSUPPORTED;
  if (!is_small(outputs, call.gweight ? call.x->sizes[1] + 1 : 1, rows, activated))
    return DT_KERNEL_UNSUPPORTED;
  return visit_floating(
      g.dtype, [&](auto type) { return run<typename decltype(type)::type>(stream, call); });
}

}  // namespace dt::cuda
