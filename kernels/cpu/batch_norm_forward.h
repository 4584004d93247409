// The statistics of each channel, and y = (x - mean) * scale + shift.
#pragma once

#include "kernels/calls/nn.gen.h"
#include "kernels/cpu/channel_runs.h"
#include "kernels/cpu/moments.h"

namespace dt::cpu {
namespace {

// A forward call of either kind.
struct NormCall {
  const dt_view &mean, &rstd, &x, *y, *weight, *bias, *running_mean, *running_var;
  bool training;
  double eps;
  void* workspace;
  BatchNormShape shape, counted;  // the latter is how statistics are found
  bool with_relu;
  const dt_view* addend = nullptr;
  uint8_t* flags = nullptr;
  float limit = 0;

  template <class Call>
  NormCall(const Call& call, const dt_view* y, bool with_relu = false)
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
        shape(make_shape(call.x)),
        counted(shape),
        with_relu(with_relu) {
    if (has_short_planes(x)) {
      counted = make_column_shape(x);
      if (!with_relu && y && has_short_planes(*y)) shape = counted;  // flags are those of planes
    }
    let_follow(&counted, call.x);
    let_follow(&shape, call.x);
    if (y) let_follow(&shape, *y);
  }
};

// What follows the norm of a run, whose addend may be copied.
ReluRun relu_of_run(const NormCall& call, int64_t a, int64_t b, int64_t first, int64_t n,
                    float* copy) {
  const BatchNormShape& s = call.shape;
  ReluRun run = {nullptr, call.limit, call.flags ? call.flags + s.flags_at(a, b, first) : nullptr};
  if (call.addend) {
    const auto addend = make_operand<float>(s, *call.addend);
    run.addend = addend.read(a, b, first, n, copy);
  }
  return run;
}

// ---- statistics

template <class T>
void plane_moments(const BatchNormShape& s, const ChannelRuns<T>& x, int64_t c, int64_t chunk,
                   const Partials& out) {
  Moments total;
  T copy[kRun];
  const int64_t end = min(s.batch, (chunk + 1) * s.per_chunk);
  for (int64_t n = chunk * s.per_chunk; n < end; ++n) {
    for (int64_t first = 0; first < s.length; first += kRun) {
      const int64_t count = min(kRun, s.length - first);
      total.add_run(x.read(n, c, first, count, copy), count);
    }
  }
  out.first(chunk)[c] = total.mean;
  out.second(chunk)[c] = total.squares;
}

// Welford's update by a few positions, of which sums relative to the first of them are known; so
// many came before them.
template <class T>
struct MomentsUpdate {
  const T* const* run;
  const int64_t positions;
  const double number, part, share, between;

  MomentsUpdate(const T* const* run, int64_t positions, int64_t before)
      : run(run),
        positions(positions),
        number(static_cast<double>(positions)),
        part(1 / number),
        share(number / (static_cast<double>(before) + number)),
        between(share * static_cast<double>(before)) {}

  // Of one channel: the sum of distances and of their squares.
  void add(int64_t i, double missed, double far, double* mean, double* squares) const {
    const double center = static_cast<double>(run[0][i]) + missed * part;
    const double delta = center - mean[i];
    mean[i] += delta * share;
    squares[i] += far - missed * missed * part + delta * delta * between;
  }

