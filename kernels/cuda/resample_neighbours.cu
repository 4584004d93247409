// Resampling of planes without antialiasing, where an element is made of its nearest neighbours. A
// block has a strip of a plane, or of several: columns that its threads walk down. The lines of the
// larger image are walked over, so that a thread has to do with few lines of the other one at a
// time: it keeps these in registers. Of each line of x it adds up what its columns are made of
// once, for all lines of y in which that counts. All threads are at the same line, and what it is
// made of is found once for the block, like what each column is made of. While a line is added up,
// the elements of the next are on their way.
//
// A gradient's elements are summed in the order of lines, and within one in that of columns.
#include <algorithm>

#include "kernels/calls/vision.gen.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/resample_neighbours.cuh"
#include "kernels/cuda/types.cuh"

namespace dt::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kMostAcross = 64;  // threads
constexpr int kChunk = 64;       // lines whose neighbours are found at a time

constexpr int kColumnsOfThread = 2;
constexpr int64_t kMostLines = 64;  // of a strip
// In the larger image: what a strip costs before its first line is done should not count.
constexpr int64_t kFewestForward = 16, kFewestBackward = 32;
constexpr int64_t kWaves = 2;  // as many times as the device has room for threads

constexpr int64_t kMostPlaces = INT32_MAX / 2;  // elements of a plane, which 32 bits count

// Blocks of a kernel for which a multiprocessor should have registers. One keeps `numbers` of type
// W.
template <class W>
constexpr int blocks_with(int numbers) {
  const int words = numbers * static_cast<int>(sizeof(W) / sizeof(float));
  return words <= 12 ? 6 : words <= 16 ? 5 : words <= 32 ? 4 : 2;
}

// Of a thread's columns: as far apart as the block is wide, so that a warp reads and writes
// neighbours.
struct Strip {
  int32_t across, segments, tiles_across;
  int32_t lines;  // of y
};

template <class T, int kReach>
struct Planes {
  using Line = ResampledLine<Widened<T>, kReach>;

  T* y;
  const T* x;
  Line rows, columns;
  int64_t planes;
  int32_t h, w, p, q;  // of x and of y
  Strip strip;
};

// Where a thread is.
template <class T, int kReach, int kColumns>
struct Place {
  const T* x;
  T* y;
  int32_t first_line, end_line;
  int32_t column;        // the first of the thread's
  int32_t first_column;  // of the block's
  bool exists;

  __device__ __forceinline__ explicit Place(const Planes<T, kReach>& call) {
    const auto tiles = static_cast<uint32_t>(call.strip.tiles_across);
    const auto segments = static_cast<uint32_t>(call.strip.segments);
    const uint32_t strip = blockIdx.x / tiles, group = strip / segments;
    const int64_t plane = int64_t{group} * blockDim.y + threadIdx.y;
    exists = plane < call.planes;
    const int64_t within = exists ? plane : call.planes - 1;
    x = call.x + within * call.h * call.w;
    y = call.y + within * call.p * call.q;
    first_line = static_cast<int32_t>(strip - group * segments) * call.strip.lines;
    end_line = min(first_line + call.strip.lines, call.p);
    first_column = static_cast<int32_t>(blockIdx.x - strip * tiles) * kColumns * call.strip.across;
    column = first_column + static_cast<int32_t>(threadIdx.x);
  }
  __device__ __forceinline__ void store(const Planes<T, kReach>& call, int32_t line,
                                        const Widened<T> (&sums)[kColumns]) const {
    const int32_t first = line * call.q;
#pragma unroll
    for (int c = 0; c < kColumns; ++c) {
      const int32_t j = column + c * call.strip.across;
      if (exists && j < call.q) y[first + j] = static_cast<T>(sums[c]);
    }
  }
};

