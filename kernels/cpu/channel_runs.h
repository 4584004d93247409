// How batch_norm walks over [N,C,L]: in runs that lie in memory, and in chunks for its sums.
//
// Planes that are hardly worth a call, such as of 7x7, of images that are small as a whole are
// columns: an image is one run, in which a channel has as many columns as positions. What is found
// of each column is put together at last.
#pragma once

#include "kernels/channel_order.h"
#include "kernels/cpu/convert.h"
#include "kernels/cpu/halves.h"
#include "kernels/cpu/relu_flags.h"
#include "kernels/cpu/rows.h"

namespace dt::cpu {
namespace {

constexpr int64_t kRun = 512;  // elements that are handled at once
constexpr int64_t kPieces = 64;
constexpr int64_t kWide = 512;  // elements of a run that is worth a call
constexpr int64_t kShortPlane = 64, kMostColumns = 4096, kFewImages = 8;

// A dense run as it lies in memory: `load` and `store` take some lanes, from element i on.
template <class T>
struct PlainRun {
  using Number = std::remove_const_t<T>;

  T* elements;

  void fetch(int64_t i) const { __builtin_prefetch(elements + i); }
  Vector<Number> load(int64_t i, int64_t lanes) const {
    return load_as<Number>(elements + i, lanes);
  }
  void store(int64_t i, Vector<Number> v, int64_t lanes) const {
    store_first(elements + i, v, lanes);
  }
};

// The same of floats of 16 bits, which are converted in registers.
template <class Half>
struct HalfRun {
  Half* elements;

  using AllLanes = std::integral_constant<int64_t, kHalves>;

  void fetch(int64_t i) const { __builtin_prefetch(elements + i); }
  template <class Lanes>
  Vector<float> load(int64_t i, Lanes lanes) const {
    if constexpr (std::is_same_v<Lanes, AllLanes>) return widen_halves(elements + i);
    return load_few(i, lanes);
  }
  void store(int64_t i, Vector<float> v, AllLanes) const { round_halves(elements + i, v); }

 private:
  __attribute__((noinline)) Vector<float> load_few(int64_t i, int64_t lanes) const {
    return widen_first(elements + i, lanes);
  }
};

// Calls body(i, lanes) for what is written of a run. The last vector of one of 16 bits, which has
// at least one, writes what the one before it wrote, too, rather than few lanes: what is read must
// not be what is written.
template <class T, class Body>
inline void for_each_written(PlainRun<T>, int64_t n, const Body& body) {
  for_each_vector<std::remove_const_t<T>>(n, body);
}
template <class Half, class Body>
inline void for_each_written(HalfRun<Half>, int64_t n, const Body& body) {
  const int64_t last = n - kHalves;
  for (int64_t i = 0;; i = min(i + kHalves, last)) {
    body(i, typename HalfRun<Half>::AllLanes());
    if (i == last) return;
  }
}

// The runs of one operand: lines[a][b] is a run of `length` elements. Planes: a = n, b = c.
// Columns: a = n, b = l; stride_b is what one line is behind another. T is what is calculated with:
// narrow elements are converted a run at a time.
template <class T>
struct ChannelRuns {
  char* data;
  int32_t dtype;
  int64_t bytes, stride_a, stride_b, stride;

  char* place(int64_t a, int64_t b, int64_t first) const {
    return data + (a * stride_a + b * stride_b + first * stride) * bytes;
  }
  template <class Half>
  HalfRun<Half> halves(int64_t a, int64_t b, int64_t first) const {
    return {reinterpret_cast<Half*>(place(a, b, first))};
  }
  // Elements [first, first + n) of a run, where they lie or in `copy`.
  const T* read(int64_t a, int64_t b, int64_t first, int64_t n, T* copy) const {
    const char* const from = place(a, b, first);
    if (dtype == dtype_of<T>) return read_run(reinterpret_cast<const T*>(from), stride, n, copy);
    load_run(copy, from, dtype, stride, n);
    return copy;
  }
  // Lets compute(run) write them.
  template <class Compute>
  void write(int64_t a, int64_t b, int64_t first, int64_t n, const Compute& compute) const {
    char* const to = place(a, b, first);
    if (dtype == dtype_of<T>) {
      return write_run<kRun>(reinterpret_cast<T*>(to), stride, n, compute);
    }
    T run[kRun];
    compute(run);
    store_run(to, dtype, stride, run, n);
  }
};

// Calls f(Type) and is true if there are instructions for the operands as they lie in memory: dense
// runs of one type of 16 bits.
template <class T, class F, class... Others>
bool with_halves([[maybe_unused]] const F& f, [[maybe_unused]] const ChannelRuns<T>& x,
                 [[maybe_unused]] const Others&... others) {
#if defined(__F16C__)
  if constexpr (std::is_same_v<T, float>) {
    if (!((x.dtype == others.dtype && others.stride == 1) && ... && (x.stride == 1))) return false;
    if (x.dtype == dtype_of<BFloat16>) return f(Type<BFloat16>()), true;
    if (x.dtype == dtype_of<Float16>) return f(Type<Float16>()), true;
  }
#endif
  return false;
}

// A number of each channel, as T: where they lie or in `copy`.
template <class T>
const T* read_channels(const dt_view* v, T* copy) {
  if (!v || v->dtype == dtype_of<T>) return optional_data<const T>(v);
  load_run(copy, v->data, v->dtype, 1, v->sizes[0]);
  return copy;
}

template <class T>
T read_channel(const dt_view& v, int64_t c) {
  T number;
  load_run(&number, static_cast<const char*>(v.data) + c * bytes_of(v.dtype), v.dtype, 1, 1);
  return number;
}

template <class T>
void write_channel(const dt_view& v, int64_t c, T number) {
  store_run(static_cast<char*>(v.data) + c * bytes_of(v.dtype), v.dtype, 1, &number, 1);
}

struct BatchNormShape {
  int64_t batch, channels, length;
  bool columns;
  int64_t chunks, per_chunk;  // planes: chunks of n; columns: chunks of positions n * length + l
  // Columns: positions that are one run, as they lie in memory; what belongs to a channel is there
  // once for each of them then.
  int64_t together;
  int64_t spread = 1;  // columns of a channel, each of which counts as one here

