// Scans along any dimension: cumsum, cumprod, logcumsumexp. Floating sums and products are carried
// in double, integers wrap around in 64 bits, as on the CPU. Logarithms of sums of float and of 16
// bits are joined in float where few joins follow each other.
//
// Short lines of neighbours are scanned by a thread each, in shared memory, longer ones by a warp
// or a block each, tile by tile; lines that lie side by side by a thread each. Few long lines are
// cut into chunks: what a chunk gives as a whole is found first, and so they are read twice. (Read
// once, a tile would have to wait for those before it: on an H200 that took longer than the second
// reading, of which the L2 cache serves much.)
#include <algorithm>

#include "kernels/calls/reduce.gen.h"
#include "kernels/cuda/scan_short_lines.cuh"
#include "kernels/cuda/scan_tile.cuh"
#include "kernels/cuda/team.cuh"

namespace dt::cuda {
namespace {

// Blocks of a multiprocessor: unasked, the compiler would have all addresses ready and leave room
// for one.
constexpr int kRowBlocks = 3;
constexpr int kChunkBlocks = 4;
// Of pairs, which take twice the registers, no more than in rows.
template <class Fold, class Source>
constexpr int kWidthOf = std::is_arithmetic_v<typename Fold::Value>
                             ? kChunkWidth<typename Elements<Fold, Source>::Element,
                                           typename Elements<Fold, Source>::Result>
                             : kRowWidth;

// ---- lines of neighbours

// A block has kThreads / kTeam lines.
template <class Fold, class Source, int kTeam>
__global__ void __launch_bounds__(kThreads, kRowBlocks)
    scan_rows(const __grid_constant__ ScanCall call) {
  begin_kernel();
  using Sum = typename Fold::Value;
  __shared__ Sum shared[2][kWarp];  // two, so that a tile need not wait until the last one is read
  constexpr int kWidth = kRowWidth;
  const uint32_t number = blockIdx.x * (kThreads / kTeam) + threadIdx.x / kTeam;
  const Line<Fold, Source, kWidth> line(call, number);
  Sum carry = Fold::identity();
  int buffer = 0;
  // Lines of a warp may end in different tiles: all stay for the shuffles.
  for (int64_t tile = 0; __any_sync(kAllLanes, tile < line.end());
       tile += kTile<kTeam>, buffer ^= 1) {
    TileShare<Fold, Source, kTeam, kWidth> share(line, tile, shared[buffer]);
    share.store(line, carry);
    carry = Fold::combine(carry, share.total);
  }
}

// A chunk of a line, which a block has.
template <class Fold, class Source>
struct Chunk {
  static constexpr int kWidth = kWidthOf<Fold, Source>;
  static constexpr int64_t kTile = cuda::kTile<kThreads, kWidth>;
  uint32_t line, number;
  int64_t begin, end;  // places

