// batch_norm of [N,C,L] per channel, and its gradients.
//
// Planes (contiguous [N,C,L]): a run along L belongs to one channel, so channels are reduced one at
// a time. Columns (channels-last, and [N,C] with L = 1): a run along C holds all channels of one
// position, so all channels are reduced side by side. Sums over the batch are taken in double, in
// chunks that the shape fixes.
#include "kernels/calls/nn.gen.h"
#include "kernels/cpu/channel_runs.h"
#include "kernels/cpu/moments.h"

namespace dt::cpu {
namespace {

// ---- calls with a relu behind the norm, of floats, and without

bool has_packets(const dt_view& x) {
  return x.dtype == dtype_of<float> && (!has_columns(x) || x.sizes[1] % kPacket == 0);
}

// A forward call of either kind.
struct NormCall {
  const dt_view &mean, &rstd, &x, *y, *weight, *bias, *running_mean, *running_var;
  bool training;
  double eps;
  void* workspace;
  BatchNormShape shape;
  bool with_relu = false;
  const dt_view* addend = nullptr;
  uint8_t* flags = nullptr;
  float limit = 0;

  template <class Call>
  NormCall(const Call& call, const dt_view* y)
      : mean(call.mean),
        rstd(call.rstd),
        x(call.x),
        y(y),
        weight(call.weight),
        bias(call.bias),
        running_mean(call.running_mean),
        running_var(call.running_var),
        training(call.training),
        eps(call.eps),
        workspace(call.workspace),
        shape(make_shape(call.x)) {}
};

// Part of a run of the result.
void finish_run(const NormCall& call, float* to, int64_t a, int64_t b, int64_t first, int64_t n) {
  const BatchNormShape& s = call.shape;
  float copy[kRun];
  const float* added = nullptr;
  if (call.addend) {
    const auto addend = make_operand<const float>(s, *call.addend);
    added = read_run(addend.run(a, b) + first * addend.stride, addend.stride, n, copy);
  }
  relu_run(to, added, call.limit, call.flags ? call.flags + s.flags_at(a, b, first) : nullptr, n);
}

// ---- statistics

template <class T>
void plane_moments(const BatchNormShape& s, const ChannelRuns<const T>& x, int64_t c, int64_t chunk,
                   const Partials& out) {
  Moments total;
  T copy[kRun];
  const int64_t end = min(s.batch, (chunk + 1) * s.per_chunk);
  for (int64_t n = chunk * s.per_chunk; n < end; ++n) {
    for (int64_t first = 0; first < s.length; first += kRun) {
      const int64_t count = min(kRun, s.length - first);
      total.add_run(read_run(x.run(n, c) + first * x.stride, x.stride, count, copy), count);
    }
  }
  out.first(chunk)[c] = total.mean;
  out.second(chunk)[c] = total.squares;
}

// Positions for which sums are read and written once. So many streams are more than a processor
// foresees: those of the next ones are fetched meanwhile.
constexpr int64_t kTogether = 8;

// Welford's update by a few positions from one on, of `count` channels; `before` came before them.
// They are taken relative to the first of them, so that a large mean costs no digits.
template <class T>
void add_column_moments(const BatchNormShape& s, const ChannelRuns<const T>& x, int64_t position,
                        int64_t positions, int64_t before, int64_t first, int64_t count,
                        double* mean, double* squares) {
  T copy[kTogether][kRun];
  const T* run[kTogether];
  LinePlace at(position, s.length);
  for (int64_t p = 0; p < positions; ++p, at.step())
    run[p] = read_run(x.run(at.a, at.b) + first * x.stride, x.stride, count, copy[p]);
  const int64_t ahead = kTogether * x.stride_b;
  T off[kRun], around[kRun];
  for_each_vector<T>(count, [&](int64_t i, auto lanes) {
    const Vector<T> about = load_as<T>(run[0] + i, lanes);
    Vector<T> to_off = {}, to_around = {};
    __builtin_prefetch(run[0] + i + ahead);
    for (int64_t p = 1; p < positions; ++p) {
      __builtin_prefetch(run[p] + i + ahead);
      const Vector<T> distance = load_as<T>(run[p] + i, lanes) - about;
      to_off += distance, to_around += distance * distance;
    }
    store_first(off + i, to_off, lanes), store_first(around + i, to_around, lanes);
  });
  const double number = static_cast<double>(positions), part = 1 / number,
               share = number / (static_cast<double>(before) + number),
               spread = share * static_cast<double>(before);
  for (int64_t i = 0; i < count; ++i) {
    double missed = static_cast<double>(off[i]), far = static_cast<double>(around[i]);
    if (!__builtin_isfinite(far)) {  // too large for squares of T
      missed = far = 0;
      for (int64_t p = 1; p < positions; ++p) {
        const double distance = static_cast<double>(run[p][i]) - static_cast<double>(run[0][i]);
        missed += distance, far += distance * distance;
      }
    }
    const double center = static_cast<double>(run[0][i]) + missed * part;
    const double delta = center - mean[i];
    mean[i] += delta * share;
    squares[i] += far - missed * missed * part + delta * delta * spread;
  }
}

template <class T>
void column_moments(const BatchNormShape& s, const ChannelRuns<const T>& x, int64_t chunk,
                    const Partials& out) {
  double *mean = out.first(chunk), *squares = out.second(chunk);
  for (int64_t c = 0; c < s.channels; ++c) mean[c] = 0, squares[c] = 0;
  const int64_t begin = chunk * s.per_chunk, end = min(s.count(), begin + s.per_chunk);
  for (int64_t first = 0; first < s.channels; first += kRun) {
    const int64_t count = min(kRun, s.channels - first);
    for (int64_t at = begin; at < end; at += kTogether) {
      add_column_moments(s, x, at, min(kTogether, end - at), at - begin, first, count, mean + first,
                         squares + first);
    }
  }
}

// ---- forward: y = (x - mean) * scale + shift

// What a channel is divided by without eps where its elements are equal: nothing, and so 0 is left
// of it.
template <class T>
T factor_of(T rstd) {
  return __builtin_isinf(rstd) ? T(0) : rstd;
}

// The numbers of each channel, and how they are found and used.
template <class T>
struct Normalizer {
  const NormCall& call;
  const BatchNormShape& shape;
  ChannelRuns<const T> x;
  Partials partials;
  T *mean, *rstd, *scale;
  const T *weight, *bias;

