// nonzero_count, and nonzero: the coordinates of the nonzero elements in row-major order.
//
// The elements are cut into chunks that are counted at the same time; the counts say where each
// chunk's coordinates go.
#include "kernels/calls/indexing.gen.h"
#include "kernels/cpu/convert.h"
#include "kernels/nonzero.h"

namespace dt::cpu {
namespace {

constexpr int64_t kTile = 1024;

// Moves coordinates n elements on in row-major order.
inline void advance(const dt_view& x, int64_t* at, int64_t n) {
  if (x.ndim == 0) return;
  int d = x.ndim - 1;
  at[d] += n;
  for (; d > 0 && at[d] >= x.sizes[d]; --d) {
    const int64_t rows = at[d] < 2 * x.sizes[d] ? 1 : at[d] / x.sizes[d];
    at[d] -= rows * x.sizes[d], at[d - 1] += rows;
  }
}

constexpr int64_t kLongRow = 64;  // for which it pays to begin anew

// How many elements lie at equal distances, from the last dimension's outwards. A long row is a run
// of its own.
inline int64_t run_length(const dt_view& x) {
  int64_t n = 1;
  for (int d = x.ndim - 1; d >= 0 && n < kLongRow; --d) {
    if (x.sizes[d] != 1 && x.strides[d] != n * x.strides[x.ndim - 1]) break;
    n *= x.sizes[d];
  }
  return n;
}

// Walks elements [begin, end) of x in row-major order and calls body(coordinates, flags, n) for
// runs of elements at equal distances: the coordinates are those of the first of n elements, and
// flags say which of them are nonzero.
template <class Body>
void for_each_run(const dt_view& x, int64_t begin, int64_t end, const Body& body) {
  if (begin == end) return;  // an empty x has no coordinates
  const int last = x.ndim - 1;
  const int64_t run = run_length(x);
  int64_t at[DT_MAX_DIMS] = {};
  for (int64_t d = last, rest = begin; d >= 0; rest /= x.sizes[d], --d) at[d] = rest % x.sizes[d];
  uint8_t flags[kTile];
  for (int64_t n; begin < end; begin += n) {
    int64_t offset = 0;
    for (int d = 0; d <= last; ++d) offset += at[d] * x.strides[d];
    n = min(min(kTile, end - begin), run - begin % run);
    load_truth(flags, data<const char>(x) + offset * bytes_of(x.dtype), x.dtype,
               last < 0 ? 1 : x.strides[last], n);
    body(at, flags, n);
    advance(x, at, n);
  }
}

inline int64_t count_flags(const uint8_t* flags, int64_t n) {
  int64_t sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += flags[i];
  return sum;
}

// The coordinates of elements of a run that goes through several rows; kDims is how many there are,
// 0: any number.
template <int kDims>
int64_t* write_rows(int64_t* y, const dt_view& x, const int64_t* first, const int16_t* picked,
                    int64_t count) {
  const int dims = kDims > 0 ? kDims : x.ndim, last = dims - 1;
  const int64_t row = x.sizes[last];
  int64_t at[DT_MAX_DIMS];
  for (int d = 0; d < dims; ++d) at[d] = first[d];
  int64_t begin = -first[last];  // of the row, from the run's first element on
  for (int64_t i = 0; i < count; ++i, y += dims) {
    for (; picked[i] - begin >= row; begin += row) {
      int d = last - 1;
      for (++at[d]; d > 0 && at[d] == x.sizes[d]; --d) at[d] = 0, ++at[d - 1];
    }
    for (int d = 0; d < last; ++d) y[d] = at[d];
    y[last] = picked[i] - begin;
  }
  return y;
}

// Writes the coordinates of a run's nonzero elements and returns where the next ones go. The
// elements are picked without jumps, which could not be predicted.
inline int64_t* write_coordinates(int64_t* y, const dt_view& x, const int64_t* first,
                                  const uint8_t* flags, int64_t n) {
  if (x.ndim == 0) return y;  // a number has none
  int16_t picked[kTile];
  int64_t count = 0;
  for (int64_t i = 0; i < n; ++i) {
    picked[count] = static_cast<int16_t>(i);
    count += flags[i];
  }
  if (x.ndim == 1) {
    for (int64_t i = 0; i < count; ++i) y[i] = first[0] + picked[i];
    return y + count;
  }
  const int last = x.ndim - 1;
  if (first[last] + n <= x.sizes[last]) {
    for (int64_t i = 0; i < count; ++i, y += x.ndim) {
      for (int d = 0; d < last; ++d) y[d] = first[d];
      y[last] = first[last] + picked[i];
    }
    return y;
  }
  return x.ndim == 2   ? write_rows<2>(y, x, first, picked, count)
         : x.ndim == 3 ? write_rows<3>(y, x, first, picked, count)
                       : write_rows<0>(y, x, first, picked, count);
}

}  // namespace

int32_t kernels::nonzero_count(const dt_stream* stream, const calls::NonzeroCount& call) {
  const NonzeroChunks c(count(call.x));
  int64_t* places = data<int64_t>(call.places);
  parallel_for(stream, c.chunks, c.elements, [&](int64_t chunk) {
    int64_t sum = 0;
    for_each_run(
        call.x, c.begin(chunk), c.end(chunk),
        [&](const int64_t*, const uint8_t* flags, int64_t n) { sum += count_flags(flags, n); });
    places[chunk] = sum;
  });
  int64_t place = 0;
  for (int64_t chunk = 0; chunk < c.chunks; ++chunk) {
    const int64_t here = places[chunk];
    places[chunk] = place;
    place += here;
  }
  *data<int64_t>(call.count) = place;
  return DT_KERNEL_OK;
}

int32_t kernels::nonzero(const dt_stream* stream, const calls::Nonzero& call) {
  const dt_view& x = call.x;
  if (count(call.y) == 0) return DT_KERNEL_OK;
  const NonzeroChunks c(count(x));
  const int64_t* places = data<const int64_t>(call.places);
  parallel_for(stream, c.chunks, c.elements, [&](int64_t chunk) {
    int64_t* y = data<int64_t>(call.y) + places[chunk] * x.ndim;
    for_each_run(x, c.begin(chunk), c.end(chunk),
                 [&](const int64_t* at, const uint8_t* flags, int64_t n) {
                   y = write_coordinates(y, x, at, flags, n);
                 });
  });
  return DT_KERNEL_OK;
}

}  // namespace dt::cpu
