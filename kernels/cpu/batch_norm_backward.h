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

// A run of g with the flags of what passes, which are there for floats alone.
template <class Run>
struct ArrivingRun {
  Run g;
  const uint8_t* flags;

  void fetch(int64_t i) const { g.fetch(i); }
  template <class Lanes>
  auto load(int64_t i, Lanes lanes) const {
    const auto v = g.load(i, lanes);
    if constexpr (std::is_same_v<Run, PlainRun<const float>>) {
      if (flags) return passing(v, flags + i / kPacket, lanes);
    }
    return v;
  }
};

// ---- backward: sums of g and of g * (x - mean), then gx = (g - (x - mean) * slope - level) *
// scale; gx = g * scale if the statistics are constants

template <class T, class G, class X>
void add_run_sums(G g, X x, T mean, int64_t n, double* sum_g, double* sum_gx) {
  double part_g, part_gx;
  sum_two<T>(
      n,
      [=](int64_t i, auto lanes) -> TwoSums<T> {
        const Vector<T> v = g.load(i, lanes);
        return {v, v * (x.load(i, lanes) - mean)};
      },
      &part_g, &part_gx);
  *sum_g += part_g, *sum_gx += part_gx;
}

// The same in less code, which is there twice.
template <class Half>
void add_run_sums(HalfRun<Half> g, HalfRun<Half> x, float mean, int64_t n, double* sum_g,
                  double* sum_gx) {
  Vector<float> to_g[2] = {}, to_gx[2] = {};
  constexpr typename HalfRun<Half>::AllLanes kAll;
  int64_t i = 0;
  for (; i + 2 * kHalves <= n; i += 2 * kHalves) {
    DT_UNROLL
    for (int64_t k = 0; k < 2; ++k) {
      const Vector<float> v = g.load(i + k * kHalves, kAll);
      to_g[k] += v, to_gx[k] += v * (x.load(i + k * kHalves, kAll) - mean);
    }
  }
  for (; i < n; i += kHalves) {
    const int64_t lanes = min(kHalves, n - i);
    const Vector<float> v = g.load(i, lanes);
    to_g[0] += v, to_gx[0] += keep_first(v * (x.load(i, lanes) - mean), lanes, 0.0f);
  }
  *sum_g += static_cast<double>(reduce_lanes<Sum<float>, float>(to_g[0] + to_g[1]));
  *sum_gx += static_cast<double>(reduce_lanes<Sum<float>, float>(to_gx[0] + to_gx[1]));
}

template <class T>
void plane_sums(const BatchNormShape& s, const ChannelRuns<T>& g, const ChannelRuns<T>& x, T mean,
                int64_t c, int64_t chunk, const Partials& out, const NormGradient& call) {
  double sum_g = 0, sum_gx = 0;
  T copy_g[kRun], copy_x[kRun];
  const auto add = [&](int64_t n, int64_t first, int64_t count) {
    const auto add_halves = [&](auto type) {
      using Half = typename decltype(type)::type;
      add_run_sums(g.template halves<Half>(n, c, first), x.template halves<Half>(n, c, first), mean,
                   count, &sum_g, &sum_gx);
    };
    if (with_halves(add_halves, g, x)) return;
    const ArrivingRun<PlainRun<const T>> run_g = {{g.read(n, c, first, count, copy_g)},
                                                  call.flags_of(n, c, first)};
    const PlainRun<const T> run_x = {x.read(n, c, first, count, copy_x)};
    add_run_sums(run_g, run_x, mean, count, &sum_g, &sum_gx);
  };
  const int64_t end = min(s.batch, (chunk + 1) * s.per_chunk);
  for (int64_t n = chunk * s.per_chunk; n < end; ++n) {
    for (int64_t first = 0; first < s.length; first += kRun)
      add(n, first, min(kRun, s.length - first));
  }
  out.first(chunk)[c] = sum_g;
  out.second(chunk)[c] = sum_gx;
}

// Adds those of a few positions, so many vectors ahead of which memory is fetched.
template <class T, class G, class X>
void add_position_sums(const G* g, const X* x, const T* mean, int64_t positions, int64_t count,
                       int64_t ahead_g, int64_t ahead_x, double* sum_g, double* sum_gx) {
  T part_g[kRun], part_gx[kRun];
  for_each_written(*x, count, [&](int64_t i, auto lanes) {
    const Vector<T> center = load_as<T>(mean + i, lanes);
    Vector<T> to_g = {}, to_gx = {};
    for (int64_t p = 0; p < positions; ++p) {
      g[p].fetch(i + ahead_g), x[p].fetch(i + ahead_x);
      const Vector<T> v = g[p].load(i, lanes);
      to_g += v, to_gx += v * (x[p].load(i, lanes) - center);
    }
    store_first(part_g + i, to_g, lanes), store_first(part_gx + i, to_gx, lanes);
  });
  for (int64_t i = 0; i < count; ++i) {
    sum_g[i] += static_cast<double>(part_g[i]);
    sum_gx[i] += static_cast<double>(part_gx[i]);
  }
}

