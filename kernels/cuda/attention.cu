// Attention without a matrix of all scores (arXiv 2205.14135, 2307.08691): a block of queries, 16
// of each warp, meets one block of keys after the other. A warp has the scores and the sums of its
// rows in registers; the values are fetched while it makes scores, the next keys while it adds
// values.
#include "kernels/cuda/attention_forward.cuh"
#include "kernels/cuda/attention_single.h"
#include "kernels/cuda/attention_warpgroups.h"
#include "kernels/cuda/cudnn_attention.h"

namespace dt::cuda {
namespace {

// What a block has: warps of queries, keys that are in shared memory at a time, and registers that
// leave room for so many blocks on a multiprocessor.
template <int kWarpCount, int kKeyCount, int kBlockCount>
struct Block {
  static constexpr int kThreads = 32 * kWarpCount, kRows = kWarpRows * kWarpCount;
  static constexpr int kKeys = kKeyCount, kBlocks = kBlockCount;
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

template <class Products, int kLength, class Block>
__global__ void __launch_bounds__(Block::kThreads, Block::kBlocks)
    attention_forward(HeadMatrices<typename Products::Element> y, float* lse,
                      HeadMatrices<const typename Products::Element> query,
                      HeadMatrices<const typename Products::Element> key,
                      HeadMatrices<const typename Products::Element> value, Scoring scoring,
                      WeightDropout dropout, int group) {
  using Piece = typename Products::Piece;
  using CopyOfKeys = RowCopy<Products, kLength, Block::kKeys, Block::kThreads>;
  constexpr int kRows = Block::kRows, kKeys = Block::kKeys;
  constexpr int kPitch = Products::template kPitch<kLength>;
  extern __shared__ __align__(16) unsigned char shared[];
  Piece* const queries = reinterpret_cast<Piece*>(shared);
  Piece* const keys = queries + kRows * kPitch;
  Piece* const values = keys + kKeys * kPitch;
  // Late queries see most keys of a triangle: they come first.
  const int first = (gridDim.x - 1 - blockIdx.x) * kRows, h = blockIdx.y, b = blockIdx.z;
  const int warp_row = threadIdx.x / 32 * kWarpRows, end = scoring.last_key(first + kRows);
  float sums[kLength / 8][4];
  clear(sums);
  RowState state;
  begin_kernel();
  RowCopy<Products, kLength, kRows, Block::kThreads> all_queries(queries, query, b, h, first);
  CopyOfKeys first_keys(keys, key, b, h / group, 0);
  all_queries.end();
  first_keys.end();
  for (int k = 0; k < end; k += kKeys) {
    __syncthreads();
    CopyOfKeys next_values(values, value, b, h / group, k);
    uint32_t kept = ~0u;
    if (dropout.drops()) kept = dropout.kept<false, kKeys / 8>(b, h, first + warp_row, k);
    float scores[kKeys / 8][4];
    clear(scores);
    multiply_rows<Products, kLength>(scores, queries + warp_row * kPitch, keys);
    score<false, false>(scores, scoring, b, h, first + warp_row, k);
    weigh<kKeys / 8, kLength>(scores, state, sums);
    if (dropout.drops()) drop(scores, kept);
    next_values.end();
    __syncthreads();
    const int next = k + kKeys < end ? k + kKeys : key.rows;  // behind the last: nothing is read
    CopyOfKeys next_keys(keys, key, b, h / group, next);
    multiply_sums<Products, kLength>(sums, scores, values);
    next_keys.end();
  }
  float factor[2];
  end_rows(factor, state, dropout, lse, gridDim.y, scoring.queries, b, h, first + warp_row);
  store_sums<kLength>(y, b, h, first + warp_row, sums, factor);
}

template <class Products, int kLength, class Block>
int32_t run_blocks(const dt_stream* stream, const calls::Attention& call) {
  using T = typename Products::Element;
  constexpr int64_t kBytes = int64_t{Block::kRows + 2 * Block::kKeys} *
                             Products::template kPitch<kLength> * sizeof(typename Products::Piece);
  if (resident_blocks(stream->device, 1, kBytes) == 0) return DT_KERNEL_UNSUPPORTED;
  constexpr auto kKernel = attention_forward<Products, kLength, Block>;
  if (const int32_t result = allow_shared<kKernel>(stream, kBytes)) return result;
  const dt_view& q = call.query;
  const dim3 grid(static_cast<unsigned>(divide_up(q.sizes[2], Block::kRows)),
                  static_cast<unsigned>(q.sizes[1]), static_cast<unsigned>(q.sizes[0]));
  return launch(stream, kKernel, grid, Block::kThreads, kBytes, HeadMatrices<T>(call.y),
                call.lse ? static_cast<float*>(call.lse->data) : nullptr, HeadMatrices<const T>(q),
                HeadMatrices<const T>(call.key), HeadMatrices<const T>(call.value),
                Scoring(call.mask, call.scale, call.is_causal, q, call.key),
                WeightDropout(call.state, call.advance, call.p, q, call.key),
                static_cast<int>(q.sizes[1] / call.key.sizes[1]));
}

template <class Products, int kLength>
int32_t run_forward(const dt_stream* stream, const calls::Attention& call) {
  constexpr bool kSplits = Products::kPieces > 1 && kLength > 32;
  if constexpr (kSplits) {
    // Keys are split once for all queries of a block, which pays where blocks are many.
    using Large = std::conditional_t<kLength <= 64, Block<8, 32, 2>, Block<8, 64, 1>>;
    const dt_view& q = call.query;
    const int64_t full = q.sizes[0] * q.sizes[1] * (q.sizes[2] / Large::kRows);
    if (full >= 2 * multiprocessors(stream->device)) {
      const int32_t result = run_blocks<Products, kLength, Large>(stream, call);
      if (result != DT_KERNEL_UNSUPPORTED) return result;  // some devices have less shared memory
    }
  }
  return run_blocks<Products, kLength, Block<4, kSplits ? 32 : 64, 1>>(stream, call);
}

}  // namespace

int32_t kernels::attention(const dt_stream* stream, const calls::Attention& call) {
  if (!has_kernel(call.query, call.key, call.value)) return DT_KERNEL_UNSUPPORTED;
  if (is_single_query(call)) return attention_single(stream, call);
  const auto own = [&] {
    const int32_t code = attention_by_warpgroups(stream, call);
    if (code != DT_KERNEL_UNSUPPORTED) return code;
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
