// Walks over [N,C,L] in any strides, channel by channel.
//
// Planes (contiguous [N,C,L]): a line along L belongs to one channel, and a block walks lines of
// one channel. Columns (channels-last, and [N,C] with L = 1): a line along C holds all channels of
// one position, and every thread walks positions of its own channels. In both a block takes one
// chunk of a channel's elements; the shape and the device fix the chunks.
#pragma once

#include "kernels/cuda/moments.cuh"
#include "kernels/cuda/rows.cuh"

namespace dt::cuda {

constexpr int kChannelThreads = 256;  // of a block
// Blocks that a multiprocessor has room for: with fewer, too little is on its way from memory.
constexpr int kChannelBlocks = 4;

template <class T>
struct Image {
  T* data = nullptr;
  int64_t n_step = 0, c_step = 0, l_step = 0;

  Image() = default;
  explicit Image(const dt_view& v)
      : data(static_cast<T*>(v.data)),
        n_step(v.strides[0]),
        c_step(v.strides[1]),
        // Images of one position are walked as one line of the batch: see merge_batch.
        l_step(v.sizes[2] == 1 ? v.strides[0] : v.strides[2]) {}
  // Of an operand that may be absent.
  explicit Image(const dt_view* v) : Image(v ? Image(*v) : Image()) {}

  __device__ __forceinline__ T* at(int64_t n, int64_t c, int64_t l) const {
    return data + n * n_step + c * c_step + l * l_step;
  }
};

struct ChannelShape {
  int64_t batch, channels, length;
  bool columns;
  int width;                  // columns: channels of a thread
  int lanes;                  // threads side by side along a line, a power of two
  int64_t piece, per_line;    // planes: long lines are cut into pieces
  int64_t tiles;              // blocks side by side over the channels
  int64_t chunks, per_chunk;  // planes: of pieces; columns: of positions

  // Of columns whose images are one line (is_one_line).
  void merge_batch() { length *= batch, batch = 1; }

  int64_t count() const { return batch * length; }  // elements of a channel
  __device__ double elements() const {
    return static_cast<double>(batch) * static_cast<double>(length);
  }
  unsigned blocks() const { return static_cast<unsigned>(tiles * chunks); }
};

inline bool is_columns(const dt_view& x) {
  const auto reach = [&](int d) { return x.strides[d] < 0 ? -x.strides[d] : x.strides[d]; };
  return x.sizes[2] == 1 || (x.sizes[1] > 1 && reach(1) < reach(2));
}

// Whether the positions of an image go on where those of the one before end.
inline bool is_one_line(const dt_view& x) {
  return x.sizes[0] == 1 || x.sizes[2] == 1 || x.strides[0] == x.sizes[2] * x.strides[2];
}

// Whether packets of channels may be moved: then every position is a row of aligned packets.
template <class T>
bool has_channel_packets(const dt_view& v) {
  constexpr int kWidth = kPacketWidth<T>;
  return is_aligned(v.data, kPacketBytes) && v.strides[1] == 1 && v.sizes[1] % kWidth == 0 &&
         v.strides[0] % kWidth == 0 && (v.sizes[2] == 1 || v.strides[2] % kWidth == 0);
}

// How many threads walk a line side by side. Warps that have lines of their own wait for nobody,
// but a block should not have more of them than lines.
inline int lanes_for(int64_t accesses, bool columns, int64_t lines) {
  int lanes = 1;
  while (lanes < kWarp && lanes < accesses) lanes *= 2;
  while (!columns && lanes < kChannelThreads && lanes < accesses && kChannelThreads / lanes > lines)
    lanes *= 2;
  return lanes;
}

// `width` is how many neighbouring channels a thread may move at once, `packet` how many neighbours
// on a line.
inline ChannelShape make_channel_shape(const dt_stream* stream, const dt_view& x, int width,
                                       int packet) {
  constexpr int64_t kPiece = 16384, kLeast = 4096;  // elements of a piece at most, of a block
  ChannelShape s;
  s.batch = x.sizes[0], s.channels = x.sizes[1], s.length = x.sizes[2];
  s.columns = is_columns(x);
  s.width = s.columns ? width : 1;
  s.per_line = s.columns ? 1 : divide_up(s.length, kPiece);
  s.piece = s.per_line > 1 ? divide_up(divide_up(s.length, s.per_line), 4) * 4 : s.length;
  const int64_t accesses =
      s.columns ? divide_up(s.channels, s.width) : divide_up(s.piece, packet < 4 ? 4 : packet);
  s.lanes = lanes_for(accesses, s.columns, kChannelThreads);
  s.tiles = s.columns ? divide_up(accesses, s.lanes) : s.channels;
  const int64_t items = s.columns ? s.batch * s.length : s.batch * s.per_line;
  const int64_t item = s.columns ? s.lanes * s.width : s.piece;
  const int64_t wanted =
      divide_up(int64_t{8} * multiprocessors(stream->device), s.tiles > 0 ? s.tiles : 1);
  const int64_t least = divide_up(kLeast, item > 0 ? item : 1), shared = divide_up(items, wanted);
  s.per_chunk = least > shared ? least : shared;
  s.chunks = items > 0 ? divide_up(items, s.per_chunk) : 1;
  s.lanes = lanes_for(accesses, s.columns, s.per_chunk);
  return s;
}

// Elements of one access: of a line of one channel (planes), or of neighbouring channels of one
// position (columns). `kWhole`: all of them exist and are moved at once.
template <class T, bool kColumns, int kWidth, bool kWhole>
struct Spot {
  static_assert(kColumns || kWidth == kPacketWidth<T>, "lines are moved in packets");
  using Elements = Packet<T, kWidth>;
  static constexpr bool is_whole = kWhole;
  static constexpr int kPacket = kWidth;