// The positions from one on, of `count` channels.
template <class T>
void add_column_sums(const BatchNormShape& s, const ChannelRuns<T>& g, const ChannelRuns<T>& x,
                     const T* mean, int64_t position, int64_t positions, int64_t first,
                     int64_t count, double* sum_g, double* sum_gx, const NormGradient& call) {
  const int64_t lines = kTogether * s.together;
  const int64_t ahead_g = lines * g.stride_b, ahead_x = lines * x.stride_b;
  LinePlace at(position, s.length);
  const auto add_halves = [&](auto type) {
    using Half = typename decltype(type)::type;
    HalfRun<Half> run_g[kTogether], run_x[kTogether];
    for (int64_t p = 0; p < positions; ++p, at.step(s.together)) {
      run_g[p] = g.template halves<Half>(at.a, at.b, first);
      run_x[p] = x.template halves<Half>(at.a, at.b, first);
    }
    add_position_sums(run_g, run_x, mean, positions, count, ahead_g, ahead_x, sum_g, sum_gx);
  };
  if (count >= kHalves && with_halves(add_halves, g, x)) return;
  T copy_g[kTogether][kRun], copy_x[kTogether][kRun];
  ArrivingRun<PlainRun<const T>> run_g[kTogether];
  PlainRun<const T> run_x[kTogether];
  for (int64_t p = 0; p < positions; ++p, at.step(s.together)) {
    run_g[p] = {{g.read(at.a, at.b, first, count, copy_g[p])}, call.flags_of(at.a, at.b, first)};
    run_x[p] = {x.read(at.a, at.b, first, count, copy_x[p])};
  }
  add_position_sums(run_g, run_x, mean, positions, count, ahead_g, ahead_x, sum_g, sum_gx);
}

template <class T>
void column_sums(const BatchNormShape& s, const ChannelRuns<T>& g, const ChannelRuns<T>& x,
                 const T* mean, int64_t chunk, const Partials& out, const NormGradient& call) {
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
void wide_sums(const BatchNormShape& s, const ChannelRuns<float>& g, const ChannelRuns<float>& x,
               const float* mean, int64_t chunk, const Partials& out, const NormGradient& call) {
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
  ChannelRuns<T> g, x;
  const T* mean;
  Partials partials;
  T *scale, *slope, *level;
  const T* weight;

  explicit Gradient(const NormGradient& c)
      : call(c),
        shape(c.shape),
        g(make_operand<T>(shape, c.g)),
        x(make_operand<T>(shape, c.x)),
        mean(data<const T>(c.mean)),
        partials{static_cast<double*>(c.workspace), shape.channels},
        scale(reinterpret_cast<T*>(partials.first(shape.chunks))),
        slope(scale + shape.width()),
        level(slope + shape.width()),
        weight(read_channels(c.weight, scale)) {
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
    const T kept = data<const T>(call.rstd)[c];
    const T rstd = call.training ? factor_of(kept) : kept;
    const double r = static_cast<double>(rstd);
    const double count = static_cast<double>(shape.count() * shape.spread);
    if (call.gweight) write_channel(*call.gweight, c, static_cast<T>(sum_gx * r));
    if (call.gbias) write_channel(*call.gbias, c, static_cast<T>(sum_g));
    scale[c] = weight ? weight[c] * rstd : rstd;
    slope[c] = static_cast<T>(sum_gx * r * r / count);
    level[c] = static_cast<T>(sum_g / count);
  }
  void widen() const {
    for (T* numbers : {scale, slope, level}) repeat_channels(shape, numbers, numbers);
  }
  void write_addend(const ArrivingRun<PlainRun<const T>>& run_g, int64_t a, int64_t b,
                    int64_t first, int64_t n) const {
    make_operand<T>(shape, *call.gaddend).write(a, b, first, n, [&](T* to) {
      for_each_vector<T>(
          n, [&](int64_t i, auto lanes) { store_first(to + i, run_g.load(i, lanes), lanes); });
    });
  }
  // Writes the gradient of a run of channel c on.
  template <class To, class G, class X>
  void write_run(To to, G run_g, X run_x, int64_t c, int64_t n) const {
    const T *const center = mean + c, *const times = scale + c, *const slopes = slope + c,
                   *const levels = level + c;
    const T factor = *times, middle = *center, steep = *slopes, high = *levels;
    if (!call.training && shape.columns) {  // x, which may be infinite, takes no part
      for_each_written(to, n, [&](int64_t i, auto lanes) {
        to.store(i, run_g.load(i, lanes) * load_as<T>(times + i, lanes), lanes);
      });
    } else if (!call.training) {
      for_each_written(
          to, n, [&](int64_t i, auto lanes) { to.store(i, run_g.load(i, lanes) * factor, lanes); });
    } else if (shape.columns) {
      for_each_written(to, n, [&](int64_t i, auto lanes) {
        const Vector<T> distance = run_x.load(i, lanes) - load_as<T>(center + i, lanes);
        const Vector<T> rest = run_g.load(i, lanes) - distance * load_as<T>(slopes + i, lanes) -
                               load_as<T>(levels + i, lanes);
        to.store(i, rest * load_as<T>(times + i, lanes), lanes);
      });
    } else {
      for_each_written(to, n, [&](int64_t i, auto lanes) {
        const Vector<T> distance = run_x.load(i, lanes) - middle;
        to.store(i, (run_g.load(i, lanes) - distance * steep - high) * factor, lanes);
      });
    }
  }
  __attribute__((noinline)) void write_input(int64_t a, int64_t b, int64_t c, int64_t first,
                                             int64_t n) const {
    const ChannelRuns<T> gx = make_operand<T>(shape, *call.gx);
    const auto write_halves = [&](auto type) {
      using Half = typename decltype(type)::type;
      write_run(gx.template halves<Half>(a, b, first), g.template halves<Half>(a, b, first),
                x.template halves<Half>(a, b, first), c, n);
    };
    if (n >= kHalves && with_halves(write_halves, g, x, gx)) return;
    T copy_g[kRun], copy_x[kRun];
    const ArrivingRun<PlainRun<const T>> run_g = {{g.read(a, b, first, n, copy_g)},
                                                  call.flags_of(a, b, first)};
    if (call.gaddend) write_addend(run_g, a, b, first, n);
    const PlainRun<const T> run_x = {x.read(a, b, first, n, copy_x)};
    gx.write(a, b, first, n, [&](T* to) { write_run(PlainRun<T>{to}, run_g, run_x, c, n); });
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
