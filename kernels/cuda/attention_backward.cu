// Gradients of attention: with p the weights, which are computed again, o the result and g its
// gradient,
//   dv = p^T @ g,  ds = p * (g @ v^T - sum(g * o)),  dq = scale * ds @ k,  dk = scale * ds^T @ q.
// With dropout, p of dv and g @ v^T are multiplied by what it multiplies the weights by.
// Nothing is added from two blocks: some have a few keys, which meet all queries, and some a few
// queries, which meet all keys. Both have the same shape: rows that stay, and columns that pass by.
// They are one kernel, since small problems have too few blocks of either to fill a device.
#include "kernels/cuda/attention_backward.cuh"
#include "kernels/cuda/attention_warpgroups.h"
#include "kernels/cuda/cudnn_attention.h"

namespace dt::cuda {
namespace {

// Rows of a block that stay, and columns that are in shared memory at a time. Teams of warps have
// all of the rows each and share the columns: where few rows fill the memory, these are more warps.
template <int kRowCount, int kColumnCount, int kTeamCount = 1>
struct Block {
  static constexpr int kRows = kRowCount, kColumns = kColumnCount, kTeams = kTeamCount;
  static constexpr int kTeamThreads = kRows / kWarpRows * 32, kThreads = kTeams * kTeamThreads;
  static constexpr int kPart = kColumns / kTeams;  // the columns of a team
};

// How blocks of so many rows are dealt out: first those of keys, then those of queries. 0 where
// nothing is wanted.
struct GradientBlocks {
  int per_shared_head, per_head;
  int of_keys = 0, of_queries = 0;

  GradientBlocks(const calls::AttentionBackward& call, int rows)
      : per_shared_head(static_cast<int>(divide_up(call.key.sizes[2], rows))),
        per_head(static_cast<int>(divide_up(call.query.sizes[2], rows))) {
    if (call.gkey || call.gvalue) of_keys = per_shared_head * static_cast<int>(call.key.sizes[1]);
    if (call.gquery) of_queries = per_head * static_cast<int>(call.query.sizes[1]);
  }
  dim3 grid(const calls::AttentionBackward& call) const {
    return dim3(static_cast<unsigned>(of_keys + of_queries),
                static_cast<unsigned>(call.query.sizes[0]));
  }
};

// What both passes read.
template <class T>
struct BackwardOperands {
  HeadMatrices<const T> query, g, key, value;
  RowStatistics statistics;
  Scoring scoring;
  WeightDropout dropout;
  int heads, group;
};

// Makes weights of scores, and gradients of the scores of those of the weights, which are times
// `factor`. lse and delta belong to queries: to columns where rows are keys.
template <bool kOfKeys, int kTiles>
__device__ __forceinline__ void differentiate_weights(float (&scores)[kTiles][4],
                                                      float (&slopes)[kTiles][4], const float* lse,
                                                      const float* delta, float factor) {
#pragma unroll
  for (int j = 0; j < kTiles; ++j) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int query = kOfKeys ? 8 * j + lane_pair() + i % 2 : lane_group() + i / 2 * 8;
      scores[j][i] = exp2f(scores[j][i] - lse[query]);
      slopes[j][i] = scores[j][i] * (slopes[j][i] * factor - delta[query]);
    }
  }
}

// Makes those of weights that were not kept, behind differentiate_weights, so that calls without
// dropout pass by one branch alone.
template <bool kOfKeys, int kTiles>
__device__ __forceinline__ void drop_weights(float (&weights)[kTiles][4],
                                             float (&slopes)[kTiles][4], const float* delta,
                                             uint32_t kept) {
#pragma unroll
  for (int j = 0; j < kTiles; ++j) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int query = kOfKeys ? 8 * j + lane_pair() + i % 2 : lane_group() + i / 2 * 8;
      if ((kept >> (4 * j + i) & 1) != 0) continue;
      slopes[j][i] = -weights[j][i] * delta[query];
      weights[j][i] = 0;
    }
  }
}