  // The last chunks are taken first: where their elements have just been read, the cache has them.
  __device__ __forceinline__ explicit Chunk(const ScanCall& call)
      : line(blockIdx.x / call.chunks),
        number(call.chunks - 1 - (blockIdx.x - line * call.chunks)),
        begin(number * call.chunk_tiles * kTile),
        end(begin + call.chunk_tiles * kTile) {}
};

// What all threads of the block have, joined in a fixed order.
template <class Fold, class Sum>
__device__ __forceinline__ Sum combine_block(Sum value) {
  return team_reduce<kThreads>(value, [](Sum a, Sum b) { return Fold::combine(a, b); });
}

template <class Fold, class Source>
__global__ void __launch_bounds__(kThreads) chunk_totals(const __grid_constant__ ScanCall call) {
  begin_kernel();
  using Sum = typename Fold::Value;
  using OfChunk = Chunk<Fold, Source>;
  constexpr int kWidth = OfChunk::kWidth;
  constexpr int64_t kStep = kThreads * kWidth;
  const OfChunk chunk(call);
  const Line<Fold, Source, kWidth> line(call, chunk.line);
  Packet<typename Line<Fold, Source, kWidth>::Element, kWidth> element[kSubtiles];
  Sum sum = Fold::identity();
  for (int64_t tile = chunk.begin; tile < chunk.end && tile < line.end(); tile += OfChunk::kTile) {
    const int64_t first = tile + threadIdx.x * kWidth;
    line.template load_tile<kStep>(first, line.has_packets(tile, OfChunk::kTile), element);
#pragma unroll
    for (int s = 0; s < kSubtiles; ++s) {
#pragma unroll
      for (int i = 0; i < kWidth; ++i)
        sum = Fold::combine(sum, static_cast<Sum>(element[s].value[i]));
    }
  }
  sum = combine_block<Fold>(sum);
  if (threadIdx.x == 0)
    static_cast<Sum*>(call.totals)[chunk.line * call.chunks + chunk.number] = sum;
}

template <class Fold, class Source>
__global__ void __launch_bounds__(kThreads, kChunkBlocks)
    scan_chunks(const __grid_constant__ ScanCall call) {
  begin_kernel();
  using Sum = typename Fold::Value;
  using OfChunk = Chunk<Fold, Source>;
  __shared__ Sum shared[2][kWarp];  // as in scan_rows
  const OfChunk chunk(call);
  const Line<Fold, Source, OfChunk::kWidth> line(call, chunk.line);
  const Sum* const totals = static_cast<const Sum*>(call.totals) + chunk.line * call.chunks;
  Sum carry = Fold::identity();
  for (uint32_t i = threadIdx.x; i < chunk.number; i += kThreads)
    carry = Fold::combine(carry, totals[i]);
  carry = combine_block<Fold>(carry);
  int buffer = 0;
  for (int64_t tile = chunk.begin; tile < chunk.end && tile < line.end();
       tile += OfChunk::kTile, buffer ^= 1) {
    TileShare<Fold, Source, kThreads, OfChunk::kWidth> share(line, tile, shared[buffer]);
    share.store(line, carry);
    carry = Fold::combine(carry, share.total);
  }
}

// ---- lines side by side: a thread each. kTotal: what a chunk gives, into totals.

template <class Fold, class Source, bool kTotal>
__global__ void __launch_bounds__(kThreads) scan_columns(const __grid_constant__ ScanCall call) {
  begin_kernel();
  using Sum = typename Fold::Value;
  using Line = Elements<Fold, Source>;
  const uint32_t line = blockIdx.x * kThreads + threadIdx.x;
  if (line >= call.count) return;
  int64_t offset[2];
  call.lines.at(line, offset);
  Sum* totals = static_cast<Sum*>(call.totals);
  int64_t at = blockIdx.y * call.chunk_length, end = at + call.chunk_length;
  if (end > call.length) end = call.length;
  Sum sum = Fold::identity();
  if (!kTotal && totals && blockIdx.y > 0)
    sum = totals[int64_t{blockIdx.y - 1} * call.count + line];
  while (at < end) {
    Sum value[kBatch<Source>];
#pragma unroll
    for (int i = 0; i < kBatch<Source>; ++i)
      value[i] = at + i < end
                     ? static_cast<Sum>(Line::load(call, offset[1] + (at + i) * call.x_stride))
                     : Fold::identity();
#pragma unroll
    for (int i = 0; i < kBatch<Source>; ++i) {
      sum = Fold::combine(sum, value[i]);
      if (!kTotal && at + i < end) Line::store(call, offset[0] + (at + i) * call.y_stride, sum);
    }
    at += kBatch<Source>;
  }
  if (kTotal) totals[int64_t{blockIdx.y} * call.count + line] = sum;
}

// ---- plans

constexpr int64_t kManyThreads = 1 << 18;  // that fill a large device
constexpr int64_t kManyLines = 4096;       // whose warps do
constexpr int64_t kFewLines = 256;         // whose blocks do not
constexpr int64_t kMaxShortLine = 16;      // elements that a thread may as well scan by itself
constexpr int64_t kMaxWarpLine = 1024;     // elements that a warp scans by itself
constexpr int64_t kMaxBlockLine = 4 * kTile<kThreads>;  // sooner done than cut
constexpr int64_t kFewColumns = 8;                      // side by side, but better off as rows
constexpr int64_t kMaxChunks = 2048;                    // of lines side by side
constexpr int64_t kMostChunks = 1056;                   // of lines of neighbours, together

// Teams of threads that have a line, or a block for each chunk of one, or a thread for each line.
enum class Way { PAIRS, EIGHTS, WARPS, BLOCKS, CHUNKS, COLUMNS };

// The kept axes hold y's strides first, so that lines are taken in the order of memory.
struct ScanPlan {
  Axes<2> lines;
  int64_t length, y_stride, x_stride;
  int64_t chunks, chunk_length;  // of columns
  Way way;
  bool are_short;  // whether short lines are all there is of x and y

