// Attention without a matrix of all scores (arXiv 2205.14135, 2307.08691): a block of 64 queries,
// 16 of each warp, meets one block of keys after the other. A warp has the scores and the sums of
// its rows in registers; the values are fetched while it makes scores, the next keys while it adds
// values.
#include "kernels/cuda/attention.cuh"
#include "kernels/cuda/attention_single.h"
#include "kernels/cuda/cudnn_attention.h"

namespace dt::cuda {
namespace {

// Keys that are in shared memory at a time.
template <class Products, int kLength>
constexpr int kForwardKeys = sizeof(typename Products::Element) == 2 || kLength <= 32 ? 64 : 32;

// The largest number among the lanes that share a row, and their sum.
__device__ __forceinline__ float largest_of_row(float x) {
  x = fmaxf(x, __shfl_xor_sync(~0u, x, 1));
  return fmaxf(x, __shfl_xor_sync(~0u, x, 2));
}
__device__ __forceinline__ float sum_of_row(float x) {
  x += __shfl_xor_sync(~0u, x, 1);
  return x + __shfl_xor_sync(~0u, x, 2);
}

// What a lane knows of its two rows: the largest score so far and its share of the sum of
// exponentials.
struct RowState {
  float top[2] = {-INFINITY, -INFINITY}, total[2] = {0, 0};
};

// Makes exponentials of scores, relative to the largest so far, and the sums with values too.
template <int kTiles, int kLength>
__device__ __forceinline__ void weigh(float (&scores)[kTiles][4], RowState& state,
                                      float (&sums)[kLength / 8][4]) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float top = state.top[half];
    bool has_nan = false;
#pragma unroll
    for (int j = 0; j < kTiles; ++j) {
      top = fmaxf(top, fmaxf(scores[j][2 * half], scores[j][2 * half + 1]));
      has_nan |= scores[j][2 * half] != scores[j][2 * half] ||
                 scores[j][2 * half + 1] != scores[j][2 * half + 1];
    }
    top = largest_of_row(top);
    const float shift = top == -INFINITY ? 0.0f : top;  // a row that has seen nothing yet
    const float factor = exp2f(state.top[half] - shift);
    float total = has_nan ? NAN : 0.0f;
#pragma unroll
    for (int j = 0; j < kTiles; ++j) {
#pragma unroll
      for (int i = 2 * half; i < 2 * half + 2; ++i) {
        scores[j][i] = exp2f(scores[j][i] - shift);
        total += scores[j][i];
      }
    }
    state.top[half] = top;
    state.total[half] = state.total[half] * factor + total;
#pragma unroll
    for (int j = 0; j < kLength / 8; ++j)
      sums[j][2 * half] *= factor, sums[j][2 * half + 1] *= factor;
  }
}

template <class Products, int kLength>
__global__ void __launch_bounds__(kAttentionThreads)
    attention_forward(HeadMatrices<typename Products::Element> y, float* lse,
                      HeadMatrices<const typename Products::Element> query,
                      HeadMatrices<const typename Products::Element> key,
                      HeadMatrices<const typename Products::Element> value, Scoring scoring,
                      int group) {
  using T = typename Products::Element;
  constexpr int kKeys = kForwardKeys<Products, kLength>, kPitch = kLength + Products::kPadding;
  extern __shared__ __align__(16) unsigned char shared[];
  T* const queries = reinterpret_cast<T*>(shared);
  T* const keys = queries + kBlockRows * kPitch;
  T* const values = keys + kKeys * kPitch;
  // Late queries see most keys of a triangle: they come first.
  const int first = (gridDim.x - 1 - blockIdx.x) * kBlockRows, h = blockIdx.y, b = blockIdx.z;
  const int warp_row = threadIdx.x / 32 * 16, end = scoring.last_key(first + kBlockRows);
  float sums[kLength / 8][4];
  clear(sums);
  RowState state;
  begin_kernel();
  fetch_rows<Products, kLength, kBlockRows>(queries, query, b, h, first);
  fetch_rows<Products, kLength, kKeys>(keys, key, b, h / group, 0);
  close_copies();
  for (int k = 0; k < end; k += kKeys) {
    wait_copies<0>();
    __syncthreads();
    fetch_rows<Products, kLength, kKeys>(values, value, b, h / group, k);
    close_copies();
    float scores[kKeys / 8][4];
    clear(scores);
    multiply_rows<Products, kLength>(scores, queries + warp_row * kPitch, keys);
    score<false>(scores, scoring, b, h, first + warp_row, k);
    weigh<kKeys / 8, kLength>(scores, state, sums);
    wait_copies<0>();
    __syncthreads();
    if (k + kKeys < end) {
      fetch_rows<Products, kLength, kKeys>(keys, key, b, h / group, k + kKeys);
      close_copies();
    }
    multiply_sums<Products, kLength>(sums, scores, values);
  }
  wait_copies<0>();
  float factor[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const float total = sum_of_row(state.total[half]);
    const int row = first + warp_row + lane_group() + 8 * half;
    factor[half] = total == 0 ? 0.0f : 1 / total;
    if (lse == nullptr || lane_pair() != 0 || row >= scoring.queries) continue;
    lse[(int64_t{b} * gridDim.y + h) * scoring.queries + row] =
        total == 0 ? INFINITY : state.top[half] / kLog2E + logf(total);
  }
  store_sums<kLength>(y, b, h, first + warp_row, sums, factor);
}

template <class Products, int kLength>
int32_t run_forward(const dt_stream* stream, const calls::Attention& call) {
  using T = typename Products::Element;
  constexpr int64_t kRows = kBlockRows + 2 * kForwardKeys<Products, kLength>;
  constexpr int64_t kBytes = kRows * (kLength + Products::kPadding) * int64_t{sizeof(T)};
  if (resident_blocks(stream->device, 1, kBytes) == 0) return DT_KERNEL_UNSUPPORTED;
  constexpr auto kKernel = attention_forward<Products, kLength>;
  if (const int32_t result = allow_shared<kKernel>(stream, kBytes)) return result;
  const dt_view& q = call.query;
  return launch(stream, kKernel, attention_grid(q.sizes[2], q.sizes[1], q.sizes[0]),
                kAttentionThreads, kBytes, HeadMatrices<T>(call.y),
                call.lse ? static_cast<float*>(call.lse->data) : nullptr, HeadMatrices<const T>(q),
                HeadMatrices<const T>(call.key), HeadMatrices<const T>(call.value),
                Scoring(call.mask, call.scale, call.is_causal, q, call.key),
                static_cast<int>(q.sizes[1] / call.key.sizes[1]));
}

}  // namespace

int32_t kernels::attention(const dt_stream* stream, const calls::Attention& call) {
  if (!has_kernel(call.query, call.key, call.value)) return DT_KERNEL_UNSUPPORTED;
  if (is_single_query(call)) return attention_single(stream, call);
  const auto own = [&] {
    return with_products(stream, call.query, call.value, [&](auto products, auto length) {
      return run_forward<decltype(products), decltype(length)::value>(stream, call);
    });
  };
  return cudnn_can(call) ? cudnn_attention(stream, call, own) : own();
}

int64_t kernels::attention_workspace(const dt_stream* stream, const calls::Attention& call) {
  if (!has_kernel(call.query, call.key, call.value)) return 0;
  if (is_single_query(call)) return attention_single_workspace(stream, call);
  return cudnn_can(call) ? cudnn_attention_workspace(stream, call) : 0;
}

}  // namespace dt::cuda
