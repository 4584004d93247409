// group_norm of [N,C,L] and its gradients. A group, C / groups * L contiguous elements, is finished
// while it lies in the cache: its statistics, then the elements that are made with them. Of a few
// large groups all threads compute pieces instead. Sums have one order either way.
#include "kernels/calls/nn.gen.h"
#include "kernels/cpu/moments.h"
#include "kernels/cpu/row_group.h"

namespace dt::cpu {
namespace {

constexpr int64_t kRun = 2048;     // elements that are summed up in the first-level cache
constexpr int64_t kPiece = 16384;  // elements that are worth a thread's while
constexpr int64_t kFewGroups = 16;

struct GroupNormShape {
  int64_t channels, length, groups;  // of all images together
  int64_t per_image;                 // channels of an image

  GroupNormShape(const dt_view& x, const dt_view& mean)
      : channels(x.sizes[0] * x.sizes[1]),
        length(x.sizes[2]),
        groups(mean.sizes[0]),
        per_image(x.sizes[1]) {}

  int64_t group_channels() const { return channels / groups; }
  int64_t group_size() const { return group_channels() * length; }
  int64_t group_pieces() const { return ceil_div(group_size(), kPiece); }
  int64_t channel_pieces() const { return ceil_div(length, kPiece); }
  bool by_pieces() const { return groups < kFewGroups && group_pieces() > 4; }
};

// Calls body(first, count) for runs of [begin, end).
template <class Body>
void for_each_run(int64_t begin, int64_t end, const Body& body) {
  for (int64_t first = begin; first < end; first += kRun) body(first, min(kRun, end - first));
}

// Calls body(channel, begin, end) for pieces of the channels, from all threads.
template <class Body>
void for_each_piece(const dt_stream* stream, const GroupNormShape& s, const Body& body) {
  const int64_t pieces = s.channel_pieces();
  parallel_for(stream, s.channels * pieces, 2 * s.channels * s.length, [&](int64_t item) {
    const int64_t begin = item % pieces * kPiece;
    body(item / pieces, begin, min(s.length, begin + kPiece));
  });
}

template <class Body>
void for_each_group(const dt_stream* stream, const GroupNormShape& s, const Body& body) {
  parallel_for(stream, s.groups, 2 * s.channels * s.length, body);
}

// ---- forward

template <class T>
class Forward {
 public:
  explicit Forward(const calls::GroupNorm& call)
      : call_(call),
        s_(call.x, call.mean),
        x_(data<const T>(call.x)),
        y_(data<T>(call.y)),
        weight_(optional_data<const T>(call.weight)),
        bias_(optional_data<const T>(call.bias)) {}

  void run(const dt_stream* stream) const {
    const int64_t channels = s_.group_channels();
    if (!s_.by_pieces()) {
      for_each_group(stream, s_, [&](int64_t group) {
        Moments total;
        for (int64_t piece = 0; piece < s_.group_pieces(); ++piece)
          merge(piece_of(group, piece), &total);
        finish(group, total);
        const int64_t first = group * channels;
        for (int64_t c = 0; c < channels; ++c) normalise(first + c, group, 0, s_.length);
      });
      return;
    }
    const int64_t pieces = s_.group_pieces();
    auto* parts = static_cast<Moments*>(call_.workspace);
    parallel_for(stream, s_.groups * pieces, 2 * s_.channels * s_.length,
                 [&](int64_t item) { parts[item] = piece_of(item / pieces, item % pieces); });
    for (int64_t group = 0; group < s_.groups; ++group) {
      Moments total;
      for (int64_t piece = 0; piece < pieces; ++piece) merge(parts[group * pieces + piece], &total);
      finish(group, total);
    }
    for_each_piece(stream, s_, [&](int64_t channel, int64_t begin, int64_t end) {
      normalise(channel, channel / channels, begin, end);
    });
  }

