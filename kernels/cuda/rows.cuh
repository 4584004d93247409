// Rows of contiguous elements, each handled by a team of threads in 16-byte packets. Elements of a
// narrow float are floats in the registers.
//
// A row begins wherever it begins: packets are counted from the 16-byte boundary at or before its
// first element, so that all but the first and the last can be moved whole.
#pragma once

#include "kernels/cuda/packet.cuh"
#include "kernels/cuda/team.cuh"
#include "kernels/cuda/types.cuh"

namespace dt::cuda {

// How many packets of a row each thread of a team keeps in registers.
template <int kTeam, int kPackets>
struct RowShape {
  using Threads = Team<kTeam>;
  static constexpr int team = kTeam, packets = kPackets;
};

// The address of a packet of a row that begins at a boundary. Counted in packets rather than in
// elements, compilers see that it is the address of one, and that the packets of a thread are a
// constant distance apart.
template <int kWidth, class T, class Index>
__device__ __forceinline__ T* packet_at(T* row, Index packet) {
  using Element = std::remove_const_t<T>;
  using Place = std::conditional_t<std::is_const_v<T>, const Packet<Element, kWidth>,
                                   Packet<Element, kWidth>>;
  return reinterpret_cast<T*>(reinterpret_cast<Place*>(row) + packet);
}

// Where the packets of a row are. All operands of the row share it. `Index` is int for rows that
// fit into registers.
template <class T, class Index = int64_t>
struct RowLayout {
  using Value = Widened<T>;
  static constexpr int kWidth = kPacketWidth<T>;
  static constexpr bool kWhole = false;

  Index n;
  int shift;     // elements between the boundary and the row
  bool is_wide;  // all operands lie alike about the boundary; else packets are moved in elements

  template <class... Pointers>
  __device__ RowLayout(int64_t size, const T* first, const Pointers*... others)
      : n(static_cast<Index>(size)) {
    const int mine = shift_of(first);
    is_wide = ((shift_of(others) == mine) && ...);
    shift = is_wide ? mine : 0;
  }

  // For rows that all begin at a boundary, or are all moved in elements: then a packet holds the
  // same columns of every row.
  __device__ RowLayout(int64_t size, bool are_aligned)
      : n(static_cast<Index>(size)), shift(0), is_wide(are_aligned) {}

  __device__ __forceinline__ Index packets() const { return (n + shift + kWidth - 1) / kWidth; }
  // The first element of a packet; it is negative if the packet begins before the row.
  __device__ __forceinline__ Index first(Index packet) const { return packet * kWidth - shift; }
  __device__ __forceinline__ bool contains(Index i) const { return i >= 0 && i < n; }
  __device__ __forceinline__ bool is_whole(Index packet) const {
    return is_wide && first(packet) >= 0 && first(packet) + kWidth <= n;
  }

  // The address of a whole packet.
  template <class U>
  __device__ __forceinline__ U* at(U* row, Index packet) const {
    return packet_at<kWidth>(row - shift, packet);
  }

  // Where in a buffer that begins at a boundary a row lies as this one does.
  __device__ __forceinline__ T* alike(T* buffer) const { return buffer + shift; }

  // The whole packets are those from begin_whole() to before end_whole().
  __device__ __forceinline__ Index begin_whole() const { return shift > 0 ? 1 : 0; }
  __device__ __forceinline__ Index end_whole() const { return is_wide ? (n + shift) / kWidth : 0; }

  __device__ __forceinline__ void prefetch(const T* row, Index packet) const {
    if (is_whole(packet)) prefetch_packet(at(row, packet));
  }

  // Calls use(element) for those elements of a packet that lie in the row.
  template <class Use>
  __device__ __forceinline__ void for_each(Index packet, const Packet<Value, kWidth>& elements,
                                           const Use& use) const {
    const bool whole = is_whole(packet);
#pragma unroll
    for (int v = 0; v < kWidth; ++v) {
      if (whole || contains(first(packet) + v)) use(elements.value[v]);
    }
  }

  // How many elements of a packet lie in the row.
  __device__ __forceinline__ int count(Index packet) const {
    int result = 0;
#pragma unroll
    for (int v = 0; v < kWidth; ++v) result += contains(first(packet) + v);
    return result;
  }

