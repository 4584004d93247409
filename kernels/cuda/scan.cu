// Scans along any dimension: cumsum, cumprod, logcumsumexp. Floating sums and products are carried
// in double, integers wrap around in 64 bits, as on the CPU.
//
// Lines whose elements are neighbours are scanned by a warp or a block each, tile by tile. Few long
// ones are read once, too: every tile has a block, which looks back at what the tiles before it
// have made known (tile_prefix.cuh). Lines that lie side by side are scanned by a thread each; if
// they are few and long, they are cut into chunks that are joined first.
#include <algorithm>
#include <type_traits>

#include "kernels/calls/reduce.gen.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/offsets.cuh"
#include "kernels/cuda/packet.cuh"
#include "kernels/cuda/tile_prefix.cuh"
#include "kernels/cuda/types.cuh"
#include "kernels/math.h"

namespace dt::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kSubtiles = 4;  // of kWidth elements per thread, in flight together
// Neighbouring elements that a thread scans by itself: in lines that teams share, and in those
// whose tiles have a block each. What a thread shuffles and announces is for all of them.
constexpr int kRowWidth = 4;
template <class Element>
constexpr int kTileWidth = sizeof(Element) <= 4 ? 8 : 4;
// Blocks of a multiprocessor: unasked, the compiler would have all addresses ready and leave room
// for one. Those that wait for each other are more, as many as their elements leave registers for.
constexpr int kRowBlocks = 3;
template <class Element>
constexpr int kTileBlocks = sizeof(Element) <= 4 ? 4 : 3;

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
  int64_t chunk_length;  // of lines side by side
  void* totals;          // [chunks][lines]: those of chunks; or null
};

// ---- elements: of a C++ type, or of any dtype (Any) one by one

// Loads in flight of a thread that has a line to itself.
template <class Source>
constexpr int kBatch = std::is_same_v<Source, Any> ? 4 : 8;

template <class Fold, class Source>
struct Elements {
  using Sum = typename Fold::Value;
  using Element = std::conditional_t<std::is_same_v<Source, Any>, Sum, Source>;  // as it is loaded

  static __device__ __forceinline__ Element load(const ScanCall& call, int64_t offset) {
    if constexpr (std::is_same_v<Source, Any>)
      return load_as<Sum>(call.x, call.x_dtype, offset);
    else
      return static_cast<const Source*>(call.x)[offset];
  }
  static __device__ __forceinline__ void store(const ScanCall& call, int64_t offset, Sum value) {
    if constexpr (std::is_same_v<Source, Any>)
      store_as(call.y, call.y_dtype, offset, value);
    else
      static_cast<Source*>(call.y)[offset] = static_cast<Source>(value);
  }
};

// A line that is walked in packets of kWidth elements. It may begin between two of them: places are
// counted from the last boundary before y's first element, which has place `lead`. x is read in
// packets, too, if its boundaries are at the same places.
template <class Fold, class Source, int kWidth>
class Line {
 public:
  using Sum = typename Fold::Value;
  using Element = typename Elements<Fold, Source>::Element;

  // A line that does not exist has no elements.
  __device__ __forceinline__ Line(const ScanCall& call, uint32_t number)
      : call_(call), length_(number < call.count ? call.length : 0) {
    int64_t offset[2];
    call.lines.at(number < call.count ? number : 0, offset);
    y_ = offset[0], x_ = offset[1];
    if constexpr (!std::is_same_v<Source, Any>) {
      if (call.y_stride == 1) lead_ = behind_boundary(static_cast<const Source*>(call.y) + y_);
      packets_of_y_ = call.y_stride == 1;
      packets_of_x_ =
          call.x_stride == 1 && behind_boundary(static_cast<const Source*>(call.x) + x_) == lead_;
    }
  }

  // Places of the line's elements are below it.
  __device__ __forceinline__ int64_t end() const { return lead_ + length_; }

