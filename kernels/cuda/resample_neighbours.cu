// Resampling of planes without antialiasing, where an element is made of its nearest neighbours. A
// block has a strip of a plane, or of several: columns that its threads walk down. The lines of the
// larger image are walked over, so that a thread has to do with few lines of the other one at a
// time: it keeps these in registers. Of each line of x it adds up what its columns are made of
// once, for all lines of y in which that counts. All threads are at the same line, and what it is
// made of is found once for the block, like what each column is made of.
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

constexpr int kForwardColumns = 4, kBackwardColumns = 2;  // of a thread
constexpr int kAtOnce = 2;  // lines of the result's gradient that are on their way
constexpr int64_t kFewestLines = 8, kMostLines = 64;  // of a strip
constexpr int64_t kWaves = 2;  // as many times as the device has room for threads

constexpr int64_t kMostPlaces = INT32_MAX / 2;  // lines and columns, which are counted in 32 bits

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
    T* const to = y + int64_t{line} * call.q;
#pragma unroll
    for (int c = 0; c < kColumns; ++c) {
      const int32_t j = column + c * call.strip.across;
      if (exists && j < call.q) to[j] = static_cast<T>(sums[c]);
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

// The sum of weighted elements of a line; rest(k) is the weight of those for which there was no
// room.
template <class W, int kRoom, class T, class Rest>
__device__ __forceinline__ W sum_of(const Neighbours<W, kRoom>& of, const T* line,
                                    const Rest& rest) {
  const T* const from = line + of.first;
  W sum = 0;
#pragma unroll
  for (int k = 0; k < kRoom; ++k) {
    const T x = k < of.count ? from[k] : T();
    sum = k < of.count ? sum + of.weight[k] * static_cast<W>(x) : sum;
  }
  for (int32_t k = kRoom; k < of.count; ++k) sum += rest(k) * static_cast<W>(from[k]);
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

  W lines[kTaps][kColumns];
  int32_t base;  // the first of them

  __device__ __forceinline__ void move_to(int32_t first, const Planes<T, kReach>& call, const T* x,
                                          const Neighbours<W, kTaps> (&columns)[kColumns]) {
    base = max(base, first - kTaps);  // what lies between counts nowhere
#pragma unroll 1
    for (; base < first; ++base) {
      move_up(lines);
      const T* const line = x + int64_t{min(base + kTaps, call.h - 1)} * call.w;
#pragma unroll
      for (int c = 0; c < kColumns; ++c)
        lines[kTaps - 1][c] = sum_of(columns[c], line, [](int32_t) { return W(0); });
    }
  }
  __device__ __forceinline__ void add_up(const Neighbours<W, kTaps>& of,
                                         W (&sums)[kColumns]) const {
#pragma unroll
    for (int c = 0; c < kColumns; ++c) sums[c] = 0;
#pragma unroll
    for (int k = 0; k < kTaps; ++k) {
      if (k >= of.count) break;
#pragma unroll
      for (int c = 0; c < kColumns; ++c) sums[c] += of.weight[k] * lines[k][c];
    }
  }
};

template <class T, int kReach, int kColumns>
__global__ void __launch_bounds__(kThreads)
    resample_forward(const __grid_constant__ Planes<T, kReach> call) {
  begin_kernel();
  using W = Widened<T>;
  using Taps = typename Planes<T, kReach>::Line::Taps;
  __shared__ Taps rows[kChunk];
  const Place<T, kReach, kColumns> place(call);
  Taps columns[kColumns];
  find_columns(
      call.strip, call.q, place, [&](int32_t j) { return call.columns.taps(j); }, columns);
  Window<T, kReach, kColumns> window;
  window.base = INT32_MIN;
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

// Of the uses of a column as many have their weights in registers as there is room for.
template <class T, int kReach, int kColumns, int kRoom>
__global__ void __launch_bounds__(kThreads)
    resample_backward(const __grid_constant__ Planes<T, kReach> call) {
  begin_kernel();
  using W = Widened<T>;
  using Taps = typename Planes<T, kReach>::Line::Taps;
  __shared__ Taps rows[kChunk];
  const Place<T, kReach, kColumns> place(call);
  __shared__ int32_t bounds[2];  // of the lines of x that are used
  if (threadIdx.y == 0 && threadIdx.x == 0) {
    bounds[0] = call.rows.first_use(place.first_line);
    bounds[1] = call.rows.end_of_uses(place.end_line - 1);
  }
  Neighbours<W, kRoom> columns[kColumns];
  find_columns(
      call.strip, call.q, place, [&](int32_t j) { return call.columns.template uses<kRoom>(j); },
      columns);
  const int32_t begin = bounds[0], end = bounds[1];
  OpenLines<T, kReach, kColumns> open;
  open.base = min(place.first_line, begin < end ? call.rows.taps(begin).first : INT32_MAX);
  for (int32_t chunk = begin; chunk < end; chunk += kChunk) {
    const int32_t end_chunk = min(chunk + kChunk, end);
    find_lines(call.rows, chunk, end_chunk - chunk, rows);
#pragma unroll 1
    for (int32_t o = chunk; o < end_chunk; o += kAtOnce) {
      W line[kAtOnce][kColumns];
#pragma unroll
      for (int a = 0; a < kAtOnce; ++a) {
        const T* const x = place.x + int64_t{min(o + a, end_chunk - 1)} * call.w;
#pragma unroll
        for (int c = 0; c < kColumns; ++c) {
          const int32_t j = min(place.column + c * call.strip.across, call.q - 1);
          line[a][c] = sum_of(columns[c], x, [&](int32_t k) {
            return call.columns.weight(columns[c].first + k, j);
          });
        }
      }
#pragma unroll
      for (int a = 0; a < kAtOnce; ++a) {
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
// short as it takes to occupy the device, or longer.
template <class T, int kReach>
dim3 plan_strips(int32_t device, int columns, Planes<T, kReach>* call, int64_t* blocks) {
  Strip& strip = call->strip;
  const int64_t tiles = divide_up(call->q, int64_t{kMostAcross} * columns);
  const int64_t across = divide_up(divide_up(call->q, tiles), columns);
  strip.tiles_across = static_cast<int32_t>(tiles);
  strip.across = static_cast<int32_t>(across < 8 ? across : divide_up(across, 8) * 8);
  const int64_t together = std::min<int64_t>(kThreads / strip.across, call->planes);
  const int64_t groups = divide_up(call->planes, together);
  const int64_t walks = groups * tiles * strip.across * together;
  const int64_t room = int64_t{multiprocessors(device)} * 2048 * kWaves;
  const int64_t wanted = std::clamp(divide_up(room, walks), divide_up(call->p, kMostLines),
                                    divide_up(call->p, kFewestLines));
  strip.lines = static_cast<int32_t>(divide_up(call->p, wanted));
  strip.segments = static_cast<int32_t>(divide_up(call->p, strip.lines));
  *blocks = groups * tiles * strip.segments;
  return dim3(static_cast<unsigned>(strip.across), static_cast<unsigned>(together));
}

template <class T, int kReach>
int32_t run_strips(const dt_stream* stream, int columns, Planes<T, kReach> call,
                   void (*kernel)(Planes<T, kReach>)) {
  int64_t blocks;
  const dim3 threads = plan_strips(stream->device, columns, &call, &blocks);
  if (blocks > INT32_MAX) return DT_KERNEL_UNSUPPORTED;
  return launch(stream, kernel, dim3(static_cast<unsigned>(blocks)), threads, 0, call);
}

template <class T, int kReach>
int32_t run_forward(const dt_stream* stream, const Planes<T, kReach>& call) {
  if (call.q <= kWarp) return run_strips(stream, 1, call, resample_forward<T, kReach, 1>);
  return run_strips(stream, kForwardColumns, call, resample_forward<T, kReach, kForwardColumns>);
}

// How many of the others are made of an element: rounding may add one, for which there need not be
// room.
template <class T, int kReach>
int32_t run_backward(const dt_stream* stream, const Planes<T, kReach>& call) {
  constexpr int kFew = 4, kMany = 8, kColumns = kBackwardColumns;
  const bool are_few = !call.columns.changes || 2 * kReach <= kFew * call.columns.step;
  return are_few
             ? run_strips(stream, kColumns, call, resample_backward<T, kReach, kColumns, kFew>)
             : run_strips(stream, kColumns, call, resample_backward<T, kReach, kColumns, kMany>);
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
  if (std::max({x.sizes[1], x.sizes[2], y.sizes[1], y.sizes[2]}) > kMostPlaces)
    return DT_KERNEL_UNSUPPORTED;
  if (numel(x) == 0 || numel(y) == 0) return DT_KERNEL_UNSUPPORTED;
  return visit_stored_floating(y.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    return call.reach == 1 ? run_neighbours<T, 1>(stream, call)
                           : run_neighbours<T, 2>(stream, call);
  });
}

}  // namespace dt::cuda
