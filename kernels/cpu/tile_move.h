// Moving a box of elements between strided memory and a dense buffer, whatever their dtype: by
// element size.
#pragma once

#include "kernels/cpu/common.h"

namespace dt::cpu {
namespace {

// Asserts that iterations are independent although pointers may be equal: an op may write over its
// input.
#ifdef __clang__
// clang warns about loops that have no vector form, such as those with integer division.
#pragma clang diagnostic ignored "-Wpass-failed"
#define DT_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define DT_INDEPENDENT _Pragma("GCC ivdep")
#endif

#ifdef __AVX512F__
constexpr int64_t kWideBytes = 64;
#elif defined(__AVX__)
constexpr int64_t kWideBytes = 32;
#else
constexpr int64_t kWideBytes = 16;
#endif

// A box of planes x rows x n elements.
struct Box {
  int64_t planes, rows, n;
};

struct BoxStrides {
  int64_t plane, row, element;
};

template <class T>
inline void copy_row(T* __restrict y, int64_t y_stride, const T* __restrict x, int64_t x_stride,
                     int64_t n) {
  if (y_stride == 1 && x_stride == 1) {
    for (int64_t i = 0; i < n; ++i) y[i] = x[i];
  } else if (y_stride == 1 && x_stride == 0) {
    const T value = x[0];
    for (int64_t i = 0; i < n; ++i) y[i] = value;
  } else if (y_stride == 1 && x_stride == -1) {
    for (int64_t i = 0; i < n; ++i) y[i] = x[-i];
  } else {
    for (int64_t i = 0; i < n; ++i) y[i * y_stride] = x[i * x_stride];
  }
}

// Four rows of four 32-bit elements, or two of two 64-bit ones, transposed in registers.
typedef uint32_t FourWords __attribute__((vector_size(16)));
typedef uint64_t Couple __attribute__((vector_size(16)));

template <class V, class T>
inline V load_vector(const T* p) {
  V v;
  __builtin_memcpy(&v, p, sizeof(v));
  return v;
}

template <class V, class T>
inline void store_vector(T* p, V v) {
  __builtin_memcpy(p, &v, sizeof(v));
}

template <class T>
constexpr int64_t block_of(T) {
  return 1;
}
constexpr int64_t block_of(uint32_t) {
  return 4;
}
constexpr int64_t block_of(uint64_t) {
  return 2;
}

template <class T>
inline void transpose_block(T* y, int64_t, const T* x, int64_t) {
  *y = *x;
}

inline void transpose_block(uint32_t* y, int64_t y_row, const uint32_t* x, int64_t x_row) {
  const FourWords a = load_vector<FourWords>(x), b = load_vector<FourWords>(x + x_row);
  const FourWords c = load_vector<FourWords>(x + 2 * x_row),
                  d = load_vector<FourWords>(x + 3 * x_row);
  const FourWords ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5),
                  ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  const FourWords cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5),
                  cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  store_vector(y, __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5));
  store_vector(y + y_row, __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7));
  store_vector(y + 2 * y_row, __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5));
  store_vector(y + 3 * y_row, __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7));
}

inline void transpose_block(uint64_t* y, int64_t y_row, const uint64_t* x, int64_t x_row) {
  const Couple a = load_vector<Couple>(x), b = load_vector<Couple>(x + x_row);
  store_vector(y, __builtin_shufflevector(a, b, 0, 2));
  store_vector(y + y_row, __builtin_shufflevector(a, b, 1, 3));
}

// y[r][c] = x[c][r] for r < rows, c < n, where both have unit stride in their last index.
template <class T>
inline void transpose(T* y, int64_t y_row, const T* x, int64_t x_row, int64_t rows, int64_t n) {
  constexpr int64_t kBlock = block_of(T());
  const int64_t full_rows = rows - rows % kBlock, full_n = n - n % kBlock;
  for (int64_t c = 0; c < full_n; c += kBlock) {
    for (int64_t r = 0; r < full_rows; r += kBlock)
      transpose_block(y + r * y_row + c, y_row, x + c * x_row + r, x_row);
  }
  for (int64_t r = full_rows; r < rows; ++r) copy_row(y + r * y_row, 1, x + r, x_row, full_n);
  for (int64_t c = full_n; c < n; ++c) copy_row(y + c, y_row, x + c * x_row, 1, rows);
}