  explicit ScanPlan(const calls::Scan& call) : length(1), y_stride(1), x_stride(1) {
    const dt_view &y = call.y, &x = call.x;
    for (int d = 0; d < y.ndim; ++d) {
      if (d == call.dim) {
        length = y.sizes[d], y_stride = y.strides[d], x_stride = x.strides[d];
      } else if (y.sizes[d] != 1) {
        lines.insert_by_stride(y.sizes[d], {y.strides[d], x.strides[d]});
      }
    }
    lines.coalesce();
    are_short = is_short_line(length, bytes_of(y.dtype)) && y_stride == 1 && x_stride == 1 &&
                lines.n == 1 && lines.stride[0][0] == length && lines.stride[0][1] == length;
    way = choose();
    cut();
  }

  // In how many tiles chunks are, of threads with `width` elements: there are two rounds of blocks
  // for a large device, whichever runs them. A line may begin before the first boundary.
  int64_t tiles_of_chunk(int64_t width) const {
    const int64_t tiles = divide_up(length + width - 1, kTile<kThreads, 1> * width);
    return divide_up(tiles, std::max(kMostChunks / lines.count(), int64_t{1}));
  }
  int64_t chunks_of_line(int64_t width) const {
    const int64_t tiles = divide_up(length + width - 1, kTile<kThreads, 1> * width);
    return divide_up(tiles, tiles_of_chunk(width));
  }

  int64_t workspace() const {
    if (way == Way::CHUNKS) return kMostChunks * int64_t{sizeof(double)};
    return chunks == 1 ? 0 : chunks * lines.count() * int64_t{sizeof(double)};
  }