  RowLayout<T, int> row;  // planes
  int64_t n, c, l;
  int packet;

  __device__ __forceinline__ bool contains(int v) const {
    return kWhole || row.contains(row.first(packet) + v);
  }

  // Packets of channels are those of one line.
  template <class U>
  __device__ __forceinline__ U* at(const Image<U>& x) const {
    if constexpr (kColumns && kWidth > 1) return x.data + l * x.l_step + c;
    return x.at(n, c, l);
  }

  template <class U>
  __device__ __forceinline__ Elements load(const Image<U>& x) const {
    const T* p = at(x);
    if constexpr (kColumns) {
      return load_packet<kWidth>(p);
    } else if constexpr (kWhole) {
      return load_packet<kWidth>(row.at(p, packet));
    } else {
      Elements result;
#pragma unroll
      for (int v = 0; v < kWidth; ++v)
        result.value[v] = contains(v) ? p[(row.first(packet) + v) * x.l_step] : T(0.0f);
      return result;
    }
  }

  __device__ __forceinline__ void store(const Image<T>& y, const Elements& elements) const {
    T* p = at(y);
    if constexpr (kColumns) {
      store_packet(p, elements);
    } else if constexpr (kWhole) {
      store_packet(row.at(p, packet), elements);
    } else {
#pragma unroll
      for (int v = 0; v < kWidth; ++v) {
        if (contains(v)) p[(row.first(packet) + v) * y.l_step] = elements.value[v];
      }
    }
  }
};

// A thread's share of a block's chunk.
template <class T, bool kColumns, int kWidth>
struct ChannelWalk {
  int64_t channel;        // the first of kWidth (columns), or the only one
  int64_t block_channel;  // the first of the block's
  int64_t chunk;
  int lane, line;
  bool exists;

  // `block` is blockIdx.x, or its mirror image: a second pass over the same memory goes backwards,
  // because the end of what the first one read is still in the L2 cache.
  __device__ ChannelWalk(const ChannelShape& s, int64_t block)
      : lane(static_cast<int>(threadIdx.x) & (s.lanes - 1)),
        line(static_cast<int>(threadIdx.x) / s.lanes) {
    if constexpr (kColumns) {
      block_channel = block % s.tiles * s.lanes * kWidth;
      channel = block_channel + lane * kWidth;
      chunk = block / s.tiles;
    } else {
      block_channel = channel = block / s.chunks;
      chunk = block % s.chunks;
    }
    exists = channel < s.channels;
    if (!exists) channel = 0;
  }

