// Places of a grid, sorted for the gradient of what they are made of. A linear place lies in a
// cell, between elements or beside those at an edge, and is an entry there: all elements around are
// found by one key. A tap of the others is an entry in the cell of its element.
#pragma once

#include "kernels/cuda/grid_sample.cuh"

namespace dt::cuda {

// How many entries there are, and cells that they may be in.
struct EntryCounts {
  int64_t entries, cells;
  bool is_counted = true;  // whether the neighbour of an element differs from it as a float, too

  explicit EntryCounts(const calls::GridSampleBackward& call)
      : entries(call.x.sizes[0]), cells(call.x.sizes[0]) {
    constexpr int64_t kMostOfFloats = 1 << 23;
    for (int d = 2; d < call.x.ndim; ++d) {
      cells *= call.x.sizes[d] + (call.reach == 1 ? 1 : 0);
      entries *= call.grid.sizes[d - 1] * (call.reach == 2 ? 4 : 1);
      is_counted = is_counted && (call.reach != 1 || call.x.sizes[d] < kMostOfFloats);
    }
  }
  // The threads of the last block that have nothing are counted, too.
  bool are_small() const {
    constexpr int64_t kMostThreads = 1024;
    return is_counted && std::max(entries, cells) < kMaxIndex32 - kMostThreads;
  }
  // Of keys up to `cells`, which stands for none.
  int key_bits() const {
    int bits = 1;
    while (cells >> bits != 0) ++bits;
    return bits;
  }
};

// The cells of an image, whose last dimension is the fastest.
template <int kDims, int kReach>
struct CellGrid {
  int32_t images, plane = 1, cells = 1;  // of an image
  int32_t size[kDims];                   // in elements
  FastDivide by_size[kDims];

  explicit CellGrid(const dt_view& x) : images(static_cast<int32_t>(x.sizes[0])) {
    for (int d = 0; d < kDims; ++d) {
      size[d] = static_cast<int32_t>(x.sizes[d + 2]);
      by_size[d] = FastDivide(static_cast<uint32_t>(size[d]));
      plane *= size[d];
      cells *= size[d] + (kReach == 1 ? 1 : 0);
    }
  }
};

#ifdef __CUDACC__

// What an element gets of an entry: of linear ones that is said by how far the place lies from the
// lower element in each dimension, of others by the weight.
template <class T, int kDims, int kReach>
struct Entry {
  static constexpr int kUses = kReach == 1 ? 1 << kDims : 1;  // elements
  static constexpr int kParts = kReach == 1 ? kDims : 1;

  __device__ __forceinline__ uint32_t place() const {
    uint32_t place;
    memcpy(&place, &all.value[0], sizeof place);
    return place;
  }
  __device__ __forceinline__ void set(uint32_t place, const T (&parts)[kParts]) {
    all = {};
    memcpy(&all.value[0], &place, sizeof place);
#pragma unroll
    for (int d = 0; d < kParts; ++d) all.value[d + 1] = parts[d];
  }
  // For the upper element in those dimensions but the last whose bits `corner` has, and in the last
  // if `is_upper`.
  __device__ __forceinline__ T weight(int corner, bool is_upper) const {
    if constexpr (kReach != 1) return all.value[1];
    T weight = 1;
#pragma unroll
    for (int d = 0; d < kParts; ++d) {
      const bool takes_rest = d + 1 < kDims ? (corner >> d & 1) != 0 : is_upper;
      weight *= takes_rest ? all.value[d + 1] : 1 - all.value[d + 1];
    }
    return weight;
  }
  __device__ __forceinline__ void load(const Entry* from) {
    all = load_packet<kWidth>(from->all.value);
  }
  __device__ __forceinline__ void store(const Entry& entry) {
    store_packet(all.value, entry.all);
  }

 private:
  static constexpr int kWidth = kReach == 1 ? 4 : 2;
  Packet<T, kWidth> all;
};

// The cell of each entry.
template <class T, int kDims, int kReach>
struct CellOf {
  using Here = Place<T, kDims, kReach, int32_t>;
  static constexpr uint32_t kPerPlace = kReach == 1 ? 1 : Here::kCount;