 private:
  static void merge(const Moments& part, Moments* total) {
    total->merge(part.count, part.mean, part.squares);
  }

  Moments piece_of(int64_t group, int64_t piece) const {
    const T* x = x_ + group * s_.group_size();
    Moments part;
    for_each_run(piece * kPiece, min(s_.group_size(), (piece + 1) * kPiece),
                 [&](int64_t first, int64_t n) { part.add_run(x + first, n); });
    return part;
  }

  void finish(int64_t group, const Moments& total) const {
    data<T>(call_.mean)[group] = static_cast<T>(total.mean);
    data<T>(call_.rstd)[group] = static_cast<T>(total.rstd(call_.eps));
  }

  void normalise(int64_t channel, int64_t group, int64_t begin, int64_t end) const {
    const int64_t c = weight_ || bias_ ? channel % s_.per_image : 0;
    const T mean = data<T>(call_.mean)[group], rstd = data<T>(call_.rstd)[group];
    const T scale = weight_ ? weight_[c] * rstd : rstd, shift = bias_ ? bias_[c] : T(0);
    const T* const x = x_ + channel * s_.length + begin;
    write_row(y_ + channel * s_.length + begin, end - begin, [=](int64_t i, int64_t count) {
      return (load_as<T>(x + i, count) - mean) * scale + shift;
    });
  }

  const calls::GroupNorm& call_;
  const GroupNormShape s_;
  const T* x_;
  T* y_;
  const T *weight_, *bias_;
};

// ---- backward: with the sums over a group of weight * g and of weight * g * (x - mean),
// gx = (g * weight - (x - mean) * slope - level) * rstd

// Sums over the elements of one channel, or a piece of it.
struct ChannelSums {
  double g = 0, gx = 0;  // of g, and of g * (x - mean)
};

template <class T>
class Backward {
 public:
  explicit Backward(const calls::GroupNormBackward& call)
      : call_(call),
        s_(call.x, call.mean),
        g_(data<const T>(call.g)),
        x_(data<const T>(call.x)),
        weight_(optional_data<const T>(call.weight)),
        sums_(static_cast<ChannelSums*>(call.workspace)) {}

  void run(const dt_stream* stream) const {
    if (s_.by_pieces()) {
      for_each_piece(stream, s_, [&](int64_t channel, int64_t begin, int64_t end) {
        add_up(channel, begin, end);
      });
      Level levels[kFewGroups];
      for (int64_t group = 0; group < s_.groups; ++group) levels[group] = level_of(group);
      for_each_piece(stream, s_, [&](int64_t channel, int64_t begin, int64_t end) {
        if (call_.gx) write_gradient(channel, begin, end, levels[channel / s_.group_channels()]);
      });
    } else {
      for_each_group(stream, s_, [&](int64_t group) { run_group(group); });
    }
    parallel_for(stream, s_.per_image, s_.channels, [&](int64_t c) { sum_images(c); });
  }

 private:
  struct Level {
    T slope, level;
  };

  void run_group(int64_t group) const {
    const int64_t count = s_.group_channels(), first = group * count;
    for (int64_t c = first; c < first + count; ++c) {
      for (int64_t begin = 0; begin < s_.length; begin += kPiece)
        add_up(c, begin, min(s_.length, begin + kPiece));
    }
    if (!call_.gx) return;
    const Level level = level_of(group);
    for (int64_t c = first; c < first + count; ++c) write_gradient(c, 0, s_.length, level);
  }

  void add_up(int64_t channel, int64_t begin, int64_t end) const {
    const T *g = g_ + channel * s_.length, *x = x_ + channel * s_.length;
    const T mean = data<const T>(call_.mean)[channel / s_.group_channels()];
    ChannelSums total;
    for_each_run(begin, end, [&](int64_t first, int64_t n) {
      double sum_g, sum_gx;
      sum_two<T>(
          n,
          [=](int64_t i, int64_t count) -> TwoSums<T> {
            const Vector<T> v = load_as<T>(g + first + i, count);
            return {v, v * (load_as<T>(x + first + i, count) - mean)};
          },
          &sum_g, &sum_gx);
      total.g += sum_g;
      total.gx += sum_gx;
    });
    sums_[channel * s_.channel_pieces() + begin / kPiece] = total;
  }