  // The same where some sums of squares are no floats.
  __attribute__((noinline, cold)) void exactly(const T* off, const T* around, int64_t count,
                                               double* mean, double* squares) const {
    for (int64_t i = 0; i < count; ++i) {
      double missed = static_cast<double>(off[i]), far = static_cast<double>(around[i]);
      if (!__builtin_isfinite(far)) {
        missed = far = 0;
        for (int64_t p = 1; p < positions; ++p) {
          const double distance = static_cast<double>(run[p][i]) - static_cast<double>(run[0][i]);
          missed += distance, far += distance * distance;
        }
      }
      add(i, missed, far, mean, squares);
    }
  }
};

// The positions from one on, of `count` channels. They are taken relative to the first of them, so
// that a large mean costs no digits.
template <class T>
void add_column_moments(const BatchNormShape& s, const ChannelRuns<T>& x, int64_t position,
                        int64_t positions, int64_t before, int64_t first, int64_t count,
                        double* __restrict mean, double* __restrict squares) {
  T copy[kTogether][kRun];
  const T* run[kTogether];
  LinePlace at(position, s.length);
  for (int64_t p = 0; p < positions; ++p, at.step(s.together))
    run[p] = x.read(at.a, at.b, first, count, copy[p]);
  const int64_t ahead = kTogether * s.together * x.stride_b;
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
  const MomentsUpdate<T> update(run, positions, before);
  if constexpr (std::is_same_v<T, float>) {
    int too_large = 0;
    for (int64_t i = 0; i < count; ++i) too_large |= !__builtin_isfinite(around[i]);
    if (too_large) return update.exactly(off, around, count, mean, squares);
  }
  for (int64_t i = 0; i < count; ++i)
    update.add(i, static_cast<double>(off[i]), static_cast<double>(around[i]), mean, squares);
}

// A chunk of positions, each of which is a run.
template <class T>
void column_moments(const BatchNormShape& s, const ChannelRuns<T>& x, int64_t chunk,
                    const Partials& out) {
  double *mean = out.first(chunk), *squares = out.second(chunk);
  const int64_t begin = chunk * s.per_chunk, end = min(s.count(), begin + s.per_chunk);
  for (int64_t first = 0; first < s.channels; first += kRun) {
    const int64_t count = min(kRun, s.channels - first);
    for (int64_t at = begin; at < end; at += kTogether) {
      add_column_moments(s, x, at, min(kTogether, end - at), at - begin, first, count, mean + first,
                         squares + first);
    }
  }
}

// Takes the moments of `other` numbers of each channel into those of `count`.
__attribute__((noinline)) void merge_moments(double count, double other, int64_t channels,
                                             double* __restrict mean, double* __restrict squares,
                                             const double* __restrict other_mean,
                                             const double* __restrict other_squares) {
  const double weight = other / (count + other);
  for (int64_t c = 0; c < channels; ++c) {
    const double delta = other_mean[c] - mean[c];
    mean[c] += delta * weight;
    squares[c] += other_squares[c] + delta * delta * count * weight;
  }
}

// The same chunk where several positions are a run: each of them has moments of its own first.
void wide_moments(const BatchNormShape& s, const ChannelRuns<float>& x, int64_t chunk,
                  const Partials& out) {
  double mean[kWide] = {}, squares[kWide] = {};
  const int64_t begin = chunk * s.per_chunk, end = min(s.count(), begin + s.per_chunk);
  const int64_t rows = (end - begin) / s.together, rest = (end - begin) % s.together;
  for (int64_t row = 0; row < rows; row += kTogether) {
    add_column_moments(s, x, begin + row * s.together, min(kTogether, rows - row), row, 0,
                       s.width(), mean, squares);
  }
  if (rest > 0) {
    add_column_moments(s, x, begin + rows * s.together, 1, rows, 0, rest * s.channels, mean,
                       squares);
  }
  double count = 0;
  for (int64_t i = 0; i < s.together; ++i) {
    const double other = static_cast<double>(rows + (i < rest));
    if (other == 0) break;
    merge_moments(count, other, s.channels, out.first(chunk), out.second(chunk),
                  mean + i * s.channels, squares + i * s.channels);
    count += other;
  }
}

// Of columns with so many elements each. Means are added up relative to the first of them, so that
// nothing is left of equal ones.
inline Moments of_columns(double count, int64_t columns, const double* mean,
                          const double* squares) {
  if (columns == 1) return {count, *mean, *squares};
  double off = 0, around = 0, within = 0;
  for (int64_t i = 1; i < columns; ++i) off += mean[i] - mean[0];
  const double center = mean[0] + off / static_cast<double>(columns);
  for (int64_t i = 0; i < columns; ++i) {
    const double delta = mean[i] - center;
    around += delta * delta, within += squares[i];
  }
  return {count * static_cast<double>(columns), center, within + count * around};
}

// ---- forward: y = (x - mean) * scale + shift

// The numbers of each channel, and how they are found and used.
template <class T>
struct Normalizer {
  const NormCall& call;
  const BatchNormShape &shape, &counted;
  ChannelRuns<T> x, counted_x;
  Partials partials;
  T *mean, *rstd, *scale;
  T *wide_mean, *wide_bias;  // where positions are one run
  const T *weight, *bias;

  explicit Normalizer(const NormCall& c)
      : call(c),
        shape(c.shape),
        counted(c.counted),
        x(make_operand<T>(shape, c.x)),
        counted_x(make_operand<T>(counted, c.x)),
        partials{static_cast<double*>(c.workspace), counted.channels},
        mean(data<T>(c.mean)),
        rstd(data<T>(c.rstd)),
        scale(reinterpret_cast<T*>(partials.first(counted.chunks))),
        wide_mean(scale + shape.width()),
        wide_bias(wide_mean + shape.width()),
        weight(read_channels(c.weight, scale)),
        bias(read_channels(c.bias, wide_bias)) {}