  Sampler<T, int32_t> sampler;
  CellGrid<kDims, kReach> grid;

  // What stands for no cell.
  __device__ __forceinline__ uint32_t none() const {
    return static_cast<uint32_t>(grid.images) * static_cast<uint32_t>(grid.cells);
  }
  __device__ __forceinline__ uint32_t operator()(uint32_t number) const {
    const auto place = static_cast<int32_t>(number / kPerPlace);
    const int32_t cell = cell_of(Here(sampler, place), static_cast<int>(number % kPerPlace));
    if (cell < 0) return none();
    return static_cast<uint32_t>(sampler.by_places(place) * grid.cells + cell);
  }
  __device__ __forceinline__ Entry<T, kDims, kReach> entry(uint32_t number) const {
    using Part = Entry<T, kDims, kReach>;
    const auto place = static_cast<int32_t>(number / kPerPlace);
    const Here here(sampler, place);
    T parts[Part::kParts] = {};
    if constexpr (kReach == 1) {
#pragma unroll
      for (int d = 0; d < kDims; ++d) parts[d] = here.of[d].weight[1];
    } else {
      const int tap = static_cast<int>(number % kPerPlace);
#pragma unroll
      for (int k = 0; k < Here::kCount; ++k) parts[0] = k == tap ? here.weight(k) : parts[0];
    }
    Part entry;
    entry.set(static_cast<uint32_t>(place - sampler.by_places(place) * sampler.places), parts);
    return entry;
  }

 private:
  // In an image; -1: none.
  __device__ __forceinline__ int32_t cell_of(const Here& here, int tap) const {
    int32_t cell = 0;
    if constexpr (kReach == 1) {
#pragma unroll
      for (int d = 0; d < kDims; ++d) {
        const int32_t lower = here.of[d].at[0], upper = here.of[d].at[1];
        const int32_t at = lower >= 0 ? lower + 1 : upper;
        cell = cell < 0 || at < 0 ? -1 : cell * (grid.size[d] + 1) + at;
      }
    } else {
#pragma unroll
      for (int k = 0; k < Here::kCount; ++k) cell = k == tap ? here.offset(sampler, k) : cell;
    }
    return cell;
  }
};

// The entries of neighbouring cells of a row: from `middle` on those for which the element is the
// lower one.
struct CellRun {
  uint32_t begin, middle, end;
};

// All that lies around an element.
template <int kDims, int kReach>
struct CellRuns {
  static constexpr int kCount = kReach == 1 ? 1 << (kDims - 1) : 1;
  CellRun of[kCount];

  __device__ __forceinline__ CellRuns(const CellGrid<kDims, kReach>& grid, const uint32_t* begin,
                                      int32_t image, int32_t element) {
    const uint32_t* const here = begin + int64_t{image} * grid.cells;
    if constexpr (kReach != 1) {
      of[0] = {here[element], here[element], here[element + 1]};
      return;
    }
    int32_t at[kDims];
    auto rest = static_cast<uint32_t>(element);
#pragma unroll
    for (int d = kDims - 1; d > 0; --d) {
      const uint32_t next = grid.by_size[d].divide(rest);
      at[d] = static_cast<int32_t>(rest - next * grid.by_size[d].divisor), rest = next;
    }
    at[0] = static_cast<int32_t>(rest);
#pragma unroll
    for (int corner = 0; corner < kCount; ++corner) {
      int32_t cell = 0;
#pragma unroll
      for (int d = 0; d + 1 < kDims; ++d)
        cell = cell * (grid.size[d] + 1) + at[d] + (corner >> d & 1 ? 0 : 1);
      cell = cell * (grid.size[kDims - 1] + 1) + at[kDims - 1];
      of[corner] = {here[cell], here[cell + 1], here[cell + 2]};
    }
  }
  __device__ __forceinline__ uint32_t total() const {
    uint32_t total = 0;
#pragma unroll
    for (int r = 0; r < kCount; ++r) total += of[r].end - of[r].begin;
    return total;
  }
};

#endif

}  // namespace dt::cuda
