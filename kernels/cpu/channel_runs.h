// How batch_norm walks over [N,C,L]: in runs that lie in memory, and in chunks for its sums.
#pragma once

#include "kernels/channel_order.h"
#include "kernels/cpu/relu_flags.h"
#include "kernels/cpu/rows.h"

namespace dt::cpu {
namespace {

constexpr int64_t kRun = 512;  // elements that are handled at once
constexpr int64_t kPieces = 64;

// The runs of one operand: lines[a][b] is a run of `length` elements. Planes: a = n, b = c.
// Columns: a = n, b = l.
template <class T>
struct ChannelRuns {
  T* data;
  int64_t stride_a, stride_b, stride;

  T* run(int64_t a, int64_t b) const { return data + a * stride_a + b * stride_b; }
};

struct BatchNormShape {
  int64_t batch, channels, length;
  bool columns;
  int64_t chunks, per_chunk;  // planes: chunks of n; columns: chunks of positions n * length + l

  int64_t count() const { return batch * length; }                 // elements of a channel
  int64_t positions() const { return columns ? count() : batch; }  // what chunks are made of
  int64_t work() const { return count() * channels; }
  int64_t chunk_count(int64_t chunk) const {  // elements of a channel in a chunk
    const int64_t end = min(positions(), (chunk + 1) * per_chunk);
    return (end - chunk * per_chunk) * (columns ? 1 : length);
  }
  // Whether a thread does all that there is to do for a channel, which then stays in its caches.
  bool by_channels(const dt_stream* stream) const {
    return !columns && (chunks == 1 || channels >= 4 * stream->threads);
  }
  // Where the flags of element `first` of a run lie.
  int64_t flags_at(int64_t a, int64_t b, int64_t first) const {
    const int64_t lines = columns ? length : channels, run = columns ? channels : length;
    return (a * lines + b) * ceil_div(run, kPacket) + first / kPacket;
  }
};

inline BatchNormShape make_shape(const dt_view& x) {
  BatchNormShape s;
  s.batch = x.sizes[0], s.channels = x.sizes[1], s.length = x.sizes[2];
  s.columns = has_columns(x);
  const int64_t others = s.columns ? 1 : max<int64_t>(1, s.channels);
  const int64_t worth = max<int64_t>(1, s.work() / (kSerialWork / 2));
  const int64_t wanted =
      min(min(worth, max<int64_t>(1, kPieces / others)), max<int64_t>(1, s.positions()));
  s.per_chunk = max<int64_t>(1, ceil_div(s.positions(), wanted));
  s.chunks = max<int64_t>(1, ceil_div(s.positions(), s.per_chunk));
  return s;
}

template <class T>
ChannelRuns<T> make_operand(const BatchNormShape& s, const dt_view& v) {
  if (s.columns) return {data<T>(v), v.strides[0], v.strides[2], v.strides[1]};
  return {data<T>(v), v.strides[0], v.strides[1], v.strides[2]};
}

// Line number `line` of some whose inner dimension is so large, and those behind it.
struct LinePlace {
  int64_t inner, a, b;

  LinePlace(int64_t line, int64_t inner) : inner(inner), a(line / inner), b(line % inner) {}
  void step() {
    if (++b == inner) b = 0, ++a;
  }
};

// Calls body(a, b, c, first, n) for each part of a run, in memory order: a and b pick the run,
// elements [first, first + n) of it are meant, and c is the channel of the first of them.
template <class Body>
void for_each_run(const dt_stream* stream, const BatchNormShape& s, const Body& body) {
  const int64_t inner = s.columns ? s.length : s.channels, run = s.columns ? s.channels : s.length;
  const int64_t lines = s.batch * inner;
  const int64_t group = max<int64_t>(1, kSerialWork / 2 / max<int64_t>(1, run));
  parallel_for(stream, ceil_div(lines, group), 2 * s.work(), [&](int64_t tile) {
    const int64_t end = min(lines, (tile + 1) * group);
    LinePlace at(tile * group, inner);
    for (int64_t line = tile * group; line < end; ++line, at.step()) {
      for (int64_t first = 0; first < run; first += kRun)
        body(at.a, at.b, s.columns ? first : at.b, first, min(kRun, run - first));
    }
  });
}

// The same for the runs of a channel of planes, from the last image on: the caches still have it.
template <class Body>
void for_each_run_of(const BatchNormShape& s, int64_t c, const Body& body) {
  for (int64_t n = s.batch - 1; n >= 0; --n) {
    for (int64_t first = 0; first < s.length; first += kRun)
      body(n, c, c, first, min(kRun, s.length - first));
  }
}

// The scratch memory of the sums: two doubles for each chunk and channel.
struct Partials {
  double* sums;
  int64_t channels;

  double* first(int64_t chunk) const { return sums + 2 * chunk * channels; }
  double* second(int64_t chunk) const { return first(chunk) + channels; }
};

}  // namespace
}  // namespace dt::cpu
