// Attention without a matrix of all scores, as in attention.cu, by instructions of Hopper
// (arXiv 2407.08608): one thread lets the copy engine bring keys and values, and warpgroups have 64
// queries each. A group's next scores are under way together with the sums of its last weights,
// and while it makes exponentials, the tensor cores work for the other groups.
#include "kernels/cuda/attention_forward.cuh"
#include "kernels/cuda/attention_warpgroups.cuh"
#include "kernels/cuda/attention_warpgroups.h"

namespace dt::cuda {
namespace {

constexpr int kStages = 2;

// kPlain: neither a mask nor dropout. kKeys: the keys of one stage.
template <int kLength, bool kPlain>
struct Block : Groups<kLength <= 64 ? 3 : 2> {
  static constexpr int kKeys = kPlain ? 128 : 64;
};

template <class T>
struct ForwardOperands {
  HeadMatrices<T> y;
  float* lse;  // or null
  Scoring scoring;
  WeightDropout dropout;
  int heads, group;
};

struct ForwardMaps {
  CUtensorMap query, key, value;
};

template <class T, int kLength, class Block>
struct ForwardTiles {
  alignas(kAtomBytes) T query[Block::kRows * kLength];
  alignas(kAtomBytes) T key[kStages][Block::kKeys * kLength];
  alignas(kAtomBytes) T value[kStages][Block::kKeys * kLength];
  Barrier query_came, key_came[kStages], value_came[kStages], key_free[kStages],
      value_free[kStages];
};

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

// Makes exponentials of scores, which are times `unit` in units of log2(e), relative to the largest
// so far. What was added up before is to be multiplied by `factor`. Products are rounded before the
// largest is taken from them: it is one of those, and of huge scores the rounding is no small
// number.
template <int kTiles>
__device__ __forceinline__ void weigh(float (&scores)[kTiles][4], float unit, RowState& state,
                                      float (&factor)[2]) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float top = -INFINITY, total = 0;
#pragma unroll
    for (int j = 0; j < kTiles; ++j)
      top = fmaxf(top, fmaxf(scores[j][2 * half], scores[j][2 * half + 1]));
    top = fmaxf(__fmul_rn(largest_of_row(top), unit), state.top[half]);
    const float shift = top == -INFINITY ? 0.0f : top;  // a row that has seen nothing yet
    factor[half] = exp2_of(state.top[half] - shift);
#pragma unroll
    for (int j = 0; j < kTiles; ++j) {
#pragma unroll
      for (int i = 2 * half; i < 2 * half + 2; ++i) {
        scores[j][i] = exp2_of(__fmul_rn(scores[j][i], unit) - shift);
        total += scores[j][i];
      }
    }
    state.top[half] = top;
    state.total[half] = state.total[half] * factor[half] + total;
  }
}

// The thread that has things copied.
template <class T, int kLength, class Block>
__device__ __forceinline__ void bring(ForwardTiles<T, kLength, Block>& tiles,
                                      const ForwardOperands<T>& in, const ForwardMaps& maps,
                                      int first) {
  constexpr int kKeys = Block::kKeys;
  const int h = blockIdx.y, b = blockIdx.z, shared_head = h / in.group;
  const int end = in.scoring.last_key(first + Block::kRows);
  tiles.query_came.expect(sizeof tiles.query);
  copy_tile<Block::kRows, kLength>(tiles.query, maps.query, b, h, first, tiles.query_came);
  Turn<kStages> turn;
#pragma unroll 1
  for (int k = 0; k < end; k += kKeys, turn.advance()) {
    const int place = turn.place;
    tiles.key_free[place].wait(turn.phase ^ 1);
    tiles.key_came[place].expect(sizeof tiles.key[0]);
    copy_tile<kKeys, kLength>(tiles.key[place], maps.key, b, shared_head, k, tiles.key_came[place]);
    tiles.value_free[place].wait(turn.phase ^ 1);
    tiles.value_came[place].expect(sizeof tiles.value[0]);
    copy_tile<kKeys, kLength>(tiles.value[place], maps.value, b, shared_head, k,
                              tiles.value_came[place]);
  }
}