  // use(spot, load(spot)) for each access. Several loads are on their way before the first is used,
  // which a compiler cannot see to where `use` stores. `images` are the operands of both.
  template <class Load, class Use, class... Images>
  __device__ __forceinline__ void for_each(const ChannelShape& s, const Load& load, const Use& use,
                                           const Images&... images) const {
    if (!exists) return;
    const int lines = kChannelThreads / s.lanes;
    const int64_t begin = chunk * s.per_chunk,
                  items = kColumns ? s.batch * s.length : s.batch * s.per_line;
    const int64_t end = begin + s.per_chunk < items ? begin + s.per_chunk : items;
    if constexpr (kColumns) {
      walk_positions(s, begin + line, end, lines, load, use);
    } else {
      for (int64_t i = begin + line; i < end; i += lines) {
        const int64_t n = s.per_line == 1 ? i : i / s.per_line, l = (i - n * s.per_line) * s.piece;
        const int64_t rest = s.length - l, size = rest < s.piece ? rest : s.piece;
        const bool is_dense = ((images.l_step == 1) && ...);
        const RowLayout<T, int> layout(size, images.at(n, channel, l)...);
        walk_line(s, is_dense ? layout : RowLayout<T, int>(size, false), n, l, load, use);
      }
    }
  }

  // partial[chunk][channel] = the sums of the block's threads. All of them must take part.
  template <int kSums>
  __device__ __forceinline__ void store_chunk(const ChannelShape& s, Pair<double>* partial,
                                              Pair<double> (&mine)[kSums]) const {
    constexpr int kWarps = kChannelThreads / kWarp;
    __shared__ Pair<double> of_warps[kWarps][kColumns ? kWarp * kSums : 1];
    const int side = kColumns ? s.lanes : 1;  // threads of a warp whose channels differ
    const int warp = static_cast<int>(threadIdx.x) / kWarp, at = threadIdx.x % kWarp;
#pragma unroll
    for (int v = 0; v < kSums; ++v) {
      for (int step = side; step < kWarp; step *= 2)
        mine[v] = Pair<double>::merge(mine[v], exchange(mine[v], step));
      if (at < side) of_warps[warp][at * kSums + v] = mine[v];
    }
    __syncthreads();
    for (int i = threadIdx.x; i < side * kSums; i += kChannelThreads) {
      Pair<double> all = of_warps[0][i];
#pragma unroll
      for (int w = 1; w < kWarps; ++w) all = Pair<double>::merge(all, of_warps[w][i]);
      if (block_channel + i < s.channels) partial[chunk * s.channels + block_channel + i] = all;
    }
  }

 private:
  static constexpr int kAtOnce = 2;  // accesses that are on their way at once

  template <class Load, class Use>
  __device__ __forceinline__ void walk_positions(const ChannelShape& s, int64_t begin, int64_t end,
                                                 int step, const Load& load, const Use& use) const {
    using At = Spot<T, true, kWidth, true>;
    const RowLayout<T, int> none(0, false);
    const auto spot = [&](int64_t i) {
      const int64_t n = kWidth > 1 || s.batch == 1 ? 0 : i / s.length;
      return At{none, n, channel, i - n * s.length, 0};
    };
    using Loaded = decltype(load(spot(0)));
    for (int64_t first = begin; first < end; first += kAtOnce * step) {
      Loaded part[kAtOnce];
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        if (first + k * step < end) part[k] = load(spot(first + k * step));
      }
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        if (first + k * step < end) use(spot(first + k * step), part[k]);
      }
    }
  }

  template <class Load, class Use>
  __device__ __forceinline__ void walk_line(const ChannelShape& s, const RowLayout<T, int>& row,
                                            int64_t n, int64_t l, const Load& load,
                                            const Use& use) const {
    const auto whole = [&](int packet) {
      return Spot<T, false, kWidth, true>{row, n, channel, l, packet};
    };
    using Loaded = decltype(load(whole(0)));
    for (int first = row.begin_whole() + lane; first < row.end_whole();
         first += kAtOnce * s.lanes) {
      Loaded part[kAtOnce];
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        if (first + k * s.lanes < row.end_whole()) part[k] = load(whole(first + k * s.lanes));
      }
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        if (first + k * s.lanes < row.end_whole()) use(whole(first + k * s.lanes), part[k]);
      }
    }
    // What is left: the packets at both ends, or all if none can be moved as a whole.
    const int last = row.packets() - 1, step = row.is_wide && last > 0 ? last : 1;
    for (int packet = lane * step; packet <= last; packet += s.lanes * step) {
      const Spot<T, false, kWidth, false> spot{row, n, channel, l, packet};
      if (!row.is_whole(packet)) use(spot, load(spot));
    }
  }
};

}  // namespace dt::cuda