// The neighbours of a thread's columns, which the block finds together.
template <class Place, class Find, class Found, int kColumns>
__device__ __forceinline__ void find_columns(const Strip& strip, int32_t q, const Place& place,
                                             const Find& find, Found (&columns)[kColumns]) {
  __shared__ Found all[kMostAcross * kColumns];
  const auto thread = static_cast<int32_t>(threadIdx.y * blockDim.x + threadIdx.x);
  const auto threads = static_cast<int32_t>(blockDim.x * blockDim.y);
  // What is behind the last column is computed like it, and not written.
  for (int32_t c = thread; c < strip.across * kColumns; c += threads)
    all[c] = find(min(place.first_column + c, q - 1));
  __syncthreads();
#pragma unroll
  for (int c = 0; c < kColumns; ++c)
    columns[c] = all[c * strip.across + static_cast<int32_t>(threadIdx.x)];
}

// The taps of `count` lines, which the block finds together.
template <class Line, class Taps>
__device__ __forceinline__ void find_lines(const Line& rows, int32_t first, int32_t count,
                                           Taps* found) {
  __syncthreads();
  const auto thread = static_cast<int32_t>(threadIdx.y * blockDim.x + threadIdx.x);
  const auto threads = static_cast<int32_t>(blockDim.x * blockDim.y);
  for (int32_t i = thread; i < count; i += threads) found[i] = rows.taps(first + i);
  __syncthreads();
}

// Elements of a line, as many as there is room for.
template <class W, int kRoom, class T>
__device__ __forceinline__ void load_elements(const Neighbours<W, kRoom>& of, const T* line,
                                              T (&elements)[kRoom]) {
  const T* const from = line + of.first;
#pragma unroll
  for (int k = 0; k < kRoom; ++k) elements[k] = k < of.count ? from[k] : T();
}

template <class W, int kRoom, class T>
__device__ __forceinline__ W sum_of(const Neighbours<W, kRoom>& of, const T (&elements)[kRoom]) {
  W sum = 0;
#pragma unroll
  for (int k = 0; k < kRoom; ++k) sum += of.weight[k] * static_cast<W>(elements[k]);
  return sum;
}

// Drops the first of some lines and gives room to one behind them.
template <class W, int kLines, int kColumns>
__device__ __forceinline__ void move_up(W (&lines)[kLines][kColumns]) {
#pragma unroll
  for (int k = 0; k < kLines; ++k) {
#pragma unroll
    for (int c = 0; c < kColumns; ++c) lines[k][c] = k + 1 < kLines ? lines[k + 1][c] : W(0);
  }
}

// Lines of x, whose columns are added up, as many as a line of y is made of.
template <class T, int kReach, int kColumns>
struct Window {
  using W = Widened<T>;
  static constexpr int kTaps = 2 * kReach;
  using Columns = Neighbours<W, kTaps>[kColumns];

  W lines[kTaps][kColumns];
  T next[kColumns][kTaps];   // elements of the line behind them
  int32_t base = INT32_MIN;  // the first of them
  bool loads_ahead;          // not where lines are left out

  __device__ __forceinline__ explicit Window(const Planes<T, kReach>& call)
      : loads_ahead(!call.rows.changes || call.rows.step <= W(kTaps)) {}

  __device__ __forceinline__ void move_to(int32_t first, const Planes<T, kReach>& call, const T* x,
                                          const Columns& columns) {
    if (base >= first) return;
    if (base + kTaps < first || !loads_ahead) {
      base = max(base, first - kTaps);  // what lies between counts nowhere
      load_next(call, x, columns);
    }
#pragma unroll 1
    while (base < first) {
      move_up(lines);
#pragma unroll
      for (int c = 0; c < kColumns; ++c) lines[kTaps - 1][c] = sum_of(columns[c], next[c]);
      ++base;
      if (base < first || loads_ahead) load_next(call, x, columns);
    }
  }
  __device__ __forceinline__ void add_up(const Neighbours<W, kTaps>& of,
                                         W (&sums)[kColumns]) const {
#pragma unroll
    for (int c = 0; c < kColumns; ++c) sums[c] = 0;
#pragma unroll
    for (int k = 0; k < kTaps; ++k) {
#pragma unroll
      for (int c = 0; c < kColumns; ++c)
        sums[c] = k < of.count ? sums[c] + of.weight[k] * lines[k][c] : sums[c];
    }
  }

