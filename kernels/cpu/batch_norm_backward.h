// The gradients of batch_norm.
#pragma once

#include "kernels/calls/nn.gen.h"
#include "kernels/cpu/channel_runs.h"
#include "kernels/cpu/moments.h"

namespace dt::cpu {
namespace {

// A backward call of either kind.
struct NormGradient {
  const dt_view *gx, *gaddend, *gweight, *gbias, &g, &x, &mean, &rstd, *weight;
  const uint8_t* flags;  // of the norm with a relu
  bool training;
  void* workspace;
  BatchNormShape shape;

  template <class Call>
  NormGradient(const Call& call, const dt_view* gaddend, const uint8_t* flags)
      : gx(call.gx),
        gaddend(gaddend),
        gweight(call.gweight),
        gbias(call.gbias),
        g(call.g),
        x(call.x),
        mean(call.mean),
        rstd(call.rstd),
        weight(call.weight),
        flags(flags),
        training(call.training),
        workspace(call.workspace),
        shape(make_shape(call.x)) {
    const dt_view* const views[] = {&call.g, &call.x, call.gx, gaddend};
    bool are_short = flags == nullptr;
    for (const dt_view* v : views) are_short = are_short && (!v || has_short_planes(*v));
    if (are_short) shape = make_column_shape(call.x);
    for (const dt_view* v : views)
      if (v) let_follow(&shape, *v);
  }

  // Of element `first` of a run, or none.
  const uint8_t* flags_of(int64_t a, int64_t b, int64_t first) const {
    return flags ? flags + shape.flags_at(a, b, first) : nullptr;
  }
};

// What of some lanes of g, from element i of a run on, arrives at the norm.
template <class T>
inline Vector<T> arriving(const T* run, const uint8_t* flags, int64_t i, int64_t lanes) {
  const Vector<T> g = load_as<T>(run + i, lanes);
  if constexpr (std::is_same_v<T, float>) {
    if (flags) return passing(g, flags + i / kPacket, lanes);
  }
  return g;
}

// ---- backward: sums of g and of g * (x - mean), then gx = (g - (x - mean) * slope - level) *
// scale; gx = g * scale if the statistics are constants

template <class T>
void plane_sums(const BatchNormShape& s, const ChannelRuns<const T>& g,
                const ChannelRuns<const T>& x, T mean, int64_t c, int64_t chunk,
                const Partials& out, const NormGradient& call) {
  double sum_g = 0, sum_gx = 0;
  T copy_g[kRun], copy_x[kRun];
  const int64_t end = min(s.batch, (chunk + 1) * s.per_chunk);
  for (int64_t n = chunk * s.per_chunk; n < end; ++n) {
    for (int64_t first = 0; first < s.length; first += kRun) {
      const int64_t count = min(kRun, s.length - first);
      const T* run_g = read_run(g.run(n, c) + first * g.stride, g.stride, count, copy_g);
      const T* run_x = read_run(x.run(n, c) + first * x.stride, x.stride, count, copy_x);
      const uint8_t* const flags = call.flags_of(n, c, first);
      double part_g, part_gx;
      sum_two<T>(
          count,
          [=](int64_t i, int64_t lanes) -> TwoSums<T> {
            const Vector<T> v = arriving(run_g, flags, i, lanes);
            return {v, v * (load_as<T>(run_x + i, lanes) - mean)};
          },
          &part_g, &part_gx);
      sum_g += part_g, sum_gx += part_gx;
    }
  }
  out.first(chunk)[c] = sum_g;
  out.second(chunk)[c] = sum_gx;
}

// A few positions from one on, of `count` channels.
template <class T>
void add_column_sums(const BatchNormShape& s, const ChannelRuns<const T>& g,
                     const ChannelRuns<const T>& x, const T* mean, int64_t position,
                     int64_t positions, int64_t first, int64_t count, double* sum_g, double* sum_gx,
                     const NormGradient& call) {
  T copy_g[kTogether][kRun], copy_x[kTogether][kRun];
  const T *run_g[kTogether], *run_x[kTogether];
  const uint8_t* flags[kTogether];
  LinePlace at(position, s.length);
  for (int64_t p = 0; p < positions; ++p, at.step(s.together)) {
    run_g[p] = read_run(g.run(at.a, at.b) + first * g.stride, g.stride, count, copy_g[p]);
    run_x[p] = read_run(x.run(at.a, at.b) + first * x.stride, x.stride, count, copy_x[p]);
    flags[p] = call.flags_of(at.a, at.b, first);
  }
  const int64_t lines = kTogether * s.together;
  const int64_t ahead_g = lines * g.stride_b, ahead_x = lines * x.stride_b;
  T part_g[kRun], part_gx[kRun];
  for_each_vector<T>(count, [&](int64_t i, auto lanes) {
    const Vector<T> center = load_as<T>(mean + i, lanes);
    Vector<T> to_g = {}, to_gx = {};
    for (int64_t p = 0; p < positions; ++p) {
      __builtin_prefetch(run_g[p] + i + ahead_g);
      __builtin_prefetch(run_x[p] + i + ahead_x);
      const Vector<T> v = arriving(run_g[p], flags[p], i, lanes);
      to_g += v, to_gx += v * (load_as<T>(run_x[p] + i, lanes) - center);
    }
    store_first(part_g + i, to_g, lanes), store_first(part_gx + i, to_gx, lanes);
  });
  for (int64_t i = 0; i < count; ++i) {
    sum_g[i] += static_cast<double>(part_g[i]);
    sum_gx[i] += static_cast<double>(part_gx[i]);
  }
}

template <class T>
void column_sums(const BatchNormShape& s, const ChannelRuns<const T>& g,
                 const ChannelRuns<const T>& x, const T* mean, int64_t chunk, const Partials& out,
                 const NormGradient& call) {
  double *sum_g = out.first(chunk), *sum_gx = out.second(chunk);
  const int64_t begin = chunk * s.per_chunk, end = min(s.count(), begin + s.per_chunk);
  for (int64_t first = 0; first < s.channels; first += kRun) {
    const int64_t count = min(kRun, s.channels - first);
    for (int64_t at = begin; at < end; at += kTogether) {
      add_column_sums(s, g, x, mean + first, at, min(kTogether, end - at), first, count,
                      sum_g + first, sum_gx + first, call);
    }
  }
}

__attribute__((noinline)) void add_row(double* __restrict y, const double* __restrict x,
                                       int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] += x[i];
}

// The same where several positions are a run: each of them has sums of its own first.
void wide_sums(const BatchNormShape& s, const ChannelRuns<const float>& g,
               const ChannelRuns<const float>& x, const float* mean, int64_t chunk,
               const Partials& out, const NormGradient& call) {
  double sum_g[kWide] = {}, sum_gx[kWide] = {};
  const int64_t begin = chunk * s.per_chunk, end = min(s.count(), begin + s.per_chunk);
  const int64_t rows = (end - begin) / s.together, rest = (end - begin) % s.together;
  for (int64_t row = 0; row < rows; row += kTogether) {
    add_column_sums(s, g, x, mean, begin + row * s.together, min(kTogether, rows - row), 0,
                    s.width(), sum_g, sum_gx, call);
  }
  if (rest > 0) {
    add_column_sums(s, g, x, mean, begin + rows * s.together, 1, 0, rest * s.channels, sum_g,
                    sum_gx, call);
  }
  for (int64_t i = 0; i < s.together; ++i) {
    add_row(out.first(chunk), sum_g + i * s.channels, s.channels);
    add_row(out.second(chunk), sum_gx + i * s.channels, s.channels);
  }
}

// The numbers of each channel, and how they are found and used.
template <class T>
struct Gradient {
  const NormGradient& call;
  const BatchNormShape& shape;
  ChannelRuns<const T> g, x;
  const T* mean;
  Partials partials;
  T *scale, *slope, *level;

