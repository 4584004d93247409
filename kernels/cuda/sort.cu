// argsort: CUB's radix sort, which is stable, over (key, position) pairs.
//
// Keys are unsigned integers in the order of the elements: equal elements have equal keys (0.0 and
// -0.0, all NaN), NaN has the largest, and a descending sort inverts the bits, which keeps it
// stable.
#include <cub/device/device_radix_sort.cuh>

#include "kernels/calls/planned.h"
#include "kernels/calls/random.gen.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/types.cuh"

namespace dt::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int64_t kMaxElements = int64_t{UINT32_MAX};  // positions are sorted in 32 bits

// ---- keys

__device__ __forceinline__ uint32_t order_of(float x) {
  if (x != x) return UINT32_MAX;
  const uint32_t sign = uint32_t{1} << 31, bits = __float_as_uint(x + 0.0f);  // -0 becomes 0
  return bits & sign ? ~bits : bits | sign;
}
__device__ __forceinline__ uint64_t order_of(double x) {
  if (x != x) return UINT64_MAX;
  const uint64_t sign = uint64_t{1} << 63;
  const uint64_t bits = static_cast<uint64_t>(__double_as_longlong(x + 0.0));
  return bits & sign ? ~bits : bits | sign;
}
__device__ __forceinline__ uint64_t order_of(int64_t x) {
  return static_cast<uint64_t>(x) ^ uint64_t { 1 } << 63;
}
__device__ __forceinline__ uint32_t order_of(int32_t x) {
  return static_cast<uint32_t>(x) ^ uint32_t { 1 } << 31;
}
__device__ __forceinline__ uint32_t order_of(uint8_t x) {
  return x;
}
__device__ __forceinline__ uint32_t order_of(bool x) {
  return x;
}

template <class T>
using KeyOf = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

template <class T>
__global__ void __launch_bounds__(kThreads)
    make_pairs(KeyOf<T>* keys, uint32_t* positions, const T* x, int64_t n, bool descending) {
  begin_kernel();
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= n) return;
  const KeyOf<T> key = order_of(x[i]);
  keys[i] = descending ? ~key : key;
  positions[i] = static_cast<uint32_t>(i);
}

__global__ void __launch_bounds__(kThreads)
    widen(int64_t* y, const uint32_t* positions, int64_t n) {
  begin_kernel();
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i < n) y[i] = positions[i];
}

// ---- scratch memory: two buffers of keys, two of positions, and what CUB asks for

int64_t aligned(int64_t bytes) {
  return divide_up(bytes, 256) * 256;
}

template <class Key>
struct Scratch {
  cub::DoubleBuffer<Key> keys;
  cub::DoubleBuffer<uint32_t> positions;
  char* rest;

  Scratch(void* workspace, int64_t n) {
    char* at = static_cast<char*>(workspace);
    const int64_t key_bytes = aligned(n * sizeof(Key)), position_bytes = aligned(n * 4);
    keys = {reinterpret_cast<Key*>(at), reinterpret_cast<Key*>(at + key_bytes)};
    at += 2 * key_bytes;
    positions = {reinterpret_cast<uint32_t*>(at), reinterpret_cast<uint32_t*>(at + position_bytes)};
    rest = at + 2 * position_bytes;
  }
};

// Bytes of a narrow type above its own are the same in all keys, unless inverted: all the same,
// too.
template <class T, class Key>
cudaError_t sort_pairs(void* rest, size_t& bytes, Scratch<Key>& scratch, int64_t n,
                       cudaStream_t stream) {
  constexpr int kBits = 8 * static_cast<int>(sizeof(T));
  return cub::DeviceRadixSort::SortPairs(rest, bytes, scratch.keys, scratch.positions,
                                         static_cast<uint32_t>(n), 0, kBits, stream);
}

// Sorts, or, when asked for `bytes`, only says how much scratch memory that needs.
template <class T>
int32_t sort(const dt_stream* stream, const calls::Argsort& call, int64_t* bytes) {
  using Key = KeyOf<T>;
  const int64_t n = numel(call.x);
  if (const cudaError_t error = set_device(stream->device))
    return check(error, "cudaSetDevice", stream->fault);
  Scratch<Key> scratch(bytes ? nullptr : call.workspace, n);
  size_t needed = 0;
  if (const cudaError_t error = sort_pairs<T>(nullptr, needed, scratch, n, nullptr))
    return check(error, "radix sort", stream->fault);
  if (bytes) {
    *bytes = 2 * aligned(n * static_cast<int64_t>(sizeof(Key))) + 2 * aligned(n * 4) +
             static_cast<int64_t>(needed);
    return DT_KERNEL_OK;
  }
  const dim3 grid(static_cast<unsigned>(divide_up(n, kThreads)));
  if (const int32_t code = launch(stream, make_pairs<T>, grid, dim3(kThreads), 0,
                                  scratch.keys.Current(), scratch.positions.Current(),
                                  static_cast<const T*>(call.x.data), n, call.descending))
    return code;
  if (const cudaError_t error =
          sort_pairs<T>(scratch.rest, needed, scratch, n, native_stream(stream)))
    return check(error, "radix sort", stream->fault);
  return launch(stream, widen, grid, dim3(kThreads), 0, static_cast<int64_t*>(call.y.data),
                scratch.positions.Current(), n);
}

int32_t plan_argsort(const dt_stream* stream, const calls::Argsort& call, int64_t* bytes) {
  const int64_t n = numel(call.x);
  if (n == 0) return DT_KERNEL_OK;
  if (n > kMaxElements) return DT_KERNEL_UNSUPPORTED;
  return visit_value(call.x.dtype, [&](auto type) {
    return sort<typename decltype(type)::type>(stream, call, bytes);
  });
}

}  // namespace

DT_PLANNED_KERNEL(argsort, Argsort, plan_argsort)

}  // namespace dt::cuda
