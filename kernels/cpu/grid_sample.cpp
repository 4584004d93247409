// Sampling at places of a grid. What a block of places is made of is worked out once for all
// channels. The gradient of the input is summed channel by channel, each by one thread, in the
// order of the places.
#include "kernels/calls/vision.gen.h"
#include "kernels/cpu/workers.h"
#include "kernels/grid_sample.h"

namespace dt::cpu {
namespace {

constexpr int64_t kBlock = 64;
constexpr int64_t kMaxTaps = 16;
constexpr int64_t kMaxDims = 3;

// The elements that each of a block of places is made of: products of the taps of each dimension.
template <class T>
struct Block {
  int64_t count, taps;
  int64_t offset[kMaxTaps][kBlock];  // in a plane; -1: none
  T weight[kMaxTaps][kBlock];
  T slope[kMaxDims][kMaxTaps][kBlock];  // by each coordinate, in the grid's order
};

template <class T>
class Sampler {
 public:
  // x [n, c, ...] and grid [n, ..., dims] are contiguous.
  template <class Call>
  Sampler(const Call& call, const dt_view& x, const dt_view& grid)
      : dims_(x.ndim - 2), grid_(data<const T>(grid)) {
    for (int d = 0; d < dims_; ++d) {
      axes_[d] = {x.sizes[d + 2], call.reach, call.padding, call.align_corners};
      plane_ *= x.sizes[d + 2];
      places_ *= grid.sizes[d + 1];
    }
  }

  int dims() const { return dims_; }
  int64_t plane() const { return plane_; }
  int64_t places() const { return places_; }
  int64_t blocks() const { return ceil_div(places_, kBlock); }
  int64_t taps() const {
    int64_t taps = 1;
    for (int d = 0; d < dims_; ++d) taps *= axes_[d].count();
    return taps;
  }

  void read(int64_t n, int64_t block, Block<T>* out) const {
    out->count = min(kBlock, places_ - block * kBlock);
    out->taps = taps();
    for (int64_t i = 0; i < out->count; ++i) {
      const T* coordinate = grid_ + (n * places_ + block * kBlock + i) * dims_;
      sampling::Taps<T> of[kMaxDims];
      // The grid's first coordinate is that of the last dimension.
      for (int d = 0; d < dims_; ++d) of[d] = axes_[d].taps(coordinate[dims_ - 1 - d]);
      for (int64_t k = 0; k < out->taps; ++k) combine(of, k, i, out);
    }
  }

 private:
  void combine(const sampling::Taps<T>* of, int64_t k, int64_t i, Block<T>* out) const {
    const int64_t each = axes_[0].count();
    int64_t offset = 0, rest = k;
    T weight = 1, slope[kMaxDims] = {1, 1, 1};
    for (int d = 0; d < dims_; ++d, rest /= each) {
      const int64_t tap = rest % each, at = of[d].at[tap];
      offset = offset < 0 || at < 0 ? -1 : offset * axes_[d].size + at;
      weight *= of[d].weight[tap];
      for (int e = 0; e < dims_; ++e)
        slope[dims_ - 1 - e] *= e == d ? of[d].slope[tap] : of[d].weight[tap];
    }
    out->offset[k][i] = offset;
    out->weight[k][i] = weight;
    for (int e = 0; e < dims_; ++e) out->slope[e][k][i] = slope[e];
  }

  const int dims_;
  const T* grid_;
  sampling::Axis<T> axes_[kMaxDims];
  int64_t plane_ = 1, places_ = 1;
};

template <class T>
T element(const T* plane, int64_t offset) {
  return offset < 0 ? T(0) : plane[offset];
}

template <class T>
void sample_block(const Block<T>& block, const T* plane, T* y) {
  for (int64_t i = 0; i < block.count; ++i) y[i] = 0;
  for (int64_t k = 0; k < block.taps; ++k) {
    for (int64_t i = 0; i < block.count; ++i)
      y[i] += block.weight[k][i] * element(plane, block.offset[k][i]);
  }
}

template <class T>
void forward(const dt_stream* stream, const calls::GridSample& call) {
  const Sampler<T> sampler(call, call.x, call.grid);
  const int64_t channels = call.x.sizes[1], blocks = sampler.blocks();
  const int64_t cycles = count(call.y) * (sampler.taps() + 2);
  for_each_item(stream, call.x.sizes[0] * blocks, worth_threads(stream, cycles),
                [&](int64_t item, int64_t) {
                  const int64_t n = item / blocks, b = item % blocks;
                  Block<T> block;
                  sampler.read(n, b, &block);
                  for (int64_t c = n * channels; c < (n + 1) * channels; ++c)
                    sample_block(block, data<const T>(call.x) + c * sampler.plane(),
                                 data<T>(call.y) + c * sampler.places() + b * kBlock);
                });
}

// ---- gradients

// Adds a block's part of one channel of the input's gradient.
template <class T>
void scatter_block(const Block<T>& block, const T* g, T* gx) {
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
    Block<T> block;
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
                  Block<T> block;
                  sampler.read(n, b, &block);
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
  return visit_floating(call.y.dtype,
                        [&](auto type) { forward<typename decltype(type)::type>(stream, call); });
}

int32_t kernels::grid_sample_backward(const dt_stream* stream,
                                      const calls::GridSampleBackward& call) {
  return visit_floating(call.g.dtype, [&](auto type) {
    const Sampler<typename decltype(type)::type> sampler(call, call.x, call.grid);
    if (call.gx) input_gradient(stream, call, sampler);
    if (call.ggrid) grid_gradient(stream, call, sampler);
  });
}

}  // namespace dt::cpu
