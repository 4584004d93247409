// Scans along any dimension: cumsum, cumprod, logcumsumexp. Floating sums and products are carried
// in double, integers wrap around in 64 bits, as on the CPU.
//
// Lines whose elements are neighbours are scanned by a warp or a block each, tile by tile; lines
// that lie side by side by a thread each. Few long lines are cut into chunks: first every chunk is
// joined, then the totals are scanned, then every chunk is scanned on top of those before it. That
// reads x twice, but repeats bit for bit, which a look-back over running blocks would not.
#include <type_traits>

#include "kernels/calls/reduce.gen.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/offsets.cuh"
#include "kernels/cuda/packet.cuh"
#include "kernels/cuda/team.cuh"
#include "kernels/cuda/types.cuh"
#include "kernels/math.h"

namespace dt::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWidth = 4;     // neighbouring elements that a thread scans by itself
constexpr int kSubtiles = 4;  // of kWidth elements per thread, in flight together

// ---- what a scan does with an element: joins it to those before. Chunks are joined in the same
// way.

template <class T>
struct Addition {
  using Value = T;
  static __device__ __forceinline__ T nothing() { return T(0); }
  static __device__ __forceinline__ T join(T before, T x) { return before + x; }
};

template <class T>
struct Multiplication {
  using Value = T;
  static __device__ __forceinline__ T nothing() { return T(1); }
  static __device__ __forceinline__ T join(T before, T x) { return before * x; }
};

struct LogOfSum {
  using Value = double;
  static __device__ __forceinline__ double nothing() { return -math::kInfinity; }
  static __device__ __noinline__ double join(double before, double x) {
    const double larger = math::maximum(before, x), smaller = math::minimum(before, x);
    if (larger == smaller && math::isinf(larger)) return larger;
    return larger + math::log1p(math::exp(smaller - larger));
  }
};

struct ScanCall {
  void* y;
  const void* x;
  int32_t y_dtype, x_dtype;
  Offsets<2, uint32_t> lines;  // of y and x
  uint32_t count;              // lines
  int64_t length, y_stride, x_stride;
  int64_t chunk_length;
  void* totals;  // [lines][chunks] or, side by side, [chunks][lines]: those of chunks; or null
};

// ---- elements: of a C++ type in packets or one by one (Single), or of any dtype (Any) one by one

template <class Source>
struct ScanSource {
  using Element = Source;
  static constexpr bool kPackets = true;
};
template <class T>
struct ScanSource<Single<T>> {
  using Element = T;
  static constexpr bool kPackets = false;
};
template <>
struct ScanSource<Any> {
  using Element = void;
  static constexpr bool kPackets = false;
};

// Loads in flight of a thread that has a line to itself.
template <class Source>
constexpr int kBatch = std::is_same_v<Source, Any> ? 4 : 8;

template <class Fold, class Source>
struct Elements {
  using Sum = typename Fold::Value;
  using Element = typename ScanSource<Source>::Element;
  static constexpr bool kPackets = ScanSource<Source>::kPackets;

  static __device__ __forceinline__ Sum load(const ScanCall& call, int64_t offset) {
    if constexpr (std::is_void_v<Element>)
      return load_as<Sum>(call.x, call.x_dtype, offset);
    else
      return static_cast<Sum>(static_cast<const Element*>(call.x)[offset]);
  }
  static __device__ __forceinline__ void store(const ScanCall& call, int64_t offset, Sum value) {
    if constexpr (std::is_void_v<Element>)
      store_as(call.y, call.y_dtype, offset, value);
    else
      static_cast<Element*>(call.y)[offset] = static_cast<Element>(value);
  }