typedef uint32_t Splat32 __attribute__((vector_size(kWideBytes)));
typedef uint64_t Splat64 __attribute__((vector_size(kWideBytes)));

// y[i] = v[which[i]].
template <class V>
inline V permute(V v, V which) {
#ifdef __clang__
  V y;
  for (size_t i = 0; i < sizeof(V) / sizeof(v[0]); ++i) y[i] = v[which[i]];
  return y;
#else
  return __builtin_shuffle(v, which);
#endif
}

constexpr int64_t kLongestSplat = 16;

// y[r][i] = x[r * x_row] for dense rows of n <= kLongestSplat elements: a vector of x gives n
// vectors of y, each a permutation of it. Returns how many rows were done.
template <class V, class T>
inline int64_t splat_by_permutation(T* y, const T* x, int64_t x_row, int64_t rows, int64_t n) {
  constexpr int64_t kLanes = kWideBytes / sizeof(T);
  // j / n by a multiplication, exact for the few j there are.
  const uint32_t reciprocal = (65536 + static_cast<uint32_t>(n) - 1) / static_cast<uint32_t>(n);
  T row_of[kLongestSplat * kLanes];
  for (uint32_t j = 0; j < static_cast<uint32_t>(n * kLanes); ++j)
    row_of[j] = static_cast<T>(j * reciprocal >> 16);
  int64_t r = 0;
  for (; r + kLanes <= rows; r += kLanes) {
    V values;
    if (x_row == 1) {
      values = load_vector<V>(x + r);
    } else {
      for (int64_t i = 0; i < kLanes; ++i) values[i] = x[(r + i) * x_row];
    }
    for (int64_t k = 0; k < n; ++k)
      store_vector(y + r * n + k * kLanes, permute(values, load_vector<V>(row_of + k * kLanes)));
  }
  return r;
}

template <class T>
inline int64_t splat_short_rows(T*, const T*, int64_t, int64_t, int64_t) {
  return 0;
}
inline int64_t splat_short_rows(uint32_t* y, const uint32_t* x, int64_t x_row, int64_t rows,
                                int64_t n) {
  return splat_by_permutation<Splat32>(y, x, x_row, rows, n);
}
inline int64_t splat_short_rows(uint64_t* y, const uint64_t* x, int64_t x_row, int64_t rows,
                                int64_t n) {
  return splat_by_permutation<Splat64>(y, x, x_row, rows, n);
}

template <class T>
inline void splat_rows(T* y, const T* x, int64_t x_row, int64_t rows, int64_t n) {
  // From so many rows on, a table of permutations pays.
  const bool permutes = n <= kLongestSplat && rows * n >= 512;
  int64_t r = permutes ? splat_short_rows(y, x, x_row, rows, n) : 0;
  for (; r < rows; ++r) copy_row(y + r * n, 1, x + r * x_row, 0, n);
}

// y[r][i] = x[i] for dense rows of n: what has been written is copied to the rest, twice as much
// each time.
template <class T>
inline void repeat_row(T* y, const T* x, int64_t rows, int64_t n) {
  const int64_t total = rows * n;
  copy_row(y, 1, x, 1, n);
  for (int64_t done = n; done < total;) {
    const int64_t more = min(done, total - done);
    __builtin_memcpy(y + done, y, static_cast<size_t>(more) * sizeof(T));
    done += more;
  }
}

// Of rows that are shorter than a loop takes to begin, element after element of all rows.
constexpr int64_t kShortestRow = 5;

template <class T>
inline void copy_rows(T* y, int64_t y_row, int64_t y_stride, const T* x, int64_t x_row,
                      int64_t x_stride, const Box& box) {
  if (box.n < kShortestRow && box.n < box.rows) {
    for (int64_t i = 0; i < box.n; ++i)
      copy_row(y + i * y_stride, y_row, x + i * x_stride, x_row, box.rows);
  } else {
    for (int64_t r = 0; r < box.rows; ++r)
      copy_row(y + r * y_row, y_stride, x + r * x_row, x_stride, box.n);
  }
}