// Copies what a block of queries is known by.
template <int kCount, class T>
__device__ __forceinline__ void load_statistics(float* lse, float* delta,
                                                const BackwardOperands<T>& in, int b, int h,
                                                int first) {
  static_assert(RowStatistics::kMost % kCount == 0, "heads have whole blocks");
  const int64_t at = in.statistics.at(b, h, in.heads) + first;
  for (int i = threadIdx.x; i < kCount; i += blockDim.x) {
    lse[i] = in.statistics.lse[at + i];
    delta[i] = in.statistics.delta[at + i];
  }
}

// Adds the other teams' sums to those of the first.
template <class Block, int kTiles>
__device__ __forceinline__ void gather_teams(float (&sums)[kTiles][4], float* shared) {
  const int team = threadIdx.x / Block::kTeamThreads, thread = threadIdx.x % Block::kTeamThreads;
#pragma unroll
  for (int other = 1; other < Block::kTeams; ++other) {
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 4 * kTiles; ++i)
      if (team == other) shared[i * Block::kTeamThreads + thread] = sums[i / 4][i % 4];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 4 * kTiles; ++i)
      if (team == 0) sums[i / 4][i % 4] += shared[i * Block::kTeamThreads + thread];
  }
}

// Keys from `first` on, of a head that a group of the queries' heads shares.
template <class Products, int kLength, class Block, class T = typename Products::Element,
          class Piece = typename Products::Piece>
__device__ __forceinline__ void gradient_of_keys(const Gradients<T>& to,
                                                 const BackwardOperands<T>& in, Piece* shared,
                                                 int b, int shared_head, int first) {
  constexpr int kRows = Block::kRows, kWide = Block::kColumns;
  constexpr int kPitch = Products::template kPitch<kLength>;
  using CopyOfRows = RowCopy<Products, kLength, kRows, Block::kThreads>;
  using CopyOfColumns = RowCopy<Products, kLength, kWide, Block::kThreads>;
  Piece* const keys = shared;
  Piece* const values = keys + kRows * kPitch;
  Piece* const queries = values + kRows * kPitch;
  Piece* const gs = queries + kWide * kPitch;
  float* const lse = reinterpret_cast<float*>(gs + kWide * kPitch);
  float* const delta = lse + kWide;
  const WeightDropout& dropout = in.dropout;
  const int warp_row = threadIdx.x % Block::kTeamThreads / 32 * kWarpRows;
  const int part = threadIdx.x / Block::kTeamThreads * Block::kPart;
  const int begin = in.scoring.is_causal ? first / kWide * kWide : 0;
  float key_sums[kLength / 8][4], value_sums[kLength / 8][4];
  clear(key_sums);
  clear(value_sums);
  {
    CopyOfRows own_keys(keys, in.key, b, shared_head, first);
    CopyOfRows own_values(values, in.value, b, shared_head, first);
    own_keys.end();
    own_values.end();
  }
  for (int h = shared_head * in.group; h < (shared_head + 1) * in.group; ++h) {
    for (int q = begin; q < in.scoring.queries; q += kWide) {
      __syncthreads();
      CopyOfColumns next_queries(queries, in.query, b, h, q);
      CopyOfColumns next_gs(gs, in.g, b, h, q);
      load_statistics<kWide>(lse, delta, in, b, h, q);
      next_queries.end();
      next_gs.end();
      __syncthreads();
      float scores[Block::kPart / 8][4], slopes[Block::kPart / 8][4];
      clear(scores);
      clear(slopes);
      multiply_rows<Products, kLength>(scores, keys + warp_row * kPitch, queries + part * kPitch);
      multiply_rows<Products, kLength>(slopes, values + warp_row * kPitch, gs + part * kPitch);
      score<true, (Products::kPieces > 1)>(scores, in.scoring, b, h, q + part, first + warp_row);
      differentiate_weights<true>(scores, slopes, lse + part, delta + part, dropout.factor());
      if (dropout.drops()) {
        drop_weights<true>(scores, slopes, delta + part,
                           dropout.kept<true, Block::kPart / 8>(b, h, q + part, first + warp_row));
      }
      multiply_sums<Products, kLength>(value_sums, scores, gs + part * kPitch);
      multiply_sums<Products, kLength>(key_sums, slopes, queries + part * kPitch);
    }
  }
  float* const memory = reinterpret_cast<float*>(shared);
  gather_teams<Block>(key_sums, memory);
  gather_teams<Block>(value_sums, memory);
  if (part != 0) return;
  const float scales[2] = {in.scoring.scale, in.scoring.scale},
              factors[2] = {dropout.factor(), dropout.factor()};
  if (to.key.data) store_sums<kLength>(to.key, b, shared_head, first + warp_row, key_sums, scales);
  if (to.value.data)
    store_sums<kLength>(to.value, b, shared_head, first + warp_row, value_sums, factors);
}