  // The elements at places [place, place + kWidth), which begin at a boundary. What is not in the
  // line counts as nothing. They are left as they are: a conversion here, between jumps, would wait
  // for its element before the next ones are asked for.
  __device__ __forceinline__ void load(int64_t place, Element (&element)[kWidth]) const {
    const int64_t first = place - lead_;
    if constexpr (!std::is_same_v<Source, Any>) {
      if (packets_of_x_ && is_whole(first)) {
        const auto packet = load_packet<kWidth>(static_cast<const Source*>(call_.x) + x_ + first);
#pragma unroll
        for (int i = 0; i < kWidth; ++i) element[i] = packet.value[i];
        return;
      }
    }
#pragma unroll
    for (int i = 0; i < kWidth; ++i)
      element[i] = contains(first + i)
                       ? Elements<Fold, Source>::load(call_, x_ + (first + i) * call_.x_stride)
                       : static_cast<Element>(Fold::nothing());
  }

  __device__ __forceinline__ void store(int64_t place, const Sum (&value)[kWidth]) const {
    const int64_t first = place - lead_;
    if constexpr (!std::is_same_v<Source, Any>) {
      if (packets_of_y_ && is_whole(first)) {
        Packet<Source, kWidth> packet;
#pragma unroll
        for (int i = 0; i < kWidth; ++i) packet.value[i] = static_cast<Source>(value[i]);
        return store_packet(static_cast<Source*>(call_.y) + y_ + first, packet);
      }
    }
#pragma unroll
    for (int i = 0; i < kWidth; ++i) {
      if (contains(first + i))
        Elements<Fold, Source>::store(call_, y_ + (first + i) * call_.y_stride, value[i]);
    }
  }

 private:
  static __device__ __forceinline__ int behind_boundary(const Source* p) {
    return static_cast<int>(reinterpret_cast<uintptr_t>(p) % kPacketBytes / sizeof(Source));
  }
  __device__ __forceinline__ bool contains(int64_t i) const {
    return i >= 0 && i < length_;
  }
  __device__ __forceinline__ bool is_whole(int64_t first) const {
    return first >= 0 && first + kWidth <= length_;
  }

  const ScanCall& call_;
  int64_t length_, y_, x_;
  int lead_ = 0;
  bool packets_of_y_ = false, packets_of_x_ = false;
};

// ---- lines of neighbours

// A tile is kSubtiles times kWidth elements for each of the kTeam threads that share a line.
template <int kTeam, int kWidth = kRowWidth>
constexpr int64_t kTile = int64_t{kSubtiles} * kWidth* kTeam;

// A thread's share of a tile: kWidth elements of each subtile. Parts of a tile follow each other
// subtile by subtile, warp by warp.
template <class Fold, class Source, int kTeam, int kWidth>
class TileShare {
 public:
  using Sum = typename Fold::Value;
  using OfLine = Line<Fold, Source, kWidth>;
  using Part = Packet<typename OfLine::Element, kWidth>;
  Sum all;  // what the tile gives

  // `first`: the place of the thread's first element; `shared`: a number for each part.
  __device__ __forceinline__ TileShare(const OfLine& line, int64_t first, Sum* shared)
      : first_(first) {
#pragma unroll
    for (int s = 0; s < kSubtiles; ++s) line.load(first + s * kStep, element_[s].value);
#pragma unroll
    for (int s = 0; s < kSubtiles; ++s) {
      Sum sum = static_cast<Sum>(element_[s].value[0]);
#pragma unroll
      for (int i = 1; i < kWidth; ++i)
        sum = Fold::join(sum, static_cast<Sum>(element_[s].value[i]));
      before_[s] = inclusive<Fold, kLanes>(sum);
    }
    join_parts(shared);
  }

  // Elements are out of the way, in shared memory, while a thread waits: [kSubtiles][threads].
  __device__ __forceinline__ void put_away(Part* memory) const {
#pragma unroll
    for (int s = 0; s < kSubtiles; ++s) memory[s * kThreads + threadIdx.x] = element_[s];
  }
  __device__ __forceinline__ void take_back(const Part* memory) {
#pragma unroll
    for (int s = 0; s < kSubtiles; ++s) element_[s] = memory[s * kThreads + threadIdx.x];
  }

