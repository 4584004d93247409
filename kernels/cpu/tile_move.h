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
  } else {
    for (int64_t i = 0; i < n; ++i) y[i * y_stride] = x[i * x_stride];
  }
}

// Four rows of four 32-bit elements, or two of two 64-bit ones, transposed in registers.
typedef uint32_t Quad __attribute__((vector_size(16)));
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

constexpr int64_t block_of(uint32_t) {
  return 4;
}
constexpr int64_t block_of(uint64_t) {
  return 2;
}
constexpr int64_t block_of(uint8_t) {
  return 1;
}

inline void transpose_block(uint32_t* y, int64_t y_row, const uint32_t* x, int64_t x_row) {
  const Quad a = load_vector<Quad>(x), b = load_vector<Quad>(x + x_row);
  const Quad c = load_vector<Quad>(x + 2 * x_row), d = load_vector<Quad>(x + 3 * x_row);
  const Quad ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5),
             ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  const Quad cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5),
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

inline void transpose_block(uint8_t* y, int64_t, const uint8_t* x, int64_t) {
  *y = *x;
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

#ifdef __AVX__
constexpr int64_t kSplatBytes = 32;
#else
constexpr int64_t kSplatBytes = 16;
#endif

// y[r][i] = x[r] for dense rows of n: whole vectors are stored, and what they write past the end of
// a row is overwritten by the next row.
template <class T>
inline void splat_rows(T* y, const T* x, int64_t x_row, int64_t rows, int64_t n) {
  typedef T V __attribute__((vector_size(kSplatBytes)));
  constexpr int64_t kLanes = kSplatBytes / sizeof(T);
  const int64_t overrun = ceil_div(n, kLanes) * kLanes - n;
  const int64_t safe_rows = max<int64_t>(0, rows - ceil_div(overrun, n));
  for (int64_t r = 0; r < safe_rows; ++r) {
    const V value = V{} + x[r * x_row];
    for (int64_t i = 0; i < n; i += kLanes) store_vector(y + r * n + i, value);
  }
  for (int64_t r = safe_rows; r < rows; ++r) copy_row(y + r * n, 1, x + r * x_row, 0, n);
}

// Reads a strided box into dense planes of rows that are y_row elements apart.
template <class T>
inline void gather_box(T* y, int64_t y_row, const T* x, const Box& box, const BoxStrides& stride) {
  for (int64_t p = 0; p < box.planes; ++p, y += box.rows * y_row, x += stride.plane) {
    if (stride.row == 1 && stride.element != 1 && stride.element != 0 && box.n > 1) {
      transpose(y, y_row, x, stride.element, box.rows, box.n);
    } else if (stride.element == 0 && y_row == box.n) {
      splat_rows(y, x, stride.row, box.rows, box.n);
    } else {
      for (int64_t r = 0; r < box.rows; ++r)
        copy_row(y + r * y_row, 1, x + r * stride.row, stride.element, box.n);
    }
  }
}

// Writes a dense buffer to a strided box.
template <class T>
inline void scatter_box(T* y, const BoxStrides& stride, const T* x, const Box& box) {
  for (int64_t p = 0; p < box.planes; ++p, x += box.rows * box.n, y += stride.plane) {
    for (int64_t r = 0; r < box.rows; ++r)
      copy_row(y + r * stride.row, stride.element, x + r * box.n, 1, box.n);
  }
}

inline void gather(void* y, int64_t y_row, const void* x, int64_t bytes, const Box& box,
                   const BoxStrides& stride) {
  switch (bytes) {
    case 1:
      return gather_box(static_cast<uint8_t*>(y), y_row, static_cast<const uint8_t*>(x), box,
                        stride);
    case 4:
      return gather_box(static_cast<uint32_t*>(y), y_row, static_cast<const uint32_t*>(x), box,
                        stride);
    case 8:
      return gather_box(static_cast<uint64_t*>(y), y_row, static_cast<const uint64_t*>(x), box,
                        stride);
  }
}

inline void scatter(void* y, const BoxStrides& stride, const void* x, int64_t bytes,
                    const Box& box) {
  switch (bytes) {
    case 1:
      return scatter_box(static_cast<uint8_t*>(y), stride, static_cast<const uint8_t*>(x), box);
    case 4:
      return scatter_box(static_cast<uint32_t*>(y), stride, static_cast<const uint32_t*>(x), box);
    case 8:
      return scatter_box(static_cast<uint64_t*>(y), stride, static_cast<const uint64_t*>(x), box);
  }
}

// ---- streaming stores: past the caches, for outputs that would not stay there anyway. They save
// the read of each line that an ordinary store begins with, and do not fight over the few cache
// sets that rows of 2^k bytes share.

inline void stream_vector(void* to, Couple value) {
#ifdef __clang__
  __builtin_nontemporal_store(value, static_cast<Couple*>(to));
#else
  typedef long long Integers __attribute__((vector_size(16)));
  __builtin_ia32_movntdq(static_cast<Integers*>(to), reinterpret_cast<Integers>(value));
#endif
}

// `y` is aligned to 64 bytes. Rows are `bytes` long; row strides are in bytes too, and y_row is a
// multiple of 64.
inline void stream_rows(char* y, int64_t y_row, const char* x, int64_t x_row, int64_t rows,
                        int64_t bytes) {
  for (int64_t r = 0; r < rows; ++r, y += y_row, x += x_row) {
    int64_t i = 0;
    for (; i + 64 <= bytes; i += 64) {
      for (int k = 0; k < 64; k += 16) stream_vector(y + i + k, load_vector<Couple>(x + i + k));
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