  ChannelSums sums_of(int64_t channel) const {
    const int64_t pieces = s_.channel_pieces();
    ChannelSums total;
    for (int64_t i = channel * pieces; i < (channel + 1) * pieces; ++i) {
      total.g += sums_[i].g;
      total.gx += sums_[i].gx;
    }
    return total;
  }

  Level level_of(int64_t group) const {
    const int64_t count = s_.group_channels();
    const double rstd = static_cast<double>(data<const T>(call_.rstd)[group]);
    double sum_g = 0, sum_gx = 0;
    for (int64_t channel = group * count; channel < (group + 1) * count; ++channel) {
      const ChannelSums sums = sums_of(channel);
      const double weight = weight_ ? static_cast<double>(weight_[channel % s_.per_image]) : 1;
      sum_g += weight * sums.g;
      sum_gx += weight * sums.gx;
    }
    const double size = static_cast<double>(s_.group_size());
    return {static_cast<T>(sum_gx * rstd * rstd / size), static_cast<T>(sum_g / size)};
  }

  void write_gradient(int64_t channel, int64_t begin, int64_t end, const Level& of) const {
    const int64_t group = channel / s_.group_channels();
    const T mean = data<const T>(call_.mean)[group], rstd = data<const T>(call_.rstd)[group];
    const T weight = weight_ ? weight_[channel % s_.per_image] : T(1);
    const T* __restrict g = g_ + channel * s_.length, * __restrict x = x_ + channel * s_.length;
    T* __restrict gx = data<T>(*call_.gx) + channel * s_.length;
    for (int64_t i = begin; i < end; ++i)
      gx[i] = (g[i] * weight - (x[i] - mean) * of.slope - of.level) * rstd;
  }

  void sum_images(int64_t c) const {
    double sum_g = 0, sum_gx = 0;
    for (int64_t channel = c; channel < s_.channels; channel += s_.per_image) {
      const ChannelSums sums = sums_of(channel);
      sum_g += sums.g;
      sum_gx +=
          sums.gx * static_cast<double>(data<const T>(call_.rstd)[channel / s_.group_channels()]);
    }
    if (call_.gweight) data<T>(*call_.gweight)[c] = static_cast<T>(sum_gx);
    if (call_.gbias) data<T>(*call_.gbias)[c] = static_cast<T>(sum_g);
  }

  const calls::GroupNormBackward& call_;
  const GroupNormShape s_;
  const T *g_, *x_, *weight_;
  ChannelSums* sums_;
};

}  // namespace

int32_t kernels::group_norm(const dt_stream* stream, const calls::GroupNorm& call) {
  return visit_floating(
      call.x.dtype, [&](auto type) { Forward<typename decltype(type)::type>(call).run(stream); });
}

int64_t kernels::group_norm_workspace(const dt_stream*, const calls::GroupNorm& call) {
  const GroupNormShape s(call.x, call.mean);
  return s.by_pieces() ? s.groups * s.group_pieces() * static_cast<int64_t>(sizeof(Moments)) : 0;
}

int32_t kernels::group_norm_backward(const dt_stream* stream,
                                     const calls::GroupNormBackward& call) {
  return visit_floating(
      call.g.dtype, [&](auto type) { Backward<typename decltype(type)::type>(call).run(stream); });
}

int64_t kernels::group_norm_backward_workspace(const dt_stream*,
                                               const calls::GroupNormBackward& call) {
  const GroupNormShape s(call.x, call.mean);
  return s.channels * s.channel_pieces() * static_cast<int64_t>(sizeof(ChannelSums));
}

}  // namespace dt::cpu
