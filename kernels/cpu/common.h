// Small things that every CPU kernel needs.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "kernels/dtype.h"

namespace dt::cpu {
namespace {

// Work below this many element operations (about 20 microseconds) is not worth waking other threads
// for.
constexpr int64_t kSerialWork = 32768;

template <class T>
constexpr T min(T a, T b) {
  return b < a ? b : a;
}

template <class T>
constexpr T max(T a, T b) {
  return a < b ? b : a;
}

constexpr int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

// Calls body(tile) for each tile in [0, tiles): from several threads when `work`, the number of
// element operations in all tiles together, is worth it.
template <class Body>
inline void parallel_for(const dt_stream* stream, int64_t tiles, int64_t work, const Body& body) {
  if (tiles <= 1 || stream->threads <= 1 || work < kSerialWork) {
    for (int64_t tile = 0; tile < tiles; ++tile) body(tile);
    return;
  }
  auto call = [](void* context, int64_t tile, int64_t) {
    (*static_cast<const Body*>(context))(tile);
  };
  stream->parallel(tiles, stream->threads, call, const_cast<Body*>(&body));
}

template <class Body>
inline void parallel_for(const dt_stream* stream, int64_t tiles, const Body& body) {
  parallel_for(stream, tiles, kSerialWork, body);
}

template <class T>
inline T* data(const dt_view& view) {
  return static_cast<T*>(view.data);
}

// An optional operand's memory, or null.
template <class T>
inline T* optional_data(const dt_view* view) {
  return view ? data<T>(*view) : nullptr;
}

inline int64_t count(const dt_view& view) {
  int64_t n = 1;
  for (int d = 0; d < view.ndim; ++d) n *= view.sizes[d];
  return n;
}

}  // namespace
}  // namespace dt::cpu
