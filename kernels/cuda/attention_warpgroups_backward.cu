// Gradients of attention as in attention_backward.cu, in the same fixed order, by instructions of
// Hopper: one thread lets the copy engine bring columns, and two warpgroups have 64 rows each,
// which stay in shared memory. All sums are in registers; weights and slopes never leave them.
#include "kernels/cuda/attention_backward.cuh"
#include "kernels/cuda/attention_warpgroups.cuh"
#include "kernels/cuda/attention_warpgroups.h"

namespace dt::cuda {
namespace {

using Block = Groups<2>;
constexpr int kStages = 2, kColumns = 64;
static_assert(RowStatistics::kMost % Block::kRows == 0, "heads have whole blocks of statistics");

template <class T>
struct BackwardOperands {
  Gradients<T> to;
  RowStatistics statistics;
  Scoring scoring;
  WeightDropout dropout;
  int heads, group;
  GradientBlocks blocks;
};

struct BackwardMaps {
  CUtensorMap query, g, key, value;
};

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

// The first of two matrices makes scores: it is of queries or keys. The second, of g or values,
// makes slopes.
template <class T, int kLength>
struct BackwardTiles {
  alignas(kAtomBytes) T rows[2][Block::kRows * kLength];
  alignas(kAtomBytes) T columns[kStages][2][kColumns * kLength];
  alignas(128) float lse[kStages][kColumns], delta[kStages][kColumns];  // of columns of queries
  Barrier rows_came, came[kStages], free[kStages];
};

// What a block does: rows of a head, and the columns that they meet.
struct Piece {
  int b, head, first;    // of rows
  int from_head, heads;  // of columns
  int begin, end;        // columns of each of those
};

template <bool kOfKeys, class T>
__device__ __forceinline__ Piece piece_of(const BackwardOperands<T>& in) {
  const int block = static_cast<int>(blockIdx.x) - (kOfKeys ? 0 : in.blocks.of_keys),
            b = static_cast<int>(blockIdx.y);
  if constexpr (kOfKeys) {
    const int head = block / in.blocks.per_shared_head,
              first = block % in.blocks.per_shared_head * Block::kRows;
    return {b,
            head,
            first,
            head * in.group,
            in.group,
            in.scoring.is_causal ? first : 0,
            in.scoring.queries};
  } else {
    // Late queries see most keys of a triangle: they come first.
    const int head = block / in.blocks.per_head,
              first = (in.blocks.per_head - 1 - block % in.blocks.per_head) * Block::kRows;
    return {b, head, first, head / in.group, 1, 0, in.scoring.last_key(first + Block::kRows)};
  }
}

// The thread that has things copied.
template <bool kOfKeys, int kLength, class T>
__device__ __forceinline__ void bring(BackwardTiles<T, kLength>& tiles, const BackwardMaps& maps,
                                      const BackwardOperands<T>& in, const Piece& piece) {
  const CUtensorMap &row = kOfKeys ? maps.key : maps.query,
                    &row_slope = kOfKeys ? maps.value : maps.g,
                    &column = kOfKeys ? maps.query : maps.key,
                    &column_slope = kOfKeys ? maps.g : maps.value;
  tiles.rows_came.expect(sizeof tiles.rows);
  copy_tile<Block::kRows, kLength>(tiles.rows[0], row, piece.b, piece.head, piece.first,
                                   tiles.rows_came);
  copy_tile<Block::kRows, kLength>(tiles.rows[1], row_slope, piece.b, piece.head, piece.first,
                                   tiles.rows_came);
  Turn<kStages> turn;
  for (int h = piece.from_head; h < piece.from_head + piece.heads; ++h) {
    for (int c = piece.begin; c < piece.end; c += kColumns, turn.advance()) {
      const int place = turn.place;
      Barrier& came = tiles.came[place];
      tiles.free[place].wait(turn.phase ^ 1);
      came.expect(sizeof tiles.columns[0] + (kOfKeys ? 2 * sizeof tiles.lse[0] : 0));
      copy_tile<kColumns, kLength>(tiles.columns[place][0], column, piece.b, h, c, came);
      copy_tile<kColumns, kLength>(tiles.columns[place][1], column_slope, piece.b, h, c, came);
      if constexpr (kOfKeys) {
        const int64_t at = in.statistics.at(piece.b, h, in.heads) + c;
        copy_numbers(tiles.lse[place], in.statistics.lse + at, kColumns, came);
        copy_numbers(tiles.delta[place], in.statistics.delta + at, kColumns, came);
      }
    }
  }
}

// Makes weights of scores, which are times `unit` in units of log2(e), and gradients of the scores
// of those of the weights. lse and delta belong to queries, which are columns where rows are keys,
// else the lane's two rows.
template <bool kOfKeys, bool kPlain, int kTiles>
__device__ __forceinline__ void make_slopes(float (&scores)[kTiles][4], float (&slopes)[kTiles][4],
                                            float unit, const float* lse, const float* delta,
                                            uint32_t kept, float factor) {
#pragma unroll
  for (int j = 0; j < kTiles; ++j) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int query = kOfKeys ? 8 * j + lane_pair() + i % 2 : i / 2;
      scores[j][i] = exp2_of(fmaf(scores[j][i], unit, -lse[query]));
      if constexpr (!kPlain)
        slopes[j][i] = (kept >> (4 * j + i) & 1) != 0 ? slopes[j][i] * factor : 0.0f;
      slopes[j][i] = scores[j][i] * (slopes[j][i] - delta[query]);
    }
  }
}