  __attribute__((noinline)) void chunk_moments(int64_t c, int64_t chunk) const {
    if (!counted.columns) return plane_moments(counted, counted_x, c, chunk, partials);
    for (int64_t i = 0; i < 2 * counted.channels; ++i) partials.first(chunk)[i] = 0;
    if constexpr (std::is_same_v<T, float>) {
      if (counted.together > 1) return wide_moments(counted, counted_x, chunk, partials);
    }
    column_moments(counted, counted_x, chunk, partials);
  }
  // Of `channels` channels from c on.
  __attribute__((noinline)) void batch_statistics(int64_t c, int64_t channels) const {
    double *const to = partials.first(0) + c, *const squares = partials.second(0) + c;
    double count = static_cast<double>(counted.chunk_count(0));
    for (int64_t chunk = 1; chunk < counted.chunks; ++chunk) {
      const double other = static_cast<double>(counted.chunk_count(chunk));
      merge_moments(count, other, channels, to, squares, partials.first(chunk) + c,
                    partials.second(chunk) + c);
      count += other;
    }
    const int64_t spread = counted.spread;
    for (int64_t i = 0; i < channels / spread; ++i) {
      const Moments moments = of_columns(count, spread, to + i * spread, squares + i * spread);
      use_statistics(c + i, moments.mean, moments.rstd(call.eps), true);
    }
  }
  void running_statistics() const {
    for (int64_t c = 0; c < shape.whole_channels(); ++c) {
      const double var = static_cast<double>(read_channel<T>(*call.running_var, c));
      use_statistics(c, static_cast<double>(read_channel<T>(*call.running_mean, c)),
                     1.0 / __builtin_sqrt(var + call.eps), false);
    }
  }
  __attribute__((noinline)) void use_statistics(int64_t c, double center, double over_deviation,
                                                bool of_batch) const {
    mean[c] = static_cast<T>(center);
    rstd[c] = static_cast<T>(over_deviation);
    const T factor = of_batch ? factor_of(rstd[c]) : rstd[c];
    scale[c] = weight ? weight[c] * factor : factor;
  }
  __attribute__((noinline)) void widen() {
    if (shape.width() == shape.whole_channels()) return;
    repeat_channels(shape, scale, scale);
    repeat_channels(shape, mean, wide_mean);
    mean = wide_mean;
    if (bias) repeat_channels(shape, bias, wide_bias), bias = wide_bias;
  }
  // Writes what becomes of a run of channel c on. What follows is there for floats alone.
  template <class To, class From>
  void write_run(To to, From from, int64_t c, int64_t n, const ReluRun* relu) const {
    const T *const center = mean + c, *const factor = scale + c,
                   *const shift = bias + (bias ? c : 0);
    const auto finish = [&](Vector<T> v, int64_t i, auto lanes) {
      if constexpr (std::is_same_v<To, PlainRun<float>>) {
        if (relu) v = relu->y(v, i, lanes);
      }
      to.store(i, v, lanes);
    };
    if (shape.columns) {
      for_each_written(to, n, [&](int64_t i, auto lanes) {
        const Vector<T> v =
            (from.load(i, lanes) - load_as<T>(center + i, lanes)) * load_as<T>(factor + i, lanes);
        finish(shift ? v + load_as<T>(shift + i, lanes) : v, i, lanes);
      });
    } else {
      const T middle = *center, times = *factor, level = shift ? *shift : T(0);
      for_each_written(to, n, [&](int64_t i, auto lanes) {
        finish((from.load(i, lanes) - middle) * times + level, i, lanes);
      });
    }
  }
  __attribute__((noinline)) void normalize(const ChannelRuns<T>& y, int64_t a, int64_t b, int64_t c,
                                           int64_t first, int64_t n) const {
    const auto write_halves = [&](auto type) {
      using Half = typename decltype(type)::type;
      write_run(y.template halves<Half>(a, b, first), x.template halves<Half>(a, b, first), c, n,
                nullptr);
    };
    if (n >= kHalves && with_halves(write_halves, x, y)) return;
    T copy[kRun];
    float copy_addend[kRun];
    const PlainRun<const T> from = {x.read(a, b, first, n, copy)};
    const ReluRun relu =
        call.with_relu ? relu_of_run(call, a, b, first, n, copy_addend) : ReluRun();
    y.write(a, b, first, n, [&](T* to) {
      write_run(PlainRun<T>{to}, from, c, n, call.with_relu ? &relu : nullptr);
    });
  }
};

template <class T>
__attribute__((noinline)) int32_t forward(const dt_stream* stream, const NormCall& call) {
  const BatchNormShape &s = call.shape, &counted = call.counted;
  Normalizer<T> k(call);
  const ChannelRuns<T> y = call.y ? make_operand<T>(s, *call.y) : ChannelRuns<T>();
  const auto normalize = [&](int64_t a, int64_t b, int64_t c, int64_t first, int64_t n) {
    k.normalize(y, a, b, c, first, n);
  };
  if (call.training && counted.by_channels(stream)) {
    parallel_for(stream, s.channels, 2 * s.work(), [&](int64_t c) {
      for (int64_t chunk = 0; chunk < s.chunks; ++chunk) k.chunk_moments(c, chunk);
      k.batch_statistics(c, 1);
      if (call.y) for_each_run_of(s, c, normalize);
    });
    return DT_KERNEL_OK;
  }
  if (call.training) {
    const int64_t planes = counted.columns ? 1 : counted.channels;
    parallel_for(stream, counted.chunks * planes, 2 * s.work(),
                 [&](int64_t tile) { k.chunk_moments(tile % planes, tile / planes); });
  }
  call.training ? k.batch_statistics(0, counted.channels) : k.running_statistics();
  k.widen();
  if (call.y) for_each_run(stream, s, normalize);
  return DT_KERNEL_OK;
}

}  // namespace
}  // namespace dt::cpu