  int64_t width() const { return channels * together; }  // such a run's, at most
  int64_t whole_channels() const { return channels / spread; }
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
  const bool are_few = compute_of(x.dtype) == dtype_of<float> && s.columns && s.channels > 0 &&
                       s.channels <= kWide / 2 && s.work() >= 16 * kWide;
  s.together = are_few ? kWide / s.channels : 1;
  return s;
}

// Whether x may be walked through in images whose planes are short.
inline bool has_short_planes(const dt_view& x) {
  const int64_t length = x.sizes[2];
  const bool is_run = x.strides[2] == 1 && (x.sizes[1] == 1 || x.strides[1] == length);
  return is_run && length > 1 && length <= kShortPlane && x.sizes[1] * length <= kMostColumns &&
         x.sizes[0] >= kFewImages;
}

// The shape of such images as columns. Chunks are as long as their sums are worth.
inline BatchNormShape make_column_shape(const dt_view& x) {
  constexpr int64_t kLeast = 32;
  dt_view columns = x;
  columns.sizes[1] *= x.sizes[2], columns.sizes[2] = 1, columns.strides[1] = 1;
  BatchNormShape s = make_shape(columns);
  s.spread = x.sizes[2];
  s.per_chunk = max(s.per_chunk, kLeast * s.together);
  s.chunks = ceil_div(s.positions(), s.per_chunk);
  return s;
}

// Takes back that positions are one run, if they do not follow each other in an operand.
inline void let_follow(BatchNormShape* s, const dt_view& x) {
  if (s->spread > 1) {
    if (x.strides[0] != s->channels) s->together = 1;
    return;
  }
  const bool follow = (s->length == 1 || x.strides[2] == s->channels) &&
                      (s->batch == 1 || x.strides[0] == s->channels * s->length);
  if (x.strides[1] != 1 || !follow) s->together = 1;
}

template <class T>
ChannelRuns<T> make_operand(const BatchNormShape& s, const dt_view& v) {
  char* const start = static_cast<char*>(v.data);
  const int64_t bytes = bytes_of(v.dtype);
  if (s.spread > 1) return {start, v.dtype, bytes, v.strides[0], v.strides[0], 1};
  const int64_t next_line = s.length == 1 ? v.strides[0] : v.strides[2];
  if (s.columns) return {start, v.dtype, bytes, v.strides[0], next_line, v.strides[1]};
  return {start, v.dtype, bytes, v.strides[0], v.strides[1], v.strides[2]};
}

// Line number `line` of some whose inner dimension is so large, and those behind it.
struct LinePlace {
  int64_t inner, a, b;

  LinePlace(int64_t line, int64_t inner) : inner(inner), a(line / inner), b(line % inner) {}
  void step(int64_t lines = 1) {
    b += lines;
    if (b >= inner) a += b / inner, b %= inner;
  }
};

// Calls body(a, b, c, first, n) for each part of a run, in memory order: a and b pick the run,
// elements [first, first + n) of it are meant, and c is the channel of the first of them.
template <class Body>
void for_each_run(const dt_stream* stream, const BatchNormShape& s, const Body& body) {
  const int64_t inner = s.columns ? s.length : s.channels, run = s.columns ? s.channels : s.length;
  const int64_t lines = s.batch * inner;
  const int64_t least = max<int64_t>(1, kSerialWork / 2 / max<int64_t>(1, run));
  const int64_t group = ceil_div(least, s.together) * s.together;
  parallel_for(stream, ceil_div(lines, group), 2 * s.work(), [&](int64_t tile) {
    const int64_t end = min(lines, (tile + 1) * group);
    LinePlace at(tile * group, inner);
    for (int64_t line = tile * group; line < end; line += s.together, at.step(s.together)) {
      const int64_t n = run * min(s.together, end - line);
      for (int64_t first = 0; first < n; first += kRun)
        body(at.a, at.b, s.columns ? first : at.b, first, min(kRun, n - first));
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

// Positions for which sums are read and written once. So many streams are more than a processor
// foresees: those of the next ones are fetched meanwhile.
constexpr int64_t kTogether = 8;

// What a channel is divided by without eps where its elements are equal: nothing, and so 0 is left
// of it.
template <class T>
T factor_of(T rstd) {
  return __builtin_isinf(rstd) ? T(0) : rstd;
}

// Repeats what channels have for each of their columns, and for each position of a run.
template <class T>
__attribute__((noinline)) void repeat_channels(const BatchNormShape& s, const T* from, T* to) {
  for (int64_t c = s.whole_channels() - 1; s.spread > 1 && c >= 0; --c) {
    const T number = from[c];
    for (int64_t i = s.spread - 1; i >= 0; --i) to[c * s.spread + i] = number;
  }
  if (s.spread > 1) from = to;
  const size_t bytes = static_cast<size_t>(s.channels) * sizeof(T);
  for (int64_t i = from == to; i < s.together; ++i)
    __builtin_memcpy(to + i * s.channels, from, bytes);
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