  // `carry`: what all before the tile gives.
  __device__ __forceinline__ void store(const OfLine& line, Sum carry) {
#pragma unroll
    for (int s = 0; s < kSubtiles; ++s) {
      const Sum before = Fold::join(carry, before_[s]);
      Sum sum = static_cast<Sum>(element_[s].value[0]), value[kWidth] = {Fold::join(before, sum)};
#pragma unroll
      for (int i = 1; i < kWidth; ++i) {
        sum = Fold::join(sum, static_cast<Sum>(element_[s].value[i]));
        value[i] = Fold::join(before, sum);
      }
      line.store(first_ + s * kStep, value);
    }
  }

 private:
  static constexpr int kStep = kTeam * kWidth;  // from one subtile to the next
  static constexpr int kLanes = kTeam < kWarp ? kTeam : kWarp;

  // Turns what the lanes up to this one give into what everything in the tile before it gives.
  __device__ __forceinline__ void join_parts(Sum* shared) {
    if constexpr (kTeam <= kWarp) {
      all = Fold::nothing();
#pragma unroll
      for (int s = 0; s < kSubtiles; ++s) {
        const Sum part = __shfl_sync(kAllLanes, before_[s], kLanes - 1, kLanes);
        before_[s] = Fold::join(all, exclusive<Fold, kLanes>(before_[s]));
        all = Fold::join(all, part);
      }
    } else {
      constexpr int kWarps = kTeam / kWarp;
      static_assert(kSubtiles * kWarps == kWarp, "a warp scans the sums of all parts");
      const int lane = lane_number(), warp = threadIdx.x / kWarp % kWarps;
#pragma unroll
      for (int s = 0; s < kSubtiles; ++s) {
        if (lane == kWarp - 1) shared[s * kWarps + warp] = before_[s];
        before_[s] = exclusive<Fold>(before_[s]);
      }
      __syncthreads();
      const Sum parts = inclusive<Fold>(shared[lane]);
      const Sum parts_before = exclusive<Fold>(parts);
#pragma unroll
      for (int s = 0; s < kSubtiles; ++s)
        before_[s] =
            Fold::join(__shfl_sync(kAllLanes, parts_before, s * kWarps + warp), before_[s]);
      all = __shfl_sync(kAllLanes, parts, kWarp - 1);
    }
  }

  const int64_t first_;
  Part element_[kSubtiles];
  Sum before_[kSubtiles];
};

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
  Sum carry = Fold::nothing();
  int buffer = 0;
  // Lines of a warp may end in different tiles: all stay for the shuffles.
  for (int64_t tile = 0; __any_sync(kAllLanes, tile < line.end());
       tile += kTile<kTeam>, buffer ^= 1) {
    const int64_t first = tile + threadIdx.x % kTeam * kWidth;
    TileShare<Fold, Source, kTeam, kWidth> share(line, first, shared[buffer]);
    share.store(line, carry);
    carry = Fold::join(carry, share.all);
  }
}