// Of a lane's two rows of queries.
template <class T>
__device__ __forceinline__ void load_statistics(float (&lse)[2], float (&delta)[2],
                                                const BackwardOperands<T>& in, const Piece& piece,
                                                int row) {
  const int64_t at = in.statistics.at(piece.b, piece.head, in.heads) + row;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    lse[half] = in.statistics.lse[at + 8 * half];
    delta[half] = in.statistics.delta[at + 8 * half];
  }
}

// A group's 64 rows.
template <bool kOfKeys, bool kPlain, int kLength, class T>
__device__ __forceinline__ void gradient_of_rows(BackwardTiles<T, kLength>& tiles,
                                                 const BackwardOperands<T>& in,
                                                 const Piece& piece) {
  using Products = WarpgroupProducts<T>;
  constexpr int kTiles = kColumns / 8, kSteps = kColumns / kProductDepth;
  const int group_row = threadIdx.x / kGroupThreads * kGroupRows;
  const int warp_row = piece.first + threadIdx.x / kWarp * kWarpRows;
  float row_lse[2], row_delta[2];
  if constexpr (!kOfKeys) load_statistics(row_lse, row_delta, in, piece, warp_row + lane_group());
  float sums[kLength / 8][4], value_sums[kOfKeys ? kLength / 8 : 1][4];
  clear(sums);
  clear(value_sums);
  tiles.rows_came.wait(0);
  const T* const own = tiles.rows[0] + group_row * kPanel;
  const T* const own_slope = tiles.rows[1] + group_row * kPanel;
  Turn<kStages> turn;
  for (int h = piece.from_head; h < piece.from_head + piece.heads; ++h) {
    for (int c = piece.begin; c < piece.end; c += kColumns, turn.advance()) {
      const int place = turn.place;
      const T* const column = tiles.columns[place][0];
      const T* const column_slope = tiles.columns[place][1];
      float scores[kTiles][4], slopes[kTiles][4];
      uint32_t weights[kSteps][4], weight_slopes[kSteps][4];
      tiles.came[place].wait(turn.phase);
      // A triangle's corner is seen by one group alone.
      if (in.scoring.is_causal && (kOfKeys ? c + kColumns <= piece.first + group_row
                                           : c >= piece.first + group_row + kGroupRows)) {
        free_place(tiles.free[place]);
        continue;
      }
      begin_products();
      Products::template multiply_rows<kLength, Block::kRows, kColumns>(scores, own, column);
      close_products();
      Products::template multiply_rows<kLength, Block::kRows, kColumns>(slopes, own_slope,
                                                                        column_slope);
      close_products();
      const int query = kOfKeys ? c : warp_row, key = kOfKeys ? warp_row : c;
      const int query_head = kOfKeys ? h : piece.head;
      const float* const lse = kOfKeys ? tiles.lse[place] : row_lse;
      const float* const delta = kOfKeys ? tiles.delta[place] : row_delta;
      uint32_t kept = ~0u;
      if (!kPlain && in.dropout.drops())
        kept = in.dropout.template kept<kOfKeys, kTiles>(piece.b, query_head, query, key);
      wait_products<1>();
      hold(scores);
      const float unit =
          prepare_scores<kOfKeys, !kPlain>(scores, in.scoring, piece.b, query_head, query, key);
      wait_products<0>();
      hold(slopes);
      make_slopes<kOfKeys, kPlain>(scores, slopes, unit, lse, delta, kept, in.dropout.factor());
      pack<T, true>(weight_slopes, slopes);
      if constexpr (kOfKeys) pack<T, kPlain>(weights, scores, kept);
      // All at once. Beginning those of weights sooner was slower: the other group's had to wait.
      begin_products();
      if constexpr (kOfKeys)
        Products::template multiply_sums<kColumns>(value_sums, weights, column_slope);
      Products::template multiply_sums<kColumns>(sums, weight_slopes, column);
      close_products();
      wait_products<0>();
      hold(sums);
      if constexpr (kOfKeys) hold(value_sums);
      free_place(tiles.free[place]);
    }
  }
  const float scales[2] = {in.scoring.scale, in.scoring.scale};
  HeadMatrices<T> to = kOfKeys ? in.to.key : in.to.query;
  if (to.data) store_sums<kLength>(to, piece.b, piece.head, warp_row, sums, scales);
  if constexpr (kOfKeys) {
    const float factors[2] = {in.dropout.factor(), in.dropout.factor()};
    if (in.to.value.data)
      store_sums<kLength>(in.to.value, piece.b, piece.head, warp_row, value_sums, factors);
  }
}