 private:
  __device__ __forceinline__ void load_next(const Planes<T, kReach>& call, const T* x,
                                            const Columns& columns) {
    const T* const line = x + min(base + kTaps, call.h - 1) * call.w;
#pragma unroll
    for (int c = 0; c < kColumns; ++c) load_elements(columns[c], line, next[c]);
  }
};

template <class T, int kReach, int kColumns>
__global__ void __launch_bounds__(kThreads, blocks_with<Widened<T>>(6 * kReach * kColumns))
    resample_forward(const __grid_constant__ Planes<T, kReach> call) {
  begin_kernel();
  using W = Widened<T>;
  using Taps = typename Planes<T, kReach>::Line::Taps;
  __shared__ Taps rows[kChunk];
  const Place<T, kReach, kColumns> place(call);
  Taps columns[kColumns];
  find_columns(
      call.strip, call.q, place, [&](int32_t j) { return call.columns.taps(j); }, columns);
  Window<T, kReach, kColumns> window(call);
  for (int32_t chunk = place.first_line; chunk < place.end_line; chunk += kChunk) {
    const int32_t end = min(chunk + kChunk, place.end_line);
    find_lines(call.rows, chunk, end - chunk, rows);
#pragma unroll 1
    for (int32_t i = chunk; i < end; ++i) {
      const Taps row = rows[i - chunk];
      window.move_to(row.first, call, place.x, columns);
      W sums[kColumns];
      window.add_up(row, sums);
      place.store(call, i, sums);
    }
  }
}

// Lines of y that are not complete: those to which a line of x is added.
template <class T, int kReach, int kColumns>
struct OpenLines {
  using W = Widened<T>;
  static constexpr int kTaps = 2 * kReach;

  W lines[kTaps][kColumns] = {};
  int32_t base;  // the first of them

  // Writes what lies before line `first` of y.
  template <class Place>
  __device__ __forceinline__ void complete(int32_t first, const Planes<T, kReach>& call,
                                           const Place& place) {
#pragma unroll 1
    for (; base < first; ++base) {
      if (base >= place.first_line) place.store(call, base, lines[0]);
      move_up(lines);
    }
  }
  __device__ __forceinline__ void add(const Neighbours<W, kTaps>& to, const W (&line)[kColumns]) {
#pragma unroll
    for (int k = 0; k < kTaps; ++k) {
      if (k >= to.count) break;
#pragma unroll
      for (int c = 0; c < kColumns; ++c) lines[k][c] += to.weight[k] * line[c];
    }
  }
};

// What a thread's columns of a line of the gradient are added up to. Of the uses of a column as
// many have their weights in registers as there is room for.
template <class T, int kReach, int kColumns, int kRoom>
struct Gradients {
  using W = Widened<T>;

  const Planes<T, kReach>& call;
  const T* x;
  int32_t column;  // the first of the thread's
  Neighbours<W, kRoom> uses[kColumns];

  __device__ __forceinline__ void load(int32_t o, T (&elements)[kColumns][kRoom]) const {
    const T* const line = x + min(o, call.h - 1) * call.w;
#pragma unroll
    for (int c = 0; c < kColumns; ++c) load_elements(uses[c], line, elements[c]);
  }
  __device__ __forceinline__ void add_up(int32_t o, const T (&elements)[kColumns][kRoom],
                                         W (&sums)[kColumns]) const {
#pragma unroll
    for (int c = 0; c < kColumns; ++c) {
      sums[c] = sum_of(uses[c], elements[c]);
      if (uses[c].count <= kRoom) continue;
      const int32_t j = min(column + c * call.strip.across, call.q - 1);
      const T* const from = x + min(o, call.h - 1) * call.w + uses[c].first;
      for (int32_t k = kRoom; k < uses[c].count; ++k)
        sums[c] += call.columns.weight(uses[c].first + k, j) * static_cast<W>(from[k]);
    }
  }
};