  // Elements [at, at + kWidth) of a line at x; those from `end` on count as nothing.
  static __device__ __forceinline__ void load_four(const ScanCall& call, int64_t x, int64_t at,
                                                   int64_t end, Sum (&value)[kWidth]) {
    if constexpr (!kPackets) {
#pragma unroll
      for (int i = 0; i < kWidth; ++i)
        value[i] = at + i < end ? load(call, x + (at + i) * call.x_stride) : Fold::nothing();
    } else {
      Packet<Element, kWidth> packet = {};
      if (at < end) packet = load_packet<kWidth>(static_cast<const Element*>(call.x) + x + at);
#pragma unroll
      for (int i = 0; i < kWidth; ++i)
        value[i] = at < end ? static_cast<Sum>(packet.value[i]) : Fold::nothing();
    }
  }
  static __device__ __forceinline__ void store_four(const ScanCall& call, int64_t y, int64_t at,
                                                    int64_t end, const Sum (&value)[kWidth]) {
    if constexpr (!kPackets) {
#pragma unroll
      for (int i = 0; i < kWidth; ++i) {
        if (at + i < end) store(call, y + (at + i) * call.y_stride, value[i]);
      }
    } else {
      Packet<Element, kWidth> packet;
#pragma unroll
      for (int i = 0; i < kWidth; ++i) packet.value[i] = static_cast<Element>(value[i]);
      if (at < end) store_packet(static_cast<Element*>(call.y) + y + at, packet);
    }
  }
};

// ---- over the lanes of a warp

// What the lanes up to this one give together.
template <class Fold, class Sum>
__device__ __forceinline__ Sum inclusive(Sum value) {
  const int lane = static_cast<int>(threadIdx.x % kWarp);
#pragma unroll
  for (int step = 1; step < kWarp; step *= 2) {
    const Sum before = __shfl_up_sync(0xffffffffu, value, step);
    if (lane >= step) value = Fold::join(before, value);
  }
  return value;
}

// What the lanes before give, from the inclusive values.
template <class Fold, class Sum>
__device__ __forceinline__ Sum exclusive(Sum inclusive) {
  const Sum before = __shfl_up_sync(0xffffffffu, inclusive, 1);
  return threadIdx.x % kWarp == 0 ? Fold::nothing() : before;
}

// ---- lines of neighbours

// A tile is kSubtiles times kWidth elements for each thread of the kWarps warps that share a line.
template <int kWarps>
constexpr int64_t kTile = int64_t{kSubtiles} * kWidth* kWarps* kWarp;

// What everything in a tile before each of this warp's subtiles gives, and the whole tile.
// `inclusive` are the values over lanes. Parts follow each other subtile by subtile, warp by warp.
template <class Fold, int kWarps>
struct TileSums {
  using Sum = typename Fold::Value;
  Sum before[kSubtiles];
  Sum all;

  __device__ __forceinline__ TileSums(const Sum (&inclusive)[kSubtiles], Sum* shared) {
    const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp % kWarps;
    if constexpr (kWarps == 1) {
      all = Fold::nothing();
#pragma unroll
      for (int s = 0; s < kSubtiles; ++s) {
        before[s] = all;
        all = Fold::join(all, __shfl_sync(0xffffffffu, inclusive[s], kWarp - 1));
      }
    } else {
      static_assert(kSubtiles * kWarps == kWarp, "a warp scans the sums of all parts");
#pragma unroll
      for (int s = 0; s < kSubtiles; ++s) {
        if (lane == kWarp - 1) shared[s * kWarps + warp] = inclusive[s];
      }
      __syncthreads();
      const Sum parts = dt::cuda::inclusive<Fold>(shared[lane]);
      const Sum parts_before = exclusive<Fold>(parts);
#pragma unroll
      for (int s = 0; s < kSubtiles; ++s)
        before[s] = __shfl_sync(0xffffffffu, parts_before, s * kWarps + warp);
      all = __shfl_sync(0xffffffffu, parts, kWarp - 1);
    }
  }
};