#endif

template <class T, int kLength, bool kPlain>
__global__ void __launch_bounds__(Block::kThreads, 1)
    differentiate_by_warpgroups(BackwardOperands<T> in, const __grid_constant__ BackwardMaps maps) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  auto& tiles = block_tiles<BackwardTiles<T, kLength>>();
  if (threadIdx.x == 0) {
    tiles.rows_came.open(1);
    for (int i = 0; i < kStages; ++i) tiles.came[i].open(1), tiles.free[i].open(Block::kWarps);
    publish_barriers();
  }
  __syncthreads();
  begin_kernel();
  const bool is_of_keys = static_cast<int>(blockIdx.x) < in.blocks.of_keys;
  if (threadIdx.x >= Block::kConsumers) {
    give_registers_but<Block::kRegistersToCopy>();
    if (threadIdx.x != Block::kConsumers) return;
    if (is_of_keys)
      bring<true>(tiles, maps, in, piece_of<true>(in));
    else
      bring<false>(tiles, maps, in, piece_of<false>(in));
  } else {
    take_registers_up_to<Block::kRegisters>();
    if (is_of_keys)
      gradient_of_rows<true, kPlain>(tiles, in, piece_of<true>(in));
    else
      gradient_of_rows<false, kPlain>(tiles, in, piece_of<false>(in));
  }
#endif
}

template <class T, int kLength, bool kPlain>
int32_t run(const dt_stream* stream, const calls::AttentionBackward& call) {
  constexpr int64_t kBytes = tile_bytes<T>(2 * (Block::kRows + kStages * kColumns) * kLength,
                                           2 * kStages * kColumns * sizeof(float));
  constexpr auto kKernel = differentiate_by_warpgroups<T, kLength, kPlain>;
  if (const int32_t code = allow_shared<kKernel>(stream, kBytes)) return code;
  const dt_view &q = call.query, &k = call.key;
  BackwardMaps maps;
  int32_t code = make_map(q, &maps.query);
  if (code == DT_KERNEL_OK) code = make_map(call.g, &maps.g);
  if (code == DT_KERNEL_OK) code = make_map(k, &maps.key);
  if (code == DT_KERNEL_OK) code = make_map(call.value, &maps.value);
  const RowStatistics statistics(call.workspace, q);
  if (code == DT_KERNEL_OK) code = take_statistics<T>(stream, call, statistics);
  if (code != DT_KERNEL_OK) return code;
  const BackwardOperands<T> in = {Gradients<T>(call),
                                  statistics,
                                  Scoring(call.mask, call.scale, call.is_causal, q, k),
                                  WeightDropout(call.state, call.advance, call.p, q, k),
                                  static_cast<int>(q.sizes[1]),
                                  static_cast<int>(q.sizes[1] / k.sizes[1]),
                                  GradientBlocks(call, Block::kRows)};
  return launch(stream, kKernel, in.blocks.grid(call), Block::kThreads, kBytes, in, maps);
}

}  // namespace

int32_t attention_backward_by_warpgroups(const dt_stream* stream,
                                         const calls::AttentionBackward& call) {
  return with_warpgroups(stream, call, [&](auto type, auto length, auto plain) -> int32_t {
    if (!has_map(call.g)) return DT_KERNEL_UNSUPPORTED;
    return run<typename decltype(type)::type, decltype(length)::value, decltype(plain)::value>(
        stream, call);
  });
}

}  // namespace dt::cuda