// As the parts of complex numbers lie: with the distance known, this is vector code.
template <class T>
inline void read_every_second(T* __restrict y, int64_t y_row, const T* __restrict x, int64_t x_row,
                              int64_t rows, int64_t n) {
  for (int64_t r = 0; r < rows; ++r, y += y_row, x += x_row) {
    for (int64_t i = 0; i < n; ++i) y[i] = x[2 * i];
  }
}

// Reads a strided box into dense planes of rows that are y_row elements apart.
template <class T>
inline void gather_box(T* y, int64_t y_row, const T* x, const Box& box, const BoxStrides& stride) {
  for (int64_t p = 0; p < box.planes; ++p, y += box.rows * y_row, x += stride.plane) {
    if (stride.row == 1 && stride.element != 1 && stride.element != 0 && box.n > 1) {
      transpose(y, y_row, x, stride.element, box.rows, box.n);
    } else if (stride.element == 0 && y_row == box.n) {
      splat_rows(y, x, stride.row, box.rows, box.n);
    } else if (stride.row == 0 && stride.element == 1 && y_row == box.n) {
      repeat_row(y, x, box.rows, box.n);
    } else if (stride.element == 2 && box.n >= kShortestRow) {
      read_every_second(y, y_row, x, stride.row, box.rows, box.n);
    } else {
      copy_rows(y, y_row, 1, x, stride.row, stride.element, box);
    }
  }
}

// Writes a dense buffer to a strided box.
template <class T>
inline void scatter_box(T* y, const BoxStrides& stride, const T* x, const Box& box) {
  for (int64_t p = 0; p < box.planes; ++p, x += box.rows * box.n, y += stride.plane)
    copy_rows(y, stride.row, stride.element, x, box.n, 1, box);
}

inline void gather(void* y, int64_t y_row, const void* x, int64_t bytes, const Box& box,
                   const BoxStrides& stride) {
  visit_bytes(bytes, [&](auto type) {
    using T = typename decltype(type)::type;
    gather_box(static_cast<T*>(y), y_row, static_cast<const T*>(x), box, stride);
  });
}

inline void scatter(void* y, const BoxStrides& stride, const void* x, int64_t bytes,
                    const Box& box) {
  visit_bytes(bytes, [&](auto type) {
    using T = typename decltype(type)::type;
    scatter_box(static_cast<T*>(y), stride, static_cast<const T*>(x), box);
  });
}

// ---- streaming stores: past the caches, for outputs that would not stay there anyway. They save
// the read of each line that an ordinary store begins with, and do not fight over the few cache
// sets that rows of 2^k bytes share.

typedef long long StreamVector __attribute__((vector_size(kWideBytes)));

inline void stream_vector(char* to, StreamVector value) {
  StreamVector* line = reinterpret_cast<StreamVector*>(to);
#if defined(__clang__)
  __builtin_nontemporal_store(value, line);
#elif defined(__AVX512F__)
  __builtin_ia32_movntdq512(line, value);
#elif defined(__AVX__)
  __builtin_ia32_movntdq256(line, value);
#else
  __builtin_ia32_movntdq(line, value);
#endif
}

// `y` is aligned to 64 bytes. Rows are `bytes` long; row strides are in bytes too, and y_row is a
// multiple of 64.
inline void stream_rows(char* y, int64_t y_row, const char* x, int64_t x_row, int64_t rows,
                        int64_t bytes) {
  for (int64_t r = 0; r < rows; ++r, y += y_row, x += x_row) {
    int64_t i = 0;
    for (; i + 64 <= bytes; i += 64) {
      for (int64_t k = 0; k < 64; k += kWideBytes)
        stream_vector(y + i + k, load_vector<StreamVector>(x + i + k));
    }
    __builtin_memcpy(y + i, x + i, static_cast<size_t>(bytes - i));
  }
}

// Streaming stores are ordered with nothing: this must come between them and telling another
// thread.
inline void finish_streaming() {
  __builtin_ia32_sfence();
}

}  // namespace
}  // namespace dt::cpu