// blockIdx.x: 8 / kWarps lines; blockIdx.y: a chunk of them.
template <class Fold, class Source, int kWarps>
__global__ void __launch_bounds__(kThreads) scan_rows(const __grid_constant__ ScanCall call) {
  begin_kernel();
  using Sum = typename Fold::Value;
  using Line = Elements<Fold, Source>;
  constexpr int kLineThreads = kWarps * kWarp, kLines = kThreads / kLineThreads;
  __shared__ Sum shared[2][kWarp];  // two, so that a tile need not wait until the last one is read
  const uint32_t line = blockIdx.x * kLines + threadIdx.x / kLineThreads;
  const bool exists = line < call.count;  // all threads stay for the shuffles
  int64_t offset[2];
  call.lines.at(exists ? line : 0, offset);
  const int64_t begin = blockIdx.y * call.chunk_length;
  int64_t end = begin + call.chunk_length;
  if (end > call.length) end = call.length;
  Sum carry = Fold::nothing();
  if (call.totals && blockIdx.y > 0)
    carry = static_cast<const Sum*>(call.totals)[int64_t{line} * gridDim.y + blockIdx.y - 1];
  int buffer = 0;
  for (int64_t tile = begin; tile < end; tile += kTile<kWarps>, buffer ^= 1) {
    const int64_t first = tile + threadIdx.x % kLineThreads * kWidth;
    const int64_t readable = exists ? end : tile;
    Sum value[kSubtiles][kWidth], up_to[kSubtiles];
#pragma unroll
    for (int s = 0; s < kSubtiles; ++s)
      Line::load_four(call, offset[1], first + s * kLineThreads * kWidth, readable, value[s]);
#pragma unroll
    for (int s = 0; s < kSubtiles; ++s) {
#pragma unroll
      for (int i = 1; i < kWidth; ++i) value[s][i] = Fold::join(value[s][i - 1], value[s][i]);
      up_to[s] = inclusive<Fold>(value[s][kWidth - 1]);
    }
    const TileSums<Fold, kWarps> sums(up_to, shared[buffer]);
#pragma unroll
    for (int s = 0; s < kSubtiles; ++s) {
      const Sum in_tile = Fold::join(sums.before[s], exclusive<Fold>(up_to[s]));
      const Sum before = Fold::join(carry, in_tile);
#pragma unroll
      for (int i = 0; i < kWidth; ++i) value[s][i] = Fold::join(before, value[s][i]);
      Line::store_four(call, offset[0], first + s * kLineThreads * kWidth, readable, value[s]);
    }
    carry = Fold::join(carry, sums.all);
  }
}

// What a chunk gives, into totals [lines][chunks].
template <class Fold, class Source>
__global__ void __launch_bounds__(kThreads) join_chunks(const __grid_constant__ ScanCall call) {
  begin_kernel();
  using Sum = typename Fold::Value;
  using Line = Elements<Fold, Source>;
  constexpr int kWarps = kThreads / kWarp;
  __shared__ Sum of_warp[kWarps];
  int64_t offset[2];
  call.lines.at(blockIdx.x, offset);
  const int64_t begin = blockIdx.y * call.chunk_length;
  int64_t end = begin + call.chunk_length;
  if (end > call.length) end = call.length;
  Sum sum = Fold::nothing();
  for (int64_t tile = begin; tile < end; tile += kTile<kWarps>) {
    Sum value[kSubtiles][kWidth];
#pragma unroll
    for (int s = 0; s < kSubtiles; ++s) {
      Line::load_four(call, offset[1], tile + (s * kThreads + threadIdx.x) * kWidth, end, value[s]);
    }
#pragma unroll
    for (int s = 0; s < kSubtiles; ++s)
      sum = Fold::join(sum, Fold::join(Fold::join(value[s][0], value[s][1]),
                                       Fold::join(value[s][2], value[s][3])));
  }
  sum = inclusive<Fold>(sum);
  if (threadIdx.x % kWarp == kWarp - 1) of_warp[threadIdx.x / kWarp] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  sum = Fold::nothing();
#pragma unroll
  for (int w = 0; w < kWarps; ++w) sum = Fold::join(sum, of_warp[w]);
  static_cast<Sum*>(call.totals)[int64_t{blockIdx.x} * gridDim.y + blockIdx.y] = sum;
}

