// nonzero_count, and nonzero: the coordinates of the nonzero elements in row-major order.
//
// The elements are cut into chunks that are counted at the same time; the counts say where each
// chunk's coordinates go.
#include "kernels/calls/indexing.gen.h"
#include "kernels/cpu/convert.h"

namespace dt::cpu {
namespace {

constexpr int64_t kTile = 1024;

struct Chunks {
  int64_t elements, per_chunk, chunks;
};

inline Chunks make_chunks(const dt_view& x) {
  Chunks c;
  c.elements = count(x);
  c.per_chunk = max(kSerialWork, ceil_div(c.elements, 256));
  c.chunks = ceil_div(c.elements, c.per_chunk);
  return c;
}

// Walks elements [begin, end) of x in row-major order and calls body(coordinates, flags, n) for
// runs along the last dimension: the coordinates are those of the first of n elements, and flags
// say which of them are nonzero.
template <class Body>
void for_each_run(const dt_view& x, int64_t begin, int64_t end, const Body& body) {
  const int last = x.ndim - 1;
  int64_t at[DT_MAX_DIMS];
  for (int64_t d = last, rest = begin; d >= 0; rest /= x.sizes[d], --d) at[d] = rest % x.sizes[d];
  uint8_t flags[kTile];
  while (begin < end) {
    int64_t offset = 0;
    for (int d = 0; d <= last; ++d) offset += at[d] * x.strides[d];
    const int64_t n = min(min(kTile, end - begin), last < 0 ? 1 : x.sizes[last] - at[last]);
    load_truth(flags, data<const char>(x) + offset * bytes_of(x.dtype), x.dtype,
               last < 0 ? 1 : x.strides[last], n);
    body(at, flags, n);
    begin += n;
    if (last < 0) return;
    at[last] += n;
    for (int d = last; d > 0 && at[d] == x.sizes[d]; --d) at[d] = 0, ++at[d - 1];
  }
}

inline int64_t count_flags(const uint8_t* flags, int64_t n) {
  int64_t sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += flags[i];
  return sum;
}

void count_chunks(const dt_stream* stream, const dt_view& x, const Chunks& c, int64_t* counts) {
  parallel_for(stream, c.chunks, c.elements, [&](int64_t chunk) {
    int64_t sum = 0;
    for_each_run(
        x, chunk * c.per_chunk, min(c.elements, (chunk + 1) * c.per_chunk),
        [&](const int64_t*, const uint8_t* flags, int64_t n) { sum += count_flags(flags, n); });
    counts[chunk] = sum;
  });
}

// Writes the coordinates of a run's nonzero elements and returns where the next ones go. The
// elements are picked without jumps, which could not be predicted.
inline int64_t* write_coordinates(int64_t* y, int ndim, const int64_t* at, const uint8_t* flags,
                                  int64_t n) {
  int16_t picked[kTile];
  int64_t count = 0;
  for (int64_t i = 0; i < n; ++i) {
    picked[count] = static_cast<int16_t>(i);
    count += flags[i];
  }
  if (ndim == 1) {
    for (int64_t i = 0; i < count; ++i) y[i] = at[0] + picked[i];
    return y + count;
  }
  for (int64_t i = 0; i < count; ++i, y += ndim) {
    for (int d = 0; d < ndim - 1; ++d) y[d] = at[d];
    y[ndim - 1] = at[ndim - 1] + picked[i];
  }
  return y;
}

int64_t counts_bytes(const dt_view& x) {
  return make_chunks(x).chunks * static_cast<int64_t>(sizeof(int64_t));
}

}  // namespace

int32_t kernels::nonzero_count(const dt_stream* stream, const calls::NonzeroCount& call) {
  const Chunks c = make_chunks(call.x);
  int64_t* counts = static_cast<int64_t*>(call.workspace);
  count_chunks(stream, call.x, c, counts);
  int64_t sum = 0;
  for (int64_t chunk = 0; chunk < c.chunks; ++chunk) sum += counts[chunk];
  *data<int64_t>(call.count) = sum;
  return DT_KERNEL_OK;
}

int64_t kernels::nonzero_count_workspace(const dt_stream*, const calls::NonzeroCount& call) {
  return counts_bytes(call.x);
}

int32_t kernels::nonzero(const dt_stream* stream, const calls::Nonzero& call) {
  const dt_view& x = call.x;
  if (x.ndim == 0 || count(call.y) == 0) return DT_KERNEL_OK;
  const Chunks c = make_chunks(x);
  int64_t* places = static_cast<int64_t*>(call.workspace);
  count_chunks(stream, x, c, places);
  int64_t place = 0;
  for (int64_t chunk = 0; chunk < c.chunks; ++chunk) {
    const int64_t here = places[chunk];
    places[chunk] = place;
    place += here;
  }
  parallel_for(stream, c.chunks, c.elements, [&](int64_t chunk) {
    int64_t* y = data<int64_t>(call.y) + places[chunk] * x.ndim;
    for_each_run(x, chunk * c.per_chunk, min(c.elements, (chunk + 1) * c.per_chunk),
                 [&](const int64_t* at, const uint8_t* flags, int64_t n) {
                   y = write_coordinates(y, x.ndim, at, flags, n);
                 });
  });
  return DT_KERNEL_OK;
}

int64_t kernels::nonzero_workspace(const dt_stream*, const calls::Nonzero& call) {
  return counts_bytes(call.x);
}

}  // namespace dt::cpu