  explicit Normalizer(const NormCall& c)
      : call(c),
        shape(c.shape),
        x(make_operand<const T>(shape, c.x)),
        partials{static_cast<double*>(c.workspace), shape.channels},
        mean(data<T>(c.mean)),
        rstd(data<T>(c.rstd)),
        scale(reinterpret_cast<T*>(partials.first(shape.chunks))),
        weight(optional_data<const T>(c.weight)),
        bias(optional_data<const T>(c.bias)) {}

  void chunk_moments(int64_t c, int64_t chunk) const {
    shape.columns ? column_moments(shape, x, chunk, partials)
                  : plane_moments(shape, x, c, chunk, partials);
  }
  void batch_statistics(int64_t c) const {
    Moments total;
    for (int64_t chunk = 0; chunk < shape.chunks; ++chunk) {
      total.merge(static_cast<double>(shape.chunk_count(chunk)), partials.first(chunk)[c],
                  partials.second(chunk)[c]);
    }
    mean[c] = static_cast<T>(total.mean);
    rstd[c] = static_cast<T>(total.rstd(call.eps));
    const T factor = factor_of(rstd[c]);
    scale[c] = weight ? weight[c] * factor : factor;
  }
  void running_statistics(int64_t c) const {
    const T var = optional_data<const T>(call.running_var)[c];
    mean[c] = optional_data<const T>(call.running_mean)[c];
    rstd[c] = static_cast<T>(1.0 / __builtin_sqrt(static_cast<double>(var) + call.eps));
    scale[c] = weight ? weight[c] * rstd[c] : rstd[c];
  }
  void normalize(const ChannelRuns<T>& y, int64_t a, int64_t b, int64_t c, int64_t first,
                 int64_t n) const {
    T copy[kRun];
    const T* from = read_run(x.run(a, b) + first * x.stride, x.stride, n, copy);
    write_run<kRun>(y.run(a, b) + first * y.stride, y.stride, n, [&](T* to) {
      if (shape.columns && bias) {
        for (int64_t i = 0; i < n; ++i)
          to[i] = (from[i] - mean[c + i]) * scale[c + i] + bias[c + i];
      } else if (shape.columns) {
        for (int64_t i = 0; i < n; ++i) to[i] = (from[i] - mean[c + i]) * scale[c + i];
      } else {
        const T center = mean[c], factor = scale[c], shift = bias ? bias[c] : T(0);
        for (int64_t i = 0; i < n; ++i) to[i] = (from[i] - center) * factor + shift;
      }
      if constexpr (std::is_same_v<T, float>) {
        if (call.with_relu) finish_run(call, to, a, b, first, n);
      }
    });
  }
};

template <class T>
int32_t forward(const dt_stream* stream, const NormCall& call) {
  const BatchNormShape& s = call.shape;
  const Normalizer<T> k(call);
  const ChannelRuns<T> y = call.y ? make_operand<T>(s, *call.y) : ChannelRuns<T>();
  const auto normalize = [&](int64_t a, int64_t b, int64_t c, int64_t first, int64_t n) {
    k.normalize(y, a, b, c, first, n);
  };
  if (call.training && s.by_channels(stream)) {
    parallel_for(stream, s.channels, 2 * s.work(), [&](int64_t c) {
      for (int64_t chunk = 0; chunk < s.chunks; ++chunk) k.chunk_moments(c, chunk);
      k.batch_statistics(c);
      if (call.y) for_each_run_of(s, c, normalize);
    });
    return DT_KERNEL_OK;
  }
  if (call.training) {
    const int64_t planes = s.columns ? 1 : s.channels;
    parallel_for(stream, s.chunks * planes, 2 * s.work(),
                 [&](int64_t tile) { k.chunk_moments(tile % planes, tile / planes); });
  }
  for (int64_t c = 0; c < s.channels; ++c)
    call.training ? k.batch_statistics(c) : k.running_statistics(c);
  if (call.y) for_each_run(stream, s, normalize);
  return DT_KERNEL_OK;
}

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
        shape(make_shape(call.x)) {}

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
  for (int64_t p = 0; p < positions; ++p, at.step()) {
    run_g[p] = read_run(g.run(at.a, at.b) + first * g.stride, g.stride, count, copy_g[p]);
    run_x[p] = read_run(x.run(at.a, at.b) + first * x.stride, x.stride, count, copy_x[p]);
    flags[p] = call.flags_of(at.a, at.b, first);
  }
  const int64_t ahead_g = kTogether * g.stride_b, ahead_x = kTogether * x.stride_b;
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
  for (int64_t c = 0; c < s.channels; ++c) sum_g[c] = 0, sum_gx[c] = 0;
  const int64_t begin = chunk * s.per_chunk, end = min(s.count(), begin + s.per_chunk);
  for (int64_t first = 0; first < s.channels; first += kRun) {
    const int64_t count = min(kRun, s.channels - first);
    for (int64_t at = begin; at < end; at += kTogether) {
      add_column_sums(s, g, x, mean + first, at, min(kTogether, end - at), first, count,
                      sum_g + first, sum_gx + first, call);
    }
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
        slope(scale + shape.channels),
        level(slope + shape.channels) {}

  bool needs_sums() const { return call.training || call.gweight || call.gbias; }

  void chunk_sums(int64_t c, int64_t chunk) const {
    shape.columns ? column_sums(shape, g, x, mean, chunk, partials, call)
                  : plane_sums(shape, g, x, mean[c], c, chunk, partials, call);
  }
  // Adds the chunks' sums up in order.
  void use_sums(int64_t c) const {
    double sum_g = 0, sum_gx = 0;
    if (needs_sums()) {
      sum_g = partials.first(0)[c], sum_gx = partials.second(0)[c];
      for (int64_t chunk = 1; chunk < shape.chunks; ++chunk)
        sum_g += partials.first(chunk)[c], sum_gx += partials.second(chunk)[c];
    }
    const T kept = data<const T>(call.rstd)[c], *weight = optional_data<const T>(call.weight);
    const T rstd = call.training ? factor_of(kept) : kept;
    const double r = static_cast<double>(rstd), count = static_cast<double>(shape.count());
    if (call.gweight) data<T>(*call.gweight)[c] = static_cast<T>(sum_gx * r);
    if (call.gbias) data<T>(*call.gbias)[c] = static_cast<T>(sum_g);
    scale[c] = weight ? weight[c] * rstd : rstd;
    slope[c] = static_cast<T>(sum_gx * r * r / count);
    level[c] = static_cast<T>(sum_g / count);
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
  void write_input(int64_t a, int64_t b, int64_t c, int64_t first, int64_t n) const {
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
int32_t backward(const dt_stream* stream, const NormGradient& call) {
  const BatchNormShape& s = call.shape;
  const Gradient<T> k(call);
  const auto write_input = [&](int64_t a, int64_t b, int64_t c, int64_t first, int64_t n) {
    k.write_input(a, b, c, first, n);
  };
  if (k.needs_sums() && s.by_channels(stream)) {
    parallel_for(stream, s.channels, 2 * s.work(), [&](int64_t c) {
      for (int64_t chunk = 0; chunk < s.chunks; ++chunk) k.chunk_sums(c, chunk);
      k.use_sums(c);
      if (call.gx) for_each_run_of(s, c, write_input);
    });
    return DT_KERNEL_OK;
  }
  if (k.needs_sums()) {
    const int64_t planes = s.columns ? 1 : s.channels;
    parallel_for(stream, s.chunks * planes, 2 * s.work(),
                 [&](int64_t tile) { k.chunk_sums(tile % planes, tile / planes); });
  }
  for (int64_t c = 0; c < s.channels; ++c) k.use_sums(c);
  if (call.gx) for_each_run(stream, s, write_input);
  return DT_KERNEL_OK;
}

// ---- kernels

// For the sums, and `numbers` of each channel.
int64_t workspace_bytes(const dt_view& x, int64_t numbers) {
  const BatchNormShape s = make_shape(x);
  const int64_t sums = 2 * s.chunks * static_cast<int64_t>(sizeof(double));
  return s.channels * (sums + numbers * bytes_of(x.dtype));
}

}  // namespace

int32_t kernels::batch_norm(const dt_stream* stream, const calls::BatchNorm& call) {
  return visit_floating(call.x.dtype, [&](auto type) {
    return forward<typename decltype(type)::type>(stream, NormCall(call, call.y));
  });
}

int64_t kernels::batch_norm_workspace(const dt_stream*, const calls::BatchNorm& call) {
  return workspace_bytes(call.x, 1);
}

int32_t kernels::batch_norm_backward(const dt_stream* stream,
                                     const calls::BatchNormBackward& call) {
  return visit_floating(call.g.dtype, [&](auto type) {
    return backward<typename decltype(type)::type>(stream, NormGradient(call, nullptr, nullptr));
  });
}

int64_t kernels::batch_norm_backward_workspace(const dt_stream*,
                                               const calls::BatchNormBackward& call) {
  return workspace_bytes(call.x, 3);
}

int32_t kernels::batch_norm_relu(const dt_stream* stream, const calls::BatchNormRelu& call) {
  NormCall norm(call, &call.y);
  if (!has_packets(call.x)) return DT_KERNEL_UNSUPPORTED;
  norm.with_relu = true;
  norm.addend = call.addend;
  norm.flags = optional_data<uint8_t>(call.flags);
  norm.limit = static_cast<float>(call.limit);
  return forward<float>(stream, norm);
}

int64_t kernels::batch_norm_relu_workspace(const dt_stream*, const calls::BatchNormRelu& call) {
  return workspace_bytes(call.x, 1);
}

int32_t kernels::batch_norm_relu_backward(const dt_stream* stream,
                                          const calls::BatchNormReluBackward& call) {
  if (!has_packets(call.x)) return DT_KERNEL_UNSUPPORTED;
  return backward<float>(stream, NormGradient(call, call.gaddend, data<const uint8_t>(call.flags)));
}

int64_t kernels::batch_norm_relu_backward_workspace(const dt_stream*,
                                                    const calls::BatchNormReluBackward& call) {
  return workspace_bytes(call.x, 3);
}

}  // namespace dt::cpu