// Queries of a head from `first` on.
template <class Products, int kLength, class Block, class T = typename Products::Element,
          class Piece = typename Products::Piece>
__device__ __forceinline__ void gradient_of_queries(const Gradients<T>& to,
                                                    const BackwardOperands<T>& in, Piece* shared,
                                                    int b, int h, int first) {
  constexpr int kRows = Block::kRows, kWide = Block::kColumns;
  constexpr int kPitch = Products::template kPitch<kLength>;
  using CopyOfRows = RowCopy<Products, kLength, kRows, Block::kThreads>;
  using CopyOfColumns = RowCopy<Products, kLength, kWide, Block::kThreads>;
  Piece* const queries = shared;
  Piece* const gs = queries + kRows * kPitch;
  Piece* const keys = gs + kRows * kPitch;
  Piece* const values = keys + kWide * kPitch;
  float* const lse = reinterpret_cast<float*>(values + kWide * kPitch);
  float* const delta = lse + kRows;
  const WeightDropout& dropout = in.dropout;
  const int warp_row = threadIdx.x % Block::kTeamThreads / 32 * kWarpRows;
  const int part = threadIdx.x / Block::kTeamThreads * Block::kPart;
  const int end = in.scoring.last_key(first + kRows);
  float sums[kLength / 8][4];
  clear(sums);
  CopyOfRows own_queries(queries, in.query, b, h, first);
  CopyOfRows own_gs(gs, in.g, b, h, first);
  load_statistics<kRows>(lse, delta, in, b, h, first);
  own_queries.end();
  own_gs.end();
  for (int k = 0; k < end; k += kWide) {
    __syncthreads();
    CopyOfColumns next_keys(keys, in.key, b, h / in.group, k);
    CopyOfColumns next_values(values, in.value, b, h / in.group, k);
    next_keys.end();
    next_values.end();
    __syncthreads();
    float scores[Block::kPart / 8][4], slopes[Block::kPart / 8][4];
    clear(scores);
    clear(slopes);
    multiply_rows<Products, kLength>(scores, queries + warp_row * kPitch, keys + part * kPitch);
    multiply_rows<Products, kLength>(slopes, gs + warp_row * kPitch, values + part * kPitch);
    score<false, (Products::kPieces > 1)>(scores, in.scoring, b, h, first + warp_row, k + part);
    differentiate_weights<false>(scores, slopes, lse + warp_row, delta + warp_row,
                                 dropout.factor());
    if (dropout.drops()) {
      drop_weights<false>(scores, slopes, delta + warp_row,
                          dropout.kept<false, Block::kPart / 8>(b, h, first + warp_row, k + part));
    }
    multiply_sums<Products, kLength>(sums, slopes, keys + part * kPitch);
  }
  gather_teams<Block>(sums, reinterpret_cast<float*>(shared));
  if (part != 0) return;
  const float scales[2] = {in.scoring.scale, in.scoring.scale};
  store_sums<kLength>(to.query, b, h, first + warp_row, sums, scales);
}

// Blocks for devices whose shared memory has no room for larger ones, which Hopper's has.
using SmallBlock = Block<32, 32>;
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
constexpr bool kHasLargeMemory = true;
#else
constexpr bool kHasLargeMemory = false;
#endif

template <class Products, int kLength, class Block, class T = typename Products::Element>
__global__ void __launch_bounds__(Block::kThreads)
    attention_gradients(Gradients<T> to, BackwardOperands<T> in, GradientBlocks blocks) {
  extern __shared__ __align__(16) unsigned char shared[];
  auto* const memory = reinterpret_cast<typename Products::Piece*>(shared);
  int block = static_cast<int>(blockIdx.x);
  const int b = static_cast<int>(blockIdx.y);
  begin_kernel();
  if constexpr (kHasLargeMemory && std::is_same_v<Block, SmallBlock>) return;  // it has no calls
  if (block < blocks.of_keys) {
    const int head = block / blocks.per_shared_head, number = block % blocks.per_shared_head;
    gradient_of_keys<Products, kLength, Block>(to, in, memory, b, head, number * Block::kRows);
  } else {
    block -= blocks.of_keys;
    // Late queries see most keys of a triangle: they come first.
    const int head = block / blocks.per_head, number = block % blocks.per_head;
    gradient_of_queries<Products, kLength, Block>(to, in, memory, b, head,
                                                  (blocks.per_head - 1 - number) * Block::kRows);
  }
}