// A group's 64 queries, of a block's from `first` on.
template <bool kPlain, class T, int kLength, class Block>
__device__ __forceinline__ void attend(ForwardTiles<T, kLength, Block>& tiles,
                                       const ForwardOperands<T>& in, int first) {
  constexpr int kKeys = Block::kKeys, kSteps = kKeys / kProductDepth;
  using Products = WarpgroupProducts<T>;
  const int h = blockIdx.y, b = blockIdx.z;
  const int group_row = threadIdx.x / kGroupThreads * kGroupRows;
  const int row = first + threadIdx.x / kWarp * kWarpRows;  // of the warp
  // The first group of a triangle ends before the last one, and leaves no place occupied that what
  // still comes would need.
  static_assert(kStages * kKeys >= Block::kRows - kGroupRows, "so many keys before, at most");
  const int end = in.scoring.last_key(first + group_row + kGroupRows);
  float sums[kLength / 8][4], scores[kKeys / 8][4];
  uint32_t weights[kSteps][4];
  clear(sums);
  RowState state;
  Turn<kStages> of_keys, of_values;
  const auto start_scores = [&] {
    tiles.key_came[of_keys.place].wait(of_keys.phase);
    begin_products();
    Products::template multiply_rows<kLength, Block::kRows, kKeys>(
        scores, tiles.query + group_row * kPanel, tiles.key[of_keys.place]);
    close_products();
  };
  const auto start_sums = [&] {
    tiles.value_came[of_values.place].wait(of_values.phase);
    begin_products();
    Products::template multiply_sums<kKeys>(sums, weights, tiles.value[of_values.place]);
    close_products();
  };
  const auto free_keys = [&] {
    free_place(tiles.key_free[of_keys.place]);
    of_keys.advance();
  };
  const auto free_values = [&] {
    free_place(tiles.value_free[of_values.place]);
    of_values.advance();
  };
  float factor[2];
  const auto weigh_keys = [&](int k) {
    const float unit = prepare_scores<false, !kPlain>(scores, in.scoring, b, h, row, k);
    weigh(scores, unit, state, factor);
    uint32_t kept = ~0u;
    if constexpr (!kPlain) {
      if (in.dropout.drops()) kept = in.dropout.template kept<false, kKeys / 8>(b, h, row, k);
    }
    return kept;
  };
  tiles.query_came.wait(0);
  start_scores();
  wait_products<0>();
  hold(scores);
  free_keys();
  pack<T, kPlain>(weights, scores, weigh_keys(0));
  for (int k = kKeys; k < end; k += kKeys) {
    start_scores();
    start_sums();
    wait_products<1>();
    hold(scores);
    free_keys();
    const uint32_t kept = weigh_keys(k);
    wait_products<0>();
    hold(sums);
    hold(weights);
    free_values();
#pragma unroll
    for (int j = 0; j < kLength / 8; ++j) {
#pragma unroll
      for (int i = 0; i < 4; ++i) sums[j][i] *= factor[i / 2];
    }
    pack<T, kPlain>(weights, scores, kept);
  }
  start_sums();
  wait_products<0>();
  hold(sums);
  free_values();
  end_rows(factor, state, in.dropout, in.lse, in.heads, in.scoring.queries, b, h, row);
  store_sums<kLength>(in.y, b, h, row, sums, factor);
}

#endif

template <class T, int kLength, bool kPlain>
__global__ void __launch_bounds__(Block<kLength, kPlain>::kThreads, 1)
    attend_by_warpgroups(ForwardOperands<T> in, const __grid_constant__ ForwardMaps maps) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  using Of = Block<kLength, kPlain>;
  auto& tiles = block_tiles<ForwardTiles<T, kLength, Of>>();
  // Late queries see most keys of a triangle: they come first.
  const int first = (gridDim.x - 1 - blockIdx.x) * Of::kRows;
  if (threadIdx.x == 0) {
    tiles.query_came.open(1);
    for (int i = 0; i < kStages; ++i) {
      tiles.key_came[i].open(1), tiles.value_came[i].open(1);
      tiles.key_free[i].open(Of::kWarps), tiles.value_free[i].open(Of::kWarps);
    }
    publish_barriers();
  }
  __syncthreads();
  begin_kernel();
  if (threadIdx.x >= Of::kConsumers) {
    give_registers_but<Of::kRegistersToCopy>();
    if (threadIdx.x == Of::kConsumers) bring(tiles, in, maps, first);
  } else {
    take_registers_up_to<Of::kRegisters>();
    attend<kPlain>(tiles, in, first);
  }
#endif
}

template <class T, int kLength, bool kPlain>
int32_t run(const dt_stream* stream, const calls::Attention& call) {
  using Of = Block<kLength, kPlain>;
  constexpr int64_t kBytes = shared_bytes<ForwardTiles<T, kLength, Of>>();
  constexpr auto kKernel = attend_by_warpgroups<T, kLength, kPlain>;
  if (const int32_t code = allow_shared<kKernel>(stream, kBytes)) return code;
  const dt_view &q = call.query, &k = call.key;
  ForwardMaps maps;
  int32_t code = make_map(q, &maps.query);
  if (code == DT_KERNEL_OK) code = make_map(k, &maps.key);
  if (code == DT_KERNEL_OK) code = make_map(call.value, &maps.value);
  if (code != DT_KERNEL_OK) return code;
  const ForwardOperands<T> in = {HeadMatrices<T>(call.y),
                                 call.lse ? static_cast<float*>(call.lse->data) : nullptr,
                                 Scoring(call.mask, call.scale, call.is_causal, q, k),
                                 WeightDropout(call.state, call.advance, call.p, q, k),
                                 static_cast<int>(q.sizes[1]),
                                 static_cast<int>(q.sizes[1] / k.sizes[1])};
  const dim3 grid(static_cast<unsigned>(divide_up(q.sizes[2], Of::kRows)),
                  static_cast<unsigned>(q.sizes[1]), static_cast<unsigned>(q.sizes[0]));
  return launch(stream, kKernel, grid, Of::kThreads, kBytes, in, maps);
}

}  // namespace

int32_t attention_by_warpgroups(const dt_stream* stream, const calls::Attention& call) {
  return with_warpgroups(stream, call, [&](auto type, auto length, auto plain) {
    return run<typename decltype(type)::type, decltype(length)::value, decltype(plain)::value>(
        stream, call);
  });
}

}  // namespace dt::cuda
