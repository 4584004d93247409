// Several neighbouring elements that travel as one: a 16-byte load moves four floats.
#pragma once

#include <stdint.h>

#include <type_traits>

#include "kernels/dtype.h"

namespace dt::cuda {

constexpr int kPacketBytes = 16;  // the widest access of one thread

template <class T, int kWidth>
struct alignas(sizeof(T) * kWidth < kPacketBytes ? sizeof(T) * kWidth : kPacketBytes) Packet {
  T value[kWidth];
};

// How many elements of a type fill one access.
template <class T>
constexpr int kPacketWidth = kPacketBytes / static_cast<int>(sizeof(T));

// Stands for T where elements are moved one by one, because lines begin at no packet's boundary.
template <class T>
struct Single {};
// Stands for a type that a call says by its dtype; elements are moved one by one too.
struct Any {};

// What one access moves of `bytes` that lie together.
template <int kBytes>
using AccessUnit = std::conditional_t<
    kBytes % 16 == 0, uint4,
    std::conditional_t<kBytes == 8, uint2,
                       std::conditional_t<kBytes == 4, uint32_t,
                                          std::conditional_t<kBytes == 2, uint16_t, uint8_t>>>>;

// A packet in units of accesses. Copied as a struct, a packet may be taken apart by the compiler
// into accesses of single elements.
template <class T, int kWidth>
struct PacketUnits {
  static constexpr int kBytes = static_cast<int>(sizeof(Packet<T, kWidth>));
  using Unit = AccessUnit<kBytes>;
  Unit unit[kBytes / sizeof(Unit)];
};

template <int kWidth, class T>
__device__ __forceinline__ Packet<T, kWidth> load_packet(const T* p) {
  PacketUnits<T, kWidth> units;
#pragma unroll
  for (int i = 0; i < static_cast<int>(sizeof(units.unit) / sizeof(units.unit[0])); ++i)
    units.unit[i] = reinterpret_cast<const decltype(units)*>(p)->unit[i];
  Packet<T, kWidth> packet;
  memcpy(&packet, &units, sizeof(packet));
  return packet;
}

// Moves what lies from byte `shift` (less than 16) on to the front of the words.
template <class T, int kWords>
__device__ __forceinline__ void move_forward(uint32_t (&word)[kWords], uint32_t shift) {
#pragma unroll
  for (int step = 2; step > 0; step /= 2) {
    const bool moves = (shift / 4 & step) != 0;
#pragma unroll
    for (int i = 0; i + step < kWords; ++i) word[i] = moves ? word[i + step] : word[i];
  }
  if constexpr (sizeof(T) < 4) {
#pragma unroll
    for (int i = 0; i + 1 < kWords; ++i)
      word[i] = __funnelshift_r(word[i], word[i + 1], shift % 4 * 8);
  }
}

// A packet that begins between the boundaries of accesses, by all accesses that hold some of it.
template <int kWidth, class T>
__device__ __forceinline__ Packet<T, kWidth> load_between(const T* p) {
  constexpr int kUnits = static_cast<int>(sizeof(Packet<T, kWidth>)) / kPacketBytes;
  const auto shift = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(p) % kPacketBytes);
  const uint4* const units =
      reinterpret_cast<const uint4*>(reinterpret_cast<const char*>(p) - shift);
  uint4 unit[kUnits + 1];
#pragma unroll
  for (int i = 0; i < kUnits; ++i) unit[i] = units[i];
  // Behind a packet that does begin at a boundary there may be nothing.
  unit[kUnits] = units[shift == 0 ? kUnits - 1 : kUnits];
  uint32_t word[4 * (kUnits + 1)];
  memcpy(word, unit, sizeof unit);
  move_forward<T>(word, shift);
  Packet<T, kWidth> packet;
  memcpy(&packet, word, sizeof packet);
  return packet;
}

// A packet from anywhere (`apart`: from where none begins).
template <int kWidth, class T>
__device__ __forceinline__ Packet<T, kWidth> load_neighbours(const T* p, bool apart) {
  if (!apart) return load_packet<kWidth>(p);
  if constexpr (sizeof(Packet<T, kWidth>) % kPacketBytes == 0) {
    return load_between<kWidth>(p);
  } else {
    Packet<T, kWidth> packet;
#pragma unroll
    for (int v = 0; v < kWidth; ++v) packet.value[v] = p[v];
    return packet;
  }
}

template <int kWidth, class T>
__device__ __forceinline__ void store_packet(T* p, const Packet<T, kWidth>& packet) {
  PacketUnits<T, kWidth> units;
  memcpy(&units, &packet, sizeof(packet));
#pragma unroll
  for (int i = 0; i < static_cast<int>(sizeof(units.unit) / sizeof(units.unit[0])); ++i)
    reinterpret_cast<decltype(units)*>(p)->unit[i] = units.unit[i];
}

template <int kWidth, class T>
__device__ __forceinline__ Packet<T, kWidth> filled_packet(T value) {
  Packet<T, kWidth> packet;
#pragma unroll
  for (int v = 0; v < kWidth; ++v) packet.value[v] = value;
  return packet;
}

// A packet of elements of type T as the numbers that they are calculated with, and back.
template <int kWidth, class T>
__device__ __forceinline__ Packet<Widened<T>, kWidth> widened(const Packet<T, kWidth>& stored) {
  if constexpr (kIsNarrowFloat<T>) {
    Packet<Widened<T>, kWidth> wide;
#pragma unroll
    for (int v = 0; v < kWidth; ++v) wide.value[v] = static_cast<Widened<T>>(stored.value[v]);
    return wide;
  } else {
    return stored;
  }
}

template <int kWidth, class T>
__device__ __forceinline__ Packet<Widened<T>, kWidth> load_widened(const T* p) {
  return widened(load_packet<kWidth>(p));
}

template <int kWidth, class T>
__device__ __forceinline__ void store_rounded(T* p, const Packet<Widened<T>, kWidth>& packet) {
  if constexpr (kIsNarrowFloat<T>) {
    Packet<T, kWidth> rounded;
#pragma unroll
    for (int v = 0; v < kWidth; ++v) rounded.value[v] = static_cast<T>(packet.value[v]);
    store_packet(p, rounded);
  } else {
    store_packet(p, packet);
  }
}

// Asks for a packet to be brought into the L2 cache: it is needed soon.
__device__ __forceinline__ void prefetch_packet(const void* p) {
#ifdef __CUDA_ARCH__
  asm volatile("prefetch.global.L2 [%0];" ::"l"(__cvta_generic_to_global(p)));
#else
  (void)p;
#endif
}

inline bool is_aligned(const void* p, int64_t bytes) {
  return reinterpret_cast<uintptr_t>(p) % static_cast<uintptr_t>(bytes) == 0;
}

}  // namespace dt::cuda