// A block has a tile of a line.
template <class Fold, class Source>
__global__ void __launch_bounds__(kThreads, kTileBlocks<typename Elements<Fold, Source>::Element>)
    scan_tiles(const __grid_constant__ ScanCall call, TileTree tree) {
  begin_kernel();
  using Sum = typename Fold::Value;
  constexpr int kWidth = kTileWidth<typename Elements<Fold, Source>::Element>;
  using Share = TileShare<Fold, Source, kThreads, kWidth>;
  __shared__ typename Share::Part memory[kSubtiles * kThreads];
  __shared__ Sum shared[kWarp], carry;
  const uint32_t ticket = take_ticket(tree);
  const uint32_t number = ticket / static_cast<uint32_t>(tree.tiles);
  const uint32_t tile = ticket - number * static_cast<uint32_t>(tree.tiles);
  const Line<Fold, Source, kWidth> line(call, number);
  const int64_t first = tile * kTile<kThreads, kWidth> + threadIdx.x * kWidth;
  Share share(line, first, shared);
  share.put_away(memory);
  if (threadIdx.x < kWarp) {
    const Sum before = tile_prefix<Fold>(tree, number, tile, share.all);
    if (threadIdx.x == 0) carry = before;
  }
  __syncthreads();
  share.take_back(memory);
  share.store(line, carry);
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
  Sum sum = Fold::nothing();
  if (!kTotal && totals && blockIdx.y > 0)
    sum = totals[int64_t{blockIdx.y - 1} * call.count + line];
  while (at < end) {
    Sum value[kBatch<Source>];
#pragma unroll
    for (int i = 0; i < kBatch<Source>; ++i)
      value[i] = at + i < end
                     ? static_cast<Sum>(Line::load(call, offset[1] + (at + i) * call.x_stride))
                     : Fold::nothing();
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

constexpr int64_t kManyThreads = 1 << 18;  // that fill a large device
constexpr int64_t kManyLines = 4096;       // whose warps do
constexpr int64_t kFewLines = 256;         // whose blocks do not
constexpr int64_t kMaxShortLine = 16;      // elements that a thread may as well scan by itself
constexpr int64_t kMaxWarpLine = 1024;     // elements that a warp scans by itself
constexpr int64_t kMaxBlockLine = 4 * kTile<kThreads>;  // sooner done than looked back at
constexpr int64_t kFewColumns = 8;                      // side by side, but better off as rows
constexpr int64_t kMaxChunks = 2048;

// Teams of threads that have a line, or a block for each tile, or a thread for each line.
enum class Way { PAIRS, EIGHTS, WARPS, BLOCKS, TILES, COLUMNS };

// The kept axes hold y's strides first, so that lines are taken in the order of memory.
struct ScanPlan {
  Axes<2> lines;
  int64_t length, y_stride, x_stride;
  int64_t chunks, chunk_length;  // of columns
  Way way;

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
    way = choose();
    cut();
  }

  // For tiles of threads with `width` elements. A line may begin before the first boundary.
  TileTree tree(int64_t width) const {
    return TileTree(lines.count(), divide_up(length + width - 1, kTile<kThreads, 1> * width));
  }

  int64_t workspace() const {
    if (way == Way::TILES) return tree(kTileWidth<double>).bytes();  // the most tiles
    return chunks == 1 ? 0 : chunks * lines.count() * int64_t{sizeof(double)};
  }

 private:
  Way choose() const {
    const int64_t across = lines.n == 0 ? 0 : magnitude(lines.stride[lines.last()][0]);
    const bool is_row =
        lines.n == 0 || magnitude(y_stride) < across || lines.count() <= kFewColumns;
    if (length <= kMaxShortLine || !is_row) return Way::COLUMNS;
    if (length > kMaxBlockLine && lines.count() <= kFewLines) return Way::TILES;
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
int32_t scan_in_tiles(const dt_stream* stream, const ScanCall& call, const ScanPlan& plan,
                      void* workspace) {
  TileTree tree = plan.tree(kTileWidth<typename Elements<Fold, Source>::Element>);
  if (const int32_t code = tree.clear(stream, workspace)) return code;
  return launch(stream, scan_tiles<Fold, Source>,
                dim3(static_cast<unsigned>(tree.lines * tree.tiles)), dim3(kThreads), 0, call,
                tree);
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
int32_t run_lines(const dt_stream* stream, const ScanCall& call, const ScanPlan& plan,
                  void* workspace) {
  const auto rows = [&](auto kernel, int team) {
    return launch(stream, kernel, blocks_of(call, kThreads / team), dim3(kThreads), 0, call);
  };
  switch (plan.way) {
    case Way::PAIRS:
      return rows(scan_rows<Fold, Source, 2>, 2);
    case Way::EIGHTS:
      return rows(scan_rows<Fold, Source, 8>, 8);
    case Way::WARPS:
      return rows(scan_rows<Fold, Source, kWarp>, kWarp);
    case Way::BLOCKS:
      return rows(scan_rows<Fold, Source, kThreads>, kThreads);
    case Way::TILES:
      return scan_in_tiles<Fold, Source>(stream, call, plan, workspace);
    case Way::COLUMNS:
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
    kernel.totals = plan.chunks > 1 ? call.workspace : nullptr;
    return run_lines<Fold, Source>(stream, kernel, plan, call.workspace);
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
  return run<Fold, Any>(stream, call, plan);
}

template <class Fold>
int32_t scan_integers(const dt_stream* stream, const calls::Scan& call) {
  if (numel(call.x) == 0) return DT_KERNEL_OK;
  const ScanPlan plan(call);
  if (is_all<uint64_t>(call)) return run<Fold, uint64_t>(stream, call, plan);
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
