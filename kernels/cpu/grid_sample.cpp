// Sampling at places of a grid. What a block of places is made of is worked out once for all
// channels. Where an image has no more elements than are worth copying, some of its channels are
// laid side by side, so that a tap is a vector of them (grid_sample_rows.h); else each channel is
// sampled where it lies. Either way a channel's gradient is summed by one thread, in the order of
// the places.
#include "kernels/calls/vision.gen.h"
#include "kernels/cpu/grid_sample_rows.h"

namespace dt::cpu {
namespace {

template <class T>
T element(const T* plane, int64_t offset) {
  return offset < 0 ? T(0) : plane[offset];
}

// The elements of up to eight offsets, which are readable as eight.
template <class T>
void gather_eight(const T* plane, const int64_t* offset, T* to) {
#if defined(__AVX512F__)
  const __m512i at = _mm512_loadu_si512(offset);
  const __mmask8 some = _mm512_cmpge_epi64_mask(at, _mm512_setzero_si512());
  if constexpr (sizeof(T) == 8) {
    _mm512_storeu_pd(to, _mm512_mask_i64gather_pd(_mm512_setzero_pd(), some, at, plane, 8));
  } else {
    _mm256_storeu_ps(to, _mm512_mask_i64gather_ps(_mm256_setzero_ps(), some, at, plane, 4));
  }
#else
  for (int64_t i = 0; i < 8; ++i) {
    const T found = plane[max<int64_t>(offset[i], 0)];
    to[i] = offset[i] < 0 ? T(0) : found;
  }
#endif
}

template <class T>
void sample_block(const PlaceBlock<T>& block, const T* plane, T* y) {
  T sum[kBlock] = {};
  for (int64_t k = 0; k < block.taps; ++k) {
    for (int64_t i = 0; i < block.count; i += 8) {
      T found[8];
      gather_eight(plane, block.offset[k] + i, found);
      for (int64_t j = 0; j < 8; ++j) sum[i + j] += block.weight[k][i + j] * found[j];
    }
  }
  __builtin_memcpy(y, sum, static_cast<size_t>(block.count) * sizeof(T));
}

#if defined(__AVX2__) && !defined(__AVX512F__)
// The same for offsets that fit 32 bits: to gather by 64 takes longer than to read one by one.
void sample_block(const PlaceBlock<float>& block, const float* plane, float* y) {
  for (int64_t i = 0; i < block.count; i += 8) {
    __m256 sum = _mm256_setzero_ps();
    for (int64_t k = 0; k < block.taps; ++k) {
      const auto* const offset = reinterpret_cast<const float*>(block.offset[k] + i);
      const __m256 low = _mm256_loadu_ps(offset), high = _mm256_loadu_ps(offset + 8);
      const __m256i mixed = _mm256_castps_si256(_mm256_shuffle_ps(low, high, 0x88));
      const __m256i at = _mm256_permute4x64_epi64(mixed, 0xd8);
      const __m256 some = _mm256_castsi256_ps(_mm256_cmpgt_epi32(at, _mm256_set1_epi32(-1)));
      const __m256 found = _mm256_mask_i32gather_ps(_mm256_setzero_ps(), plane, at, some, 4);
      sum += load(block.weight[k] + i) * found;
    }
    i + 8 <= block.count ? store(y + i, sum) : store_first(y + i, sum, block.count - i);
  }
}
#endif

// Places behind the last of a block are made of nothing.
template <class T>
void fill_up(PlaceBlock<T>* block) {
  for (int64_t k = 0; k < block->taps; ++k) {
    for (int64_t i = block->count; i < kBlock; ++i)
      block->offset[k][i] = -1, block->weight[k][i] = 0;
  }
}

template <class T>
void forward(const dt_stream* stream, const calls::GridSample& call, const Sampler<T>& sampler) {
  const int64_t channels = call.x.sizes[1], blocks = sampler.blocks();
  const int64_t cycles = count(call.y) * (sampler.taps() + 2);
  const bool is_short = sampler.plane() <= INT32_MAX;
  for_each_item(stream, call.x.sizes[0] * blocks, worth_threads(stream, cycles),
                [&](int64_t item, int64_t) {
                  const int64_t n = item / blocks, b = item % blocks;
                  PlaceBlock<T> block;
                  sampler.read(n, b, &block);
                  fill_up(&block);
                  for (int64_t c = n * channels; c < (n + 1) * channels; ++c) {
                    const T* const plane = data<const T>(call.x) + c * sampler.plane();
                    T* const y = data<T>(call.y) + c * sampler.places() + b * kBlock;
                    is_short ? sample_block(block, plane, y) : sample_block<T>(block, plane, y);
                  }
                });
}

// ---- gradients

// Adds a block's part of one channel of the input's gradient.
template <class T>
void scatter_block(const PlaceBlock<T>& block, const T* g, T* gx) {
  for (int64_t i = 0; i < block.count; ++i) {
    for (int64_t k = 0; k < block.taps; ++k) {
      if (block.offset[k][i] >= 0) gx[block.offset[k][i]] += block.weight[k][i] * g[i];
    }
  }
}

template <class T>
void input_gradient(const dt_stream* stream, const calls::GridSampleBackward& call,
                    const Sampler<T>& sampler) {
  const int64_t channels = call.gx->sizes[1], images = call.gx->sizes[0];
  const int64_t cycles = 2 * count(call.g) * (sampler.taps() + 2);
  const bool parallel = worth_threads(stream, cycles);
  const int64_t wanted = parallel ? ceil_div(2 * stream->threads, max<int64_t>(images, 1)) : 1;
  const int64_t groups = min(channels, wanted);
  for_each_item(stream, images * groups, parallel, [&](int64_t item, int64_t) {
    const int64_t n = item / groups, group = item % groups;
    const int64_t first = n * channels + channels * group / groups;
    const int64_t last = n * channels + channels * (group + 1) / groups;
    T* gx = data<T>(*call.gx);
    for (int64_t i = first * sampler.plane(); i < last * sampler.plane(); ++i) gx[i] = 0;
    PlaceBlock<T> block;
    for (int64_t b = 0; b < sampler.blocks(); ++b) {
      sampler.read(n, b, &block);
      for (int64_t c = first; c < last; ++c)
        scatter_block(block, data<const T>(call.g) + c * sampler.places() + b * kBlock,
                      gx + c * sampler.plane());
    }
  });
}

template <class T>
void grid_gradient(const dt_stream* stream, const calls::GridSampleBackward& call,
                   const Sampler<T>& sampler) {
  const int64_t channels = call.x.sizes[1], blocks = sampler.blocks(), dims = sampler.dims();
  const int64_t cycles = 2 * count(call.g) * (sampler.taps() + 2);
  for_each_item(stream, call.x.sizes[0] * blocks, worth_threads(stream, cycles),
                [&](int64_t item, int64_t) {
                  const int64_t n = item / blocks, b = item % blocks;
                  PlaceBlock<T> block;
                  sampler.read(n, b, &block, true);
                  T sums[kMaxDims][kBlock] = {};
                  for (int64_t c = n * channels; c < (n + 1) * channels; ++c) {
                    const T* g = data<const T>(call.g) + c * sampler.places() + b * kBlock;
                    const T* plane = data<const T>(call.x) + c * sampler.plane();
                    for (int64_t k = 0; k < block.taps; ++k) {
                      T part[kBlock];
                      for (int64_t i = 0; i < block.count; ++i)
                        part[i] = g[i] * element(plane, block.offset[k][i]);
                      for (int64_t e = 0; e < dims; ++e) {
                        for (int64_t i = 0; i < block.count; ++i)
                          sums[e][i] += block.slope[e][k][i] * part[i];
                      }
                    }
                  }
                  T* ggrid = data<T>(*call.ggrid) + (n * sampler.places() + b * kBlock) * dims;
                  for (int64_t i = 0; i < block.count; ++i) {
                    for (int64_t e = 0; e < dims; ++e) ggrid[i * dims + e] = sums[e][i];
                  }
                });
}

}  // namespace

int32_t kernels::grid_sample(const dt_stream* stream, const calls::GridSample& call) {
  if (!has_short_sides(call.x)) return DT_KERNEL_UNSUPPORTED;
  return visit_floating(call.y.dtype, [&](auto type) {
    const Sampler<typename decltype(type)::type> sampler(call, call.x, call.grid);
    if (!is_sampled_by_rows(call, sampler)) return forward(stream, call, sampler);
    Workspace memory(call.workspace);
    sample_by_rows(stream, call, sampler, &memory);
  });
}

int64_t kernels::grid_sample_workspace(const dt_stream* stream, const calls::GridSample& call) {
  Workspace sizes(nullptr);
  visit_floating(call.y.dtype, [&](auto type) {
    const Sampler<typename decltype(type)::type> sampler(call, call.x, call.grid);
    if (is_sampled_by_rows(call, sampler)) sample_by_rows(stream, call, sampler, &sizes);
  });
  return sizes.bytes();
}

int32_t kernels::grid_sample_backward(const dt_stream* stream,
                                      const calls::GridSampleBackward& call) {
  if (!has_short_sides(call.x)) return DT_KERNEL_UNSUPPORTED;
  return visit_floating(call.g.dtype, [&](auto type) {
    const Sampler<typename decltype(type)::type> sampler(call, call.x, call.grid);
    Workspace memory(call.workspace);
    if (call.gx && are_rows_worth(sampler)) {
      spread_by_rows(stream, call, sampler, &memory);
    } else if (call.gx) {
      input_gradient(stream, call, sampler);
    }
    if (call.ggrid) grid_gradient(stream, call, sampler);
  });
}

int64_t kernels::grid_sample_backward_workspace(const dt_stream* stream,
                                                const calls::GridSampleBackward& call) {
  Workspace sizes(nullptr);
  visit_floating(call.g.dtype, [&](auto type) {
    const Sampler<typename decltype(type)::type> sampler(call, call.x, call.grid);
    if (call.gx && are_rows_worth(sampler)) spread_by_rows(stream, call, sampler, &sizes);
  });
  return sizes.bytes();
}

}  // namespace dt::cpu