 private:
  Way choose() const {
    const int64_t across = lines.n == 0 ? 0 : magnitude(lines.stride[lines.last()][0]);
    const bool is_row =
        lines.n == 0 || magnitude(y_stride) < across || lines.count() <= kFewColumns;
    if (length <= kMaxShortLine || !is_row) return Way::COLUMNS;
    if (length > kMaxBlockLine && lines.count() <= kFewLines) return Way::CHUNKS;
    const bool fills_no_tile = length < kTile<kThreads> && lines.count() >= kManyLines;
    if (length > kMaxWarpLine && !fills_no_tile) return Way::BLOCKS;
    // A line may begin before the first boundary.
    const int64_t places = length % kRowWidth == 0 ? length : length + kRowWidth - 1;
    return places <= kTile<2> ? Way::PAIRS : places <= kTile<8> ? Way::EIGHTS : Way::WARPS;
  }
  // Chunks cost a second pass over x: a few threads too little do not.
  void cut() {
    constexpr int64_t kGrain = 16;
    const int64_t wanted = way == Way::COLUMNS ? kManyThreads / lines.count() : 1;
    int64_t pieces = std::min({wanted, length / (4 * kGrain), kMaxChunks});
    if (wanted < 4 || pieces < 2) pieces = 1;
    chunk_length = pieces == 1 ? length : divide_up(divide_up(length, pieces), kGrain) * kGrain;
    chunks = divide_up(length, chunk_length);
  }
};

// ---- launches

// The blocks of a kernel each of which has some lines, or a part of them.
dim3 blocks_of(const ScanCall& call, int64_t lines_per_block, int64_t chunks = 1) {
  return dim3(static_cast<unsigned>(divide_up(call.count, lines_per_block)),
              static_cast<unsigned>(chunks));
}

template <class Fold, class Source>
int32_t scan_in_chunks(const dt_stream* stream, ScanCall call, const ScanPlan& plan) {
  constexpr int kWidth = kWidthOf<Fold, Source>;
  call.chunk_tiles = plan.tiles_of_chunk(kWidth);
  call.chunks = static_cast<uint32_t>(plan.chunks_of_line(kWidth));
  const dim3 blocks(call.count * call.chunks);
  if (const int32_t code =
          launch(stream, chunk_totals<Fold, Source>, blocks, dim3(kThreads), 0, call))
    return code;
  return launch(stream, scan_chunks<Fold, Source>, blocks, dim3(kThreads), 0, call);
}

// Scans what the chunks of every line give, in place.
template <class Fold>
int32_t scan_totals(const dt_stream* stream, const ScanCall& call, int64_t chunks) {
  ScanCall totals = call;
  totals.x = totals.y = call.totals;
  totals.x_dtype = totals.y_dtype =
      std::is_floating_point_v<typename Fold::Value> ? dtype_of<double> : dtype_of<int64_t>;
  totals.totals = nullptr;
  totals.length = totals.chunk_length = chunks;
  totals.x_stride = totals.y_stride = call.count;
  Axes<2> lines;
  lines.insert(0, call.count, {1, 1});
  totals.lines = Offsets<2, uint32_t>(lines);
  return launch(stream, scan_columns<Fold, Any, false>, blocks_of(call, kThreads), dim3(kThreads),
                0, totals);
}

template <class Fold, class Source>
int32_t scan_in_columns(const dt_stream* stream, const ScanCall& call, int64_t chunks) {
  const dim3 blocks = blocks_of(call, kThreads, chunks);
  if (call.totals) {
    if (const int32_t code =
            launch(stream, scan_columns<Fold, Source, true>, blocks, dim3(kThreads), 0, call))
      return code;
    if (const int32_t code = scan_totals<Fold>(stream, call, chunks)) return code;
  }
  return launch(stream, scan_columns<Fold, Source, false>, blocks, dim3(kThreads), 0, call);
}

template <class Fold, class Source>
int32_t run_lines(const dt_stream* stream, const ScanCall& call, const ScanPlan& plan) {
  const auto rows = [&](auto kernel, int team) {
    return launch(stream, kernel, blocks_of(call, kThreads / team), dim3(kThreads), 0, call);
  };
  if constexpr (kHasShortLines<Fold, Source>) {
    if (plan.are_short) return run_short_lines<Fold, Source>(stream, call);
  }
  switch (plan.way) {
    case Way::PAIRS:
      return rows(scan_rows<Fold, Source, 2>, 2);
    case Way::EIGHTS:
      return rows(scan_rows<Fold, Source, 8>, 8);
    case Way::WARPS:
      return rows(scan_rows<Fold, Source, kWarp>, kWarp);
    case Way::BLOCKS:
      return rows(scan_rows<Fold, Source, kThreads>, kThreads);
    case Way::CHUNKS:
      return scan_in_chunks<Fold, Source>(stream, call, plan);
    case Way::COLUMNS:
      if constexpr (std::is_arithmetic_v<typename Fold::Value>)
        return scan_in_columns<Fold, Source>(stream, call, plan.chunks);
  }
  return DT_KERNEL_UNSUPPORTED;
}

template <class Fold, class Source>
int32_t run(const dt_stream* stream, const calls::Scan& call, const ScanPlan& plan) {
  const dt_view &y = call.y, &x = call.x;
  return for_each_piece(plan.lines, false, [&](const Axes<2>& piece) {
    ScanCall kernel;
    kernel.y = static_cast<char*>(y.data) + piece.base[0] * bytes_of(y.dtype);
    kernel.x = static_cast<const char*>(x.data) + piece.base[1] * bytes_of(x.dtype);
    kernel.y_dtype = y.dtype;
    kernel.x_dtype = x.dtype;
    kernel.lines = Offsets<2, uint32_t>(piece);
    kernel.count = static_cast<uint32_t>(piece.count());
    kernel.length = plan.length;
    kernel.y_stride = plan.y_stride;
    kernel.x_stride = plan.x_stride;
    kernel.chunk_length = plan.chunk_length;
    kernel.totals = plan.chunks > 1 || plan.way == Way::CHUNKS ? call.workspace : nullptr;
    kernel.chunks = 1;
    kernel.chunk_tiles = 0;
    return run_lines<Fold, Source>(stream, kernel, plan);
  });
}

template <class T>
bool is_all(const calls::Scan& call) {
  return holds<T>(call.y.dtype) && holds<T>(call.x.dtype);
}

template <class Fold>
int32_t scan_floats(const dt_stream* stream, const calls::Scan& call) {
  if (numel(call.x) == 0) return DT_KERNEL_OK;
  const ScanPlan plan(call);
  if (is_all<float>(call)) return run<Fold, float>(stream, call, plan);
  if (is_all<double>(call)) return run<Fold, double>(stream, call, plan);
  if constexpr (kIsAddition<Fold>) {
    if (is_all<Float16>(call)) return run<Fold, Float16>(stream, call, plan);
    if (is_all<BFloat16>(call)) return run<Fold, BFloat16>(stream, call, plan);
  }
  return run<Fold, Any>(stream, call, plan);
}

template <class Fold>
int32_t scan_integers(const dt_stream* stream, const calls::Scan& call) {
  if (numel(call.x) == 0) return DT_KERNEL_OK;
  const ScanPlan plan(call);
  if (is_all<uint64_t>(call)) return run<Fold, uint64_t>(stream, call, plan);
  if constexpr (kIsAddition<Fold>) {
    const bool is_wide = holds<uint64_t>(call.y.dtype);
    if (is_wide && call.x.dtype == dtype_of<int32_t>) return run<Fold, int32_t>(stream, call, plan);
    if (is_wide && call.x.dtype == dtype_of<uint8_t>) return run<Fold, uint8_t>(stream, call, plan);
  }
  return run<Fold, Any>(stream, call, plan);
}

int64_t workspace(const calls::Scan& call) {
  return numel(call.x) == 0 ? 0 : ScanPlan(call).workspace();
}

}  // namespace

int32_t kernels::cumsum(const dt_stream* stream, const calls::Scan& call) {
  return is_floating(call.compute) ? scan_floats<Addition<double>>(stream, call)
                                   : scan_integers<Addition<uint64_t>>(stream, call);
}

int32_t kernels::cumprod(const dt_stream* stream, const calls::Scan& call) {
  return is_floating(call.compute) ? scan_floats<Multiplication<double>>(stream, call)
                                   : scan_integers<Multiplication<uint64_t>>(stream, call);
}

// Lines side by side are joined one by one, and errors of floats would add up.
int32_t kernels::logcumsumexp(const dt_stream* stream, const calls::Scan& call) {
  if (numel(call.x) == 0) return DT_KERNEL_OK;
  const ScanPlan plan(call);
  if (plan.way != Way::COLUMNS) {
    if (is_all<float>(call)) return run<LogOfFloats, float>(stream, call, plan);
    if (is_all<Float16>(call)) return run<LogOfFloats, Float16>(stream, call, plan);
    if (is_all<BFloat16>(call)) return run<LogOfFloats, BFloat16>(stream, call, plan);
  }
  return scan_floats<LogOfSum>(stream, call);
}

int64_t kernels::cumsum_workspace(const dt_stream*, const calls::Scan& call) {
  return workspace(call);
}
int64_t kernels::cumprod_workspace(const dt_stream*, const calls::Scan& call) {
  return workspace(call);
}
int64_t kernels::logcumsumexp_workspace(const dt_stream*, const calls::Scan& call) {
  return workspace(call);
}

}  // namespace dt::cuda