template <class T, int kReach, int kColumns, int kRoom>
__global__ void __launch_bounds__(kThreads, blocks_with<Widened<T>>(4 * kRoom * kColumns))
    resample_backward(const __grid_constant__ Planes<T, kReach> call) {
  begin_kernel();
  constexpr int kAhead = kRoom <= 4 ? 2 : 1;  // lines
  static_assert(kChunk % kAhead == 0, "the first lines of a chunk are on their way");
  using Taps = typename Planes<T, kReach>::Line::Taps;
  __shared__ Taps rows[kChunk];
  const Place<T, kReach, kColumns> place(call);
  __shared__ int32_t bounds[2];  // of the lines of x that are used
  if (threadIdx.y == 0 && threadIdx.x == 0) {
    bounds[0] = call.rows.first_use(place.first_line);
    bounds[1] = call.rows.end_of_uses(place.end_line - 1);
  }
  Gradients<T, kReach, kColumns, kRoom> gradients = {call, place.x, place.column, {}};
  find_columns(
      call.strip, call.q, place, [&](int32_t j) { return call.columns.template uses<kRoom>(j); },
      gradients.uses);
  const int32_t begin = bounds[0], end = bounds[1];
  OpenLines<T, kReach, kColumns> open;
  open.base = min(place.first_line, begin < end ? call.rows.taps(begin).first : INT32_MAX);
  T next[kAhead][kColumns][kRoom];
#pragma unroll
  for (int a = 0; a < kAhead; ++a) gradients.load(begin + a, next[a]);
  for (int32_t chunk = begin; chunk < end; chunk += kChunk) {
    const int32_t end_chunk = min(chunk + kChunk, end);
    find_lines(call.rows, chunk, end_chunk - chunk, rows);
#pragma unroll 1
    for (int32_t o = chunk; o < end_chunk; o += kAhead) {
      Widened<T> line[kAhead][kColumns];
#pragma unroll
      for (int a = 0; a < kAhead; ++a) gradients.add_up(o + a, next[a], line[a]);
#pragma unroll
      for (int a = 0; a < kAhead; ++a) gradients.load(o + kAhead + a, next[a]);
#pragma unroll
      for (int a = 0; a < kAhead; ++a) {
        if (o + a >= end_chunk) break;
        const Taps row = rows[o + a - chunk];
        open.complete(row.first, call, place);
        open.add(row, line[a]);
      }
    }
  }
  open.complete(place.end_line, call, place);
}

// As wide as the columns need, and as many planes at a time as a block has room for; strips as
// short as it takes to occupy the device, but of no fewer than `fewest` lines of the larger image.
template <class T, int kReach>
dim3 plan_strips(int32_t device, int columns, int64_t fewest, Planes<T, kReach>* call,
                 int64_t* blocks) {
  Strip& strip = call->strip;
  const int64_t tiles = divide_up(call->q, int64_t{kMostAcross} * columns);
  const int64_t across = divide_up(divide_up(call->q, tiles), columns);
  strip.tiles_across = static_cast<int32_t>(tiles);
  strip.across = static_cast<int32_t>(across < 8 ? across : divide_up(across, 8) * 8);
  const int64_t together = std::min<int64_t>(kThreads / strip.across, call->planes);
  const int64_t groups = divide_up(call->planes, together);
  const int64_t walks = groups * tiles * strip.across * together;
  const int64_t room = int64_t{multiprocessors(device)} * 2048 * kWaves;
  const int64_t most = divide_up(std::max(call->h, call->p), fewest);
  const int64_t least = divide_up(call->p, kMostLines);
  const int64_t wanted =
      std::max(std::min<int64_t>({divide_up(room, walks), most, call->p}), least);
  strip.lines = static_cast<int32_t>(divide_up(call->p, wanted));
  strip.segments = static_cast<int32_t>(divide_up(call->p, strip.lines));
  *blocks = groups * tiles * strip.segments;
  return dim3(static_cast<unsigned>(strip.across), static_cast<unsigned>(together));
}