// ---- lines side by side: a thread each. kTotal: what a chunk gives, into totals
// [chunks][lines].

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
  Sum sum = Fold::nothing();
  if (!kTotal && totals && blockIdx.y > 0)
    sum = totals[int64_t{blockIdx.y - 1} * call.count + line];
  while (at < end) {
    Sum value[kBatch<Source>];
#pragma unroll
    for (int i = 0; i < kBatch<Source>; ++i)
      value[i] =
          at + i < end ? Line::load(call, offset[1] + (at + i) * call.x_stride) : Fold::nothing();
#pragma unroll
    for (int i = 0; i < kBatch<Source>; ++i) {
      sum = Fold::join(sum, value[i]);
      if (!kTotal && at + i < end) Line::store(call, offset[0] + (at + i) * call.y_stride, sum);
    }
    at += kBatch<Source>;
  }
  if (kTotal) totals[int64_t{blockIdx.y} * call.count + line] = sum;
}

// ---- plans

constexpr int64_t kManyBlocks = 1024, kManyThreads = 1 << 18;  // that fill a large device
constexpr int64_t kMaxShortLine = 16;   // elements that a thread may as well scan by itself
constexpr int64_t kMaxWarpLine = 1024;  // elements that a warp scans by itself
constexpr int64_t kFewLines = 8;        // side by side, but better off with a block each
constexpr int64_t kMaxChunks = 2048;

// The kept axes hold y's strides first, so that lines are taken in the order of memory.
struct ScanPlan {
  Axes<2> lines;
  int64_t length, y_stride, x_stride;
  bool rows;  // neighbours in a line are neighbours in memory
  int64_t chunks, chunk_length;

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
    const int64_t across = lines.n == 0 ? 0 : magnitude(lines.stride[lines.last()][0]);
    rows = length > kMaxShortLine &&
           (lines.n == 0 || magnitude(y_stride) < across || lines.count() <= kFewLines);
    cut();
  }

  int64_t total_bytes() const { return chunks == 1 ? 0 : chunks * lines.count() * 8; }

 private:
  // Chunks cost a second pass over x: a few blocks or threads too little do not.
  void cut() {
    constexpr int64_t kRowGrain = kTile<kThreads / kWarp>, kColumnGrain = 16;
    const int64_t grain = rows ? kRowGrain : kColumnGrain;
    const int64_t wanted = (rows ? kManyBlocks : kManyThreads) / lines.count();
    const int64_t possible = length / (4 * grain);
    int64_t pieces = wanted < possible ? wanted : possible;
    if (wanted < 4 || pieces < 2) pieces = 1;
    if (pieces > kMaxChunks) pieces = kMaxChunks;
    chunk_length = pieces == 1 ? length : divide_up(divide_up(length, pieces), grain) * grain;
    chunks = divide_up(length, chunk_length);
  }
};

// ---- launches

template <class Fold, class Source>
struct Scan {
  const dt_stream* stream;
  ScanCall call;
  int64_t chunks;

  dim3 grid(int64_t lines_per_block) const {
    return dim3(static_cast<unsigned>(divide_up(call.count, lines_per_block)),
                static_cast<unsigned>(chunks));
  }

  int32_t rows() const {
    if (chunks == 1 && call.length <= kMaxWarpLine)
      return launch(stream, scan_rows<Fold, Source, 1>, grid(kThreads / kWarp), dim3(kThreads), 0,
                    call);
    return launch(stream, scan_rows<Fold, Source, kThreads / kWarp>, grid(1), dim3(kThreads), 0,
                  call);
  }
  int32_t row_sums() const {
    return launch(stream, join_chunks<Fold, Source>, grid(1), dim3(kThreads), 0, call);
  }
  int32_t columns() const {
    return launch(stream, scan_columns<Fold, Source, false>, grid(kThreads), dim3(kThreads), 0,
                  call);
  }
  int32_t column_sums() const {
    return launch(stream, scan_columns<Fold, Source, true>, grid(kThreads), dim3(kThreads), 0,
                  call);
  }
};