template <class Products, int kLength, class Block>
int32_t run_blocks(const dt_stream* stream, const calls::AttentionBackward& call) {
  using T = typename Products::Element;
  constexpr int kRows = Block::kRows, kWide = Block::kColumns;
  constexpr int64_t kBytes = 2 * (kRows + kWide) * Products::template kPitch<kLength> *
                                 int64_t{sizeof(typename Products::Piece)} +
                             2 * kRows * int64_t{sizeof(float)};
  static_assert(kWide <= kRows, "lse and delta have room");
  if (resident_blocks(stream->device, 1, kBytes) == 0) return DT_KERNEL_UNSUPPORTED;
  const dt_view &q = call.query, &k = call.key;
  const RowStatistics statistics(call.workspace, q);
  if (const int32_t code = take_statistics<T>(stream, call, statistics)) return code;
  const BackwardOperands<T> in = {HeadMatrices<const T>(q),
                                  HeadMatrices<const T>(call.g),
                                  HeadMatrices<const T>(k),
                                  HeadMatrices<const T>(call.value),
                                  statistics,
                                  Scoring(call.mask, call.scale, call.is_causal, q, k),
                                  WeightDropout(call.state, call.advance, call.p, q, k),
                                  static_cast<int>(q.sizes[1]),
                                  static_cast<int>(q.sizes[1] / k.sizes[1])};
  const GradientBlocks blocks(call, kRows);
  constexpr auto kKernel = attention_gradients<Products, kLength, Block>;
  if (const int32_t code = allow_shared<kKernel>(stream, kBytes)) return code;
  return launch(stream, kKernel, blocks.grid(call), Block::kThreads, kBytes, Gradients<T>(call), in,
                blocks);
}

template <class Products, int kLength>
int32_t run_backward(const dt_stream* stream, const calls::AttentionBackward& call) {
  constexpr int kPieces = Products::kPieces;
  if constexpr (kPieces == 1 || kLength <= 32) {
    return run_blocks<Products, kLength, Block<64, kLength <= 64 ? 64 : 32>>(stream, call);
  } else {
    // Columns are split once for all rows of a block. Some devices have less shared memory.
    using Large =
        std::conditional_t<kPieces == 3 && (kLength > 64), Block<64, 64, 2>, Block<128, 64>>;
    const int32_t result = run_blocks<Products, kLength, Large>(stream, call);
    if (result != DT_KERNEL_UNSUPPORTED) return result;
    return run_blocks<Products, kLength, SmallBlock>(stream, call);
  }
}

}  // namespace

int32_t kernels::attention_backward(const dt_stream* stream, const calls::AttentionBackward& call) {
  if (!has_kernel(call.query, call.key, call.value) || !has_dense_rows(call.g))
    return DT_KERNEL_UNSUPPORTED;
  const auto own = [&] {
    const int32_t code = attention_backward_by_warpgroups(stream, call);
    if (code != DT_KERNEL_UNSUPPORTED) return code;
    return with_products(stream, call.query, call.value, [&](auto products, auto length) {
      return run_backward<decltype(products), decltype(length)::value>(stream, call);
    });
  };
  return cudnn_can(call) ? cudnn_attention(stream, call, own) : own();
}

int64_t kernels::attention_backward_workspace(const dt_stream* stream,
                                              const calls::AttentionBackward& call) {
  if (!has_kernel(call.query, call.key, call.value)) return 0;
  const int64_t own = std::max(RowStatistics(nullptr, call.query).bytes,
                               attention_backward_by_warpgroups_workspace(stream, call));
  return cudnn_can(call) ? cudnn_attention_workspace(stream, call, own) : own;
}

}  // namespace dt::cuda