  explicit Gradient(const NormGradient& c)
      : call(c),
        shape(c.shape),
        g(make_operand<const T>(shape, c.g)),
        x(make_operand<const T>(shape, c.x)),
        mean(data<const T>(c.mean)),
        partials{static_cast<double*>(c.workspace), shape.channels},
        scale(reinterpret_cast<T*>(partials.first(shape.chunks))),
        slope(scale + shape.width()),
        level(slope + shape.width()) {
    if (shape.width() == shape.whole_channels()) return;
    T* const wide_mean = level + shape.width();
    repeat_channels(shape, mean, wide_mean);
    mean = wide_mean;
  }

  bool needs_sums() const { return call.training || call.gweight || call.gbias; }

  __attribute__((noinline)) void chunk_sums(int64_t c, int64_t chunk) const {
    if (!shape.columns) return plane_sums(shape, g, x, mean[c], c, chunk, partials, call);
    for (int64_t i = 0; i < 2 * shape.channels; ++i) partials.first(chunk)[i] = 0;
    if constexpr (std::is_same_v<T, float>) {
      if (shape.together > 1) return wide_sums(shape, g, x, mean, chunk, partials, call);
    }
    column_sums(shape, g, x, mean, chunk, partials, call);
  }
  // Adds the chunks' sums of `channels` channels from c on up in order.
  __attribute__((noinline)) void use_sums(int64_t c, int64_t channels) const {
    double *const sum_g = partials.first(0) + c, *const sum_gx = partials.second(0) + c;
    for (int64_t chunk = 1; needs_sums() && chunk < shape.chunks; ++chunk) {
      add_row(sum_g, partials.first(chunk) + c, channels);
      add_row(sum_gx, partials.second(chunk) + c, channels);
    }
    const int64_t spread = shape.spread;
    for (int64_t i = 0; i < channels / spread; ++i) {
      double of_g = 0, of_gx = 0;
      for (int64_t k = i * spread; needs_sums() && k < (i + 1) * spread; ++k)
        of_g += sum_g[k], of_gx += sum_gx[k];
      use_sums_of(c + i, of_g, of_gx);
    }
  }
  __attribute__((noinline)) void use_sums_of(int64_t c, double sum_g, double sum_gx) const {
    const T kept = data<const T>(call.rstd)[c], *weight = optional_data<const T>(call.weight);
    const T rstd = call.training ? factor_of(kept) : kept;
    const double r = static_cast<double>(rstd);
    const double count = static_cast<double>(shape.count() * shape.spread);
    if (call.gweight) data<T>(*call.gweight)[c] = static_cast<T>(sum_gx * r);
    if (call.gbias) data<T>(*call.gbias)[c] = static_cast<T>(sum_g);
    scale[c] = weight ? weight[c] * rstd : rstd;
    slope[c] = static_cast<T>(sum_gx * r * r / count);
    level[c] = static_cast<T>(sum_g / count);
  }
  void widen() const {
    for (T* numbers : {scale, slope, level}) repeat_channels(shape, numbers, numbers);
  }
  void write_addend(const T* run_g, int64_t a, int64_t b, int64_t first, int64_t n) const {
    const ChannelRuns<T> addend = make_operand<T>(shape, *call.gaddend);
    const uint8_t* const flags = call.flags_of(a, b, first);
    write_run<kRun>(addend.run(a, b) + first * addend.stride, addend.stride, n, [&](T* to) {
      for_each_vector<T>(n, [&](int64_t i, auto lanes) {
        store_first(to + i, arriving(run_g, flags, i, lanes), lanes);
      });
    });
  }
  // Calls f(v, i, lanes) with what arrives of a run of g, and writes what it makes of that.
  template <class F>
  static void map_run(T* to, const T* run_g, const uint8_t* flags, int64_t n, const F& f) {
    for_each_vector<T>(n, [&](int64_t i, auto lanes) {
      const Vector<T> v = arriving(run_g, flags, i, lanes);
      store_first(to + i, f(v, i, lanes), lanes);
    });
  }
  __attribute__((noinline)) void write_input(int64_t a, int64_t b, int64_t c, int64_t first,
                                             int64_t n) const {
    const ChannelRuns<T> gx = make_operand<T>(shape, *call.gx);
    T copy_g[kRun], copy_x[kRun];
    const T* const run_g = read_run(g.run(a, b) + first * g.stride, g.stride, n, copy_g);
    if (call.gaddend) write_addend(run_g, a, b, first, n);
    const T* const run_x = read_run(x.run(a, b) + first * x.stride, x.stride, n, copy_x);
    const uint8_t* const flags = call.flags_of(a, b, first);
    const T *const center = mean + c, *const times = scale + c, *const slopes = slope + c,
                   *const levels = level + c;
    write_run<kRun>(gx.run(a, b) + first * gx.stride, gx.stride, n, [&](T* to) {
      if (!call.training && shape.columns) {  // x, which may be infinite, takes no part
        map_run(to, run_g, flags, n, [=](Vector<T> v, int64_t i, auto lanes) {
          return v * load_as<T>(times + i, lanes);
        });
      } else if (!call.training) {
        const T factor = *times;
        map_run(to, run_g, flags, n, [=](Vector<T> v, int64_t, auto) { return v * factor; });
      } else if (shape.columns) {
        map_run(to, run_g, flags, n, [=](Vector<T> v, int64_t i, auto lanes) {
          const Vector<T> distance = load_as<T>(run_x + i, lanes) - load_as<T>(center + i, lanes);
          const Vector<T> rest =
              v - distance * load_as<T>(slopes + i, lanes) - load_as<T>(levels + i, lanes);
          return rest * load_as<T>(times + i, lanes);
        });
      } else {
        const T middle = *center, factor = *times, steep = *slopes, high = *levels;
        map_run(to, run_g, flags, n, [=](Vector<T> v, int64_t i, auto lanes) {
          return (v - (load_as<T>(run_x + i, lanes) - middle) * steep - high) * factor;
        });
      }
    });
  }
};

template <class T>
__attribute__((noinline)) int32_t backward(const dt_stream* stream, const NormGradient& call) {
  const BatchNormShape& s = call.shape;
  const Gradient<T> k(call);
  const auto write_input = [&](int64_t a, int64_t b, int64_t c, int64_t first, int64_t n) {
    k.write_input(a, b, c, first, n);
  };
  if (k.needs_sums() && s.by_channels(stream)) {
    parallel_for(stream, s.channels, 2 * s.work(), [&](int64_t c) {
      for (int64_t chunk = 0; chunk < s.chunks; ++chunk) k.chunk_sums(c, chunk);
      k.use_sums(c, 1);
      if (call.gx) for_each_run_of(s, c, write_input);
    });
    return DT_KERNEL_OK;
  }
  if (k.needs_sums()) {
    const int64_t planes = s.columns ? 1 : s.channels;
    parallel_for(stream, s.chunks * planes, 2 * s.work(),
                 [&](int64_t tile) { k.chunk_sums(tile % planes, tile / planes); });
  }
  k.use_sums(0, s.channels);
  k.widen();
  if (call.gx) for_each_run(stream, s, write_input);
  return DT_KERNEL_OK;
}

}  // namespace
}  // namespace dt::cpu