// Scans what the chunks of every line give, in place.
template <class Fold>
int32_t scan_totals(const dt_stream* stream, const ScanCall& call, bool rows, int64_t chunks) {
  ScanCall totals = call;
  totals.x = totals.y = call.totals;
  totals.x_dtype = totals.y_dtype =
      std::is_floating_point_v<typename Fold::Value> ? dtype_of<double> : dtype_of<int64_t>;
  totals.totals = nullptr;
  totals.length = totals.chunk_length = chunks;
  const int64_t line_stride = rows ? chunks : 1;
  totals.x_stride = totals.y_stride = rows ? 1 : call.count;
  Axes<2> lines;
  lines.insert(0, call.count, {line_stride, line_stride});
  totals.lines = Offsets<2, uint32_t>(lines);
  const Scan<Fold, Any> scan = {stream, totals, 1};
  return rows ? scan.rows() : scan.columns();
}

template <class Fold, class Source>
int32_t run_lines(const dt_stream* stream, ScanCall& call, const ScanPlan& plan) {
  const Scan<Fold, Source> scan = {stream, call, plan.chunks};
  if (call.totals) {
    if (const int32_t code = plan.rows ? scan.row_sums() : scan.column_sums()) return code;
    if (const int32_t code = scan_totals<Fold>(stream, call, plan.rows, plan.chunks)) return code;
  }
  return plan.rows ? scan.rows() : scan.columns();
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
    kernel.totals = plan.chunks > 1 ? call.workspace : nullptr;
    return run_lines<Fold, Source>(stream, kernel, plan);
  });
}

template <class T>
bool is_all(const calls::Scan& call) {
  return holds<T>(call.y.dtype) && holds<T>(call.x.dtype);
}

// Whether lines can be read and written in packets of kWidth elements. Side by side they are not.
bool is_packable(const calls::Scan& call, const ScanPlan& plan) {
  const dt_view &y = call.y, &x = call.x;
  if (!plan.rows || plan.y_stride != 1 || plan.x_stride != 1 || plan.length % kWidth != 0)
    return false;
  for (int d = 0; d < plan.lines.n; ++d) {
    if (plan.lines.stride[d][0] % kWidth != 0 || plan.lines.stride[d][1] % kWidth != 0)
      return false;
  }
  return is_aligned(y.data, kPacketBytes) && is_aligned(x.data, kPacketBytes);
}

template <class Fold, class T>
int32_t run_typed(const dt_stream* stream, const calls::Scan& call, const ScanPlan& plan) {
  if (is_packable(call, plan)) return run<Fold, T>(stream, call, plan);
  return run<Fold, Single<T>>(stream, call, plan);
}

template <class Fold>
int32_t scan_floats(const dt_stream* stream, const calls::Scan& call) {
  if (numel(call.x) == 0) return DT_KERNEL_OK;
  const ScanPlan plan(call);
  if (is_all<float>(call)) return run_typed<Fold, float>(stream, call, plan);
  if (is_all<double>(call)) return run_typed<Fold, double>(stream, call, plan);
  return run<Fold, Any>(stream, call, plan);
}

template <class Fold>
int32_t scan_integers(const dt_stream* stream, const calls::Scan& call) {
  if (numel(call.x) == 0) return DT_KERNEL_OK;
  const ScanPlan plan(call);
  if (is_all<uint64_t>(call)) return run_typed<Fold, uint64_t>(stream, call, plan);
  return run<Fold, Any>(stream, call, plan);
}

int64_t workspace(const calls::Scan& call) {
  return numel(call.x) == 0 ? 0 : ScanPlan(call).total_bytes();
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

int32_t kernels::logcumsumexp(const dt_stream* stream, const calls::Scan& call) {
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