  // What lies outside of the row reads as `fill`.
  __device__ __forceinline__ Packet<Value, kWidth> load(const T* row, Index packet,
                                                        Value fill) const {
    if (is_whole(packet)) return load_widened<kWidth>(at(row, packet));
    const Index i = first(packet);
    Packet<Value, kWidth> result;
#pragma unroll
    for (int v = 0; v < kWidth; ++v) result.value[v] = contains(i + v) ? Value(row[i + v]) : fill;
    return result;
  }

  // The same of a vector that all rows share, and which may lie otherwise about the boundary.
  __device__ __forceinline__ Packet<Value, kWidth> load_vector(const T* vector, Index packet,
                                                               Value fill) const {
    if (is_whole(packet) && shift_of(vector) == shift)
      return load_widened<kWidth>(at(vector, packet));
    const Index i = first(packet);
    Packet<Value, kWidth> result;
#pragma unroll
    for (int v = 0; v < kWidth; ++v)
      result.value[v] = contains(i + v) ? Value(vector[i + v]) : fill;
    return result;
  }

  // `absent` if there is no vector.
  __device__ __forceinline__ Packet<Value, kWidth> load_shared(const T* vector, Index packet,
                                                               Value absent) const {
    return vector ? load_vector(vector, packet, absent) : filled_packet<kWidth>(absent);
  }

  __device__ __forceinline__ void store(T* row, Index packet,
                                        const Packet<Value, kWidth>& value) const {
    if (is_whole(packet)) return store_rounded(at(row, packet), value);
    const Index i = first(packet);
#pragma unroll
    for (int v = 0; v < kWidth; ++v) {
      if (contains(i + v)) row[i + v] = T(value.value[v]);
    }
  }

 private:
  static __device__ __forceinline__ int shift_of(const T* p) {
    return static_cast<int>(reinterpret_cast<uintptr_t>(p) / sizeof(T) % kWidth);
  }
};

// The same for rows of whole packets, which begin and end at a boundary in every operand, shared
// vectors too: nothing is asked about single elements. Kernels that are bound by their instructions
// rather than by memory are compiled for both.
template <class T, class Index = int64_t>
struct WholeRow {
  using Value = Widened<T>;
  static constexpr int kWidth = kPacketWidth<T>;
  static constexpr bool kWhole = true;

  Index n;  // in packets

  template <class... Pointers>
  __device__ explicit WholeRow(int64_t size, const Pointers*...)
      : n(static_cast<Index>(size / kWidth)) {}

  __device__ __forceinline__ Index packets() const { return n; }
  __device__ __forceinline__ Index first(Index packet) const { return packet * kWidth; }
  __device__ __forceinline__ bool contains(Index i) const { return i < n * kWidth; }

  __device__ __forceinline__ T* alike(T* buffer) const { return buffer; }

  __device__ __forceinline__ void prefetch(const T* row, Index packet) const {
    if (packet < n) prefetch_packet(packet_at<kWidth>(row, packet));
  }

  template <class Use>
  __device__ __forceinline__ void for_each(Index packet, const Packet<Value, kWidth>& elements,
                                           const Use& use) const {
    if (packet >= n) return;
#pragma unroll
    for (int v = 0; v < kWidth; ++v) use(elements.value[v]);
  }

  __device__ __forceinline__ Packet<Value, kWidth> load(const T* row, Index packet,
                                                        Value fill) const {
    return packet < n ? load_widened<kWidth>(packet_at<kWidth>(row, packet))
                      : filled_packet<kWidth>(fill);
  }
  __device__ __forceinline__ Packet<Value, kWidth> load_vector(const T* vector, Index packet,
                                                               Value fill) const {
    return load(vector, packet, fill);
  }
  __device__ __forceinline__ Packet<Value, kWidth> load_shared(const T* vector, Index packet,
                                                               Value absent) const {
    return vector ? load(vector, packet, absent) : filled_packet<kWidth>(absent);
  }