template <class T, int kReach>
int32_t run_strips(const dt_stream* stream, int columns, int64_t fewest, Planes<T, kReach> call,
                   void (*kernel)(Planes<T, kReach>)) {
  int64_t blocks;
  const dim3 threads = plan_strips(stream->device, columns, fewest, &call, &blocks);
  if (blocks > INT32_MAX) return DT_KERNEL_UNSUPPORTED;
  return launch(stream, kernel, dim3(static_cast<unsigned>(blocks)), threads, 0, call);
}

template <class T, int kReach>
int32_t run_forward(const dt_stream* stream, const Planes<T, kReach>& call) {
  return run_strips(stream, kColumnsOfThread, kFewestForward, call,
                    resample_forward<T, kReach, kColumnsOfThread>);
}

// How many of the others are made of an element: rounding may add one, for which there need not be
// room. Where they are many, one column takes all registers.
template <class T, int kReach>
int32_t run_backward(const dt_stream* stream, const Planes<T, kReach>& call) {
  constexpr int kFew = 4, kMany = 8;
  const bool are_few = !call.columns.changes || 2 * kReach <= kFew * call.columns.step;
  if (are_few)
    return run_strips(stream, kColumnsOfThread, kFewestBackward, call,
                      resample_backward<T, kReach, kColumnsOfThread, kFew>);
  return run_strips(stream, 1, kFewestBackward, call, resample_backward<T, kReach, 1, kMany>);
}

template <class T, int kReach>
Planes<T, kReach> planes_of(const calls::ResampleNeighbours& call) {
  const dt_view &x = call.x, &y = call.y;
  const dt_view &from = call.transposed ? y : x, &to = call.transposed ? x : y;
  const auto line = [&](int d, bool changes, double step) {
    return ResampledLine<Widened<T>, kReach>{static_cast<int32_t>(from.sizes[d]),
                                             static_cast<int32_t>(to.sizes[d]), changes,
                                             call.align_corners, static_cast<Widened<T>>(step)};
  };
  return {static_cast<T*>(y.data),
          static_cast<const T*>(x.data),
          line(1, call.row_changes, call.row_step),
          line(2, call.column_changes, call.column_step),
          x.sizes[0],
          static_cast<int32_t>(x.sizes[1]),
          static_cast<int32_t>(x.sizes[2]),
          static_cast<int32_t>(y.sizes[1]),
          static_cast<int32_t>(y.sizes[2]),
          {}};
}

template <class T, int kReach>
int32_t run_neighbours(const dt_stream* stream, const calls::ResampleNeighbours& call) {
  const Planes<T, kReach> planes = planes_of<T, kReach>(call);
  return call.transposed ? run_backward(stream, planes) : run_forward(stream, planes);
}

}  // namespace

int32_t kernels::resample_neighbours(const dt_stream* stream,
                                     const calls::ResampleNeighbours& call) {
  const dt_view &x = call.x, &y = call.y;
  if (std::max(x.sizes[1] * x.sizes[2], y.sizes[1] * y.sizes[2]) > kMostPlaces)
    return DT_KERNEL_UNSUPPORTED;
  if (numel(x) == 0 || numel(y) == 0) return DT_KERNEL_UNSUPPORTED;
  return visit_stored_floating(y.dtype, [&](auto type) -> int32_t {
    using T = typename decltype(type)::type;
    if constexpr (sizeof(T) > sizeof(float))  // whose registers are few: tables do
      return DT_KERNEL_UNSUPPORTED;
    else
      return call.reach == 1 ? run_neighbours<T, 1>(stream, call)
                             : run_neighbours<T, 2>(stream, call);
  });
}

}  // namespace dt::cuda