  __device__ __forceinline__ void store(T* row, Index packet,
                                        const Packet<Value, kWidth>& value) const {
    if (packet < n) store_rounded(packet_at<kWidth>(row, packet), value);
  }
};

// Whether rows of n elements, one after another in each operand, all begin at a boundary.
template <class T, class... Views>
bool rows_are_aligned(int64_t n, const Views&... views) {
  return n % kPacketWidth<T> == 0 && (is_aligned(views.data, kPacketBytes) && ...);
}

// f(Type<Row>()) for rows whose operands are whole packets, or for any.
template <class T, class Index, class F>
int32_t visit_row_layout(bool is_whole, const F& f) {
  if (is_whole) return f(Type<WholeRow<T, Index>>());
  return f(Type<RowLayout<T, Index>>());
}

// How many packets a row of n elements may span. `is_aligned`: all rows begin at a boundary.
template <class T>
int64_t most_packets(int64_t n, bool is_aligned) {
  constexpr int64_t kWidth = kPacketWidth<T>;
  return divide_up(n + (is_aligned ? 0 : kWidth - 1), kWidth);
}

// f(RowShape) for the smallest shape of a block to a row that holds `packets`; long_rows() if none
// does. A thread keeps up to kPackets, and kMost with the largest team, whose threads have the
// fewest registers.
template <int kPackets, int kMost, class F, class LongRows>
int32_t visit_block_shape(int64_t packets, const F& f, const LongRows& long_rows) {
  if (packets <= 128 * kPackets) return f(RowShape<128, kPackets>());
  if (packets <= 256 * kPackets) return f(RowShape<256, kPackets>());
  if (packets <= 512 * kPackets) return f(RowShape<512, kPackets>());
  if constexpr (1024 * kMost > 512 * kPackets) {
    if (packets <= 1024 * kMost) return f(RowShape<1024, kMost>());
  }
  return long_rows();
}

// The same with smaller teams.
template <int kPackets, int kMost, class F, class LongRows>
int32_t visit_row_shape(int64_t packets, const F& f, const LongRows& long_rows) {
  if (packets <= 4 * 2) return f(RowShape<4, 2>());
  if (packets <= 32 * 2) return f(RowShape<32, 2>());
  if (packets <= 32 * kPackets) return f(RowShape<32, kPackets>());
  return visit_block_shape<kPackets, kMost>(packets, f, long_rows);
}

// The same in finer steps, so that fewer threads have nothing to do: for kernels of few registers,
// whose teams have nothing to do with each other.
template <int kPackets, int kMost, class F, class LongRows>
int32_t visit_fine_row_shape(int64_t packets, const F& f, const LongRows& long_rows) {
  if (packets <= 1) return f(RowShape<1, 1>());
  if (packets <= 2 * 2) return f(RowShape<2, 2>());
  if (packets > 4 * 2 && packets <= 8 * 2) return f(RowShape<8, 2>());
  if (packets > 8 * 2 && packets <= 16 * 2) return f(RowShape<16, 2>());
  if (packets > 32 * kPackets && packets <= 128 * kPackets / 2)
    return f(RowShape<128, kPackets / 2>());
  return visit_row_shape<kPackets, kMost>(packets, f, long_rows);
}

// f(Shape) for the first of some shapes that a row fills but for packets that its threads have
// last; other() if there is none.
template <class Shape, class... More, class F, class Other>
int32_t visit_filled_shape(int64_t packets, const F& f, const Other& other) {
  if (packets > Shape::team * (Shape::packets - 1) && packets <= Shape::team * Shape::packets)
    return f(Shape());
  if constexpr (sizeof...(More) > 0)
    return visit_filled_shape<More...>(packets, f, other);
  else
    return other();
}

// In finer steps still, up to teams of 512: for kernels whose time grows with the packets of a
// thread. A row that begins between two boundaries has a packet more than others of its length,
// which are often as long as a shape.
template <int kPackets, class F, class LongRows>
int32_t visit_finest_row_shape(int64_t packets, const F& f, const LongRows& long_rows) {
  constexpr int kHalf = kPackets / 2;
  return visit_filled_shape<RowShape<8, 3>, RowShape<16, 3>, RowShape<32, 3>, RowShape<32, 4>,
                            RowShape<128, 3>, RowShape<128, kHalf + 1>, RowShape<128, kPackets + 1>,
                            RowShape<256, kPackets + 1>, RowShape<512, kPackets + 1>>(
      packets, f, [&] { return visit_fine_row_shape<kPackets, kHalf>(packets, f, long_rows); });
}

}  // namespace dt::cuda
