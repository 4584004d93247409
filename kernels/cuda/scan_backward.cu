// Gradients of scans: of each line, from its end, s[k] = g[k] + c[k + 1] * s[k + 1], and the
// gradient is f[k] * s[k]. No step divides, so zeros among the factors of a product are nothing
// special as long as nothing overflows: s may, where f * s would not. What steps do one after
// another is a step again, so lines are scanned by teams of threads, and long ones are cut into
// chunks, as in scan.cu. Sums and products are doubles.
#include <algorithm>

#include "kernels/calls/reduce.gen.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/offsets.cuh"
#include "kernels/cuda/scan_lanes.cuh"
#include "kernels/dtype.h"

namespace dt::cuda {
namespace {

constexpr int kWidth = 4;  // neighbours that a thread takes by itself
constexpr int kBatch = 4;  // elements that a thread with a line of its own loads together

// s becomes plus + times * s.
struct Step {
  double times, plus;
};

// Lines of gx, g, x and y. Places count from a line's end: place i is element length - 1 - i.
struct GradientLines {
  Offsets<4, uint32_t> kept;
  uint32_t count;
  int64_t length;
  int64_t stride[4];
  uint32_t chunks;
  int64_t chunk_length;
  Step* totals;  // of chunks: [lines][chunks], or [chunks][lines] of lines side by side
};

// 0 stays 0 beside what has overflowed, but not beside NaN.
__device__ __forceinline__ double product(double a, double b) {
  const bool has_zero = a == 0 || b == 0, has_nan = a != a || b != b;
  return has_zero && !has_nan ? 0 : a * b;
}

// ---- the two gradients

// Of a running product: c is x, and f the product of those before.
template <class T>
struct Products {
  T* gx;
  const T *g, *x, *y;

  __device__ __forceinline__ void move(const int64_t (&offset)[4]) {
    gx += offset[0], g += offset[1], x += offset[2], y += offset[3];
  }
  __device__ __forceinline__ static double widen(T value) {
    return static_cast<double>(static_cast<Widened<T>>(value));
  }
  __device__ __forceinline__ Step step(const GradientLines& lines, int64_t k) const {
    const double times = k + 1 < lines.length ? widen(x[(k + 1) * lines.stride[2]]) : 1;
    return {times, widen(g[k * lines.stride[1]])};
  }
  __device__ __forceinline__ double factor(const GradientLines& lines, int64_t k) const {
    return k > 0 ? widen(y[(k - 1) * lines.stride[3]]) : 1;
  }
  static __device__ __forceinline__ double apply(const Step& step, double s) {
    return step.plus + product(step.times, s);
  }
  __device__ __forceinline__ void store(const GradientLines& lines, int64_t k, double factor,
                                        double s) const {
    gx[k * lines.stride[0]] = static_cast<T>(static_cast<Widened<T>>(product(factor, s)));
  }
};

// Of the best element so far, whose positions are x: c is 1 in a run of one position, and f where
// the run begins, which is at that position.
template <class T>
struct Choices {
  T* gx;
  const T* g;
  const int64_t* x;

  __device__ __forceinline__ void move(const int64_t (&offset)[4]) {
    gx += offset[0], g += offset[1], x += offset[2];
  }
  __device__ __forceinline__ Step step(const GradientLines& lines, int64_t k) const {
    const int64_t* const here = x + k * lines.stride[2];
    const bool goes_on = k + 1 < lines.length && here[lines.stride[2]] == *here;
    return {goes_on ? 1.0 : 0.0,
            static_cast<double>(static_cast<Widened<T>>(g[k * lines.stride[1]]))};
  }
  __device__ __forceinline__ double factor(const GradientLines& lines, int64_t k) const {
    return x[k * lines.stride[2]] == k ? 1 : 0;
  }
  // What another position got stays away, even if it is infinite.
  static __device__ __forceinline__ double apply(const Step& step, double s) {
    return step.times == 0 ? step.plus : step.plus + s;
  }
  __device__ __forceinline__ void store(const GradientLines& lines, int64_t k, double factor,
                                        double s) const {
    gx[k * lines.stride[0]] = static_cast<T>(static_cast<Widened<T>>(factor == 0 ? 0.0 : s));
  }
};

template <class Kind>
struct Steps {
  static __device__ __forceinline__ Step identity() { return {1, 0}; }
  static __device__ __forceinline__ Step combine(const Step& before, const Step& step) {
    return {product(step.times, before.times), Kind::apply(step, before.plus)};
  }
};

// ---- teams

// What the threads of a team before this one do together, and what all do.
struct Share {
  Step before, all;
};

// `shared` has room for the steps of a block's warps.
template <class Kind, int kTeam>
__device__ __forceinline__ Share share(const Step& mine, Step* shared) {
  constexpr int kLanes = kTeam < kWarp ? kTeam : kWarp, kWarps = kTeam / kWarp;
  using Fold = Steps<Kind>;
  const Step up_to = inclusive<Fold, kLanes>(mine);
  Share result = {exclusive<Fold, kLanes>(up_to), shuffle<kLanes>(up_to, kLanes - 1)};
  if constexpr (kWarps > 1) {
    const int warp = static_cast<int>(threadIdx.x / kWarp);
    if (threadIdx.x % kWarp == 0) shared[warp] = result.all;
    __syncthreads();
    Step before = Fold::identity(), all = Fold::identity();
#pragma unroll
    for (int w = 0; w < kWarps; ++w) {
      if (w == warp) before = all;
      all = Fold::combine(all, shared[w]);
    }
    __syncthreads();  // `shared` may be written again
    result.before = Fold::combine(before, result.before);
    result.all = all;
  }
  return result;
}

// A team goes through a line, or a chunk of it, tile by tile. kTotal: what the chunk does as a
// whole, into totals.
template <class Kind, int kTeam, bool kTotal>
__global__ void __launch_bounds__(kThreads)
    scan_rows(const __grid_constant__ GradientLines lines, Kind kind) {
  begin_kernel();
  using Fold = Steps<Kind>;
  __shared__ Step shared[kThreads / kWarp];
  constexpr int64_t kTile = int64_t{kTeam} * kWidth;
  const int rank = static_cast<int>(threadIdx.x % kTeam);
  const uint32_t team = blockIdx.x * (kThreads / kTeam) + threadIdx.x / kTeam;
  const bool exists = team / lines.chunks < lines.count;
  const uint32_t line = exists ? team / lines.chunks : 0, chunk = team % lines.chunks;
  int64_t offset[4];
  lines.kept.at(line, offset);
  kind.move(offset);
  const int64_t begin = chunk * lines.chunk_length;
  const int64_t end = min(lines.length, begin + lines.chunk_length);
  Step* const totals = lines.totals + static_cast<int64_t>(line) * lines.chunks;
  Step carry = Fold::identity();
  if (!kTotal && lines.chunks > 1) {
    // Each thread has neighbours among the chunks before.
    const uint32_t each = (chunk + kTeam - 1) / kTeam;
    const uint32_t first = static_cast<uint32_t>(rank) * each;
    for (uint32_t i = first; i < min(chunk, first + each); ++i)
      carry = Fold::combine(carry, totals[i]);
    carry = share<Kind, kTeam>(carry, shared).all;
  }
  for (int64_t tile = begin; tile < end; tile += kTile) {
    Step step[kWidth], mine = Fold::identity();
    double factor[kWidth];
#pragma unroll
    for (int i = 0; i < kWidth; ++i) {
      const int64_t place = tile + rank * kWidth + i, k = lines.length - 1 - place;
      const bool is_in = exists && place < end;
      step[i] = is_in ? kind.step(lines, k) : Fold::identity();
      factor[i] = is_in && !kTotal ? kind.factor(lines, k) : 0;
    }
#pragma unroll
    for (int i = 0; i < kWidth; ++i) mine = Fold::combine(mine, step[i]);
    const Share shares = share<Kind, kTeam>(mine, shared);
    if (!kTotal) {
      double s = Kind::apply(shares.before, carry.plus);
#pragma unroll
      for (int i = 0; i < kWidth; ++i) {
        const int64_t place = tile + rank * kWidth + i;
        s = Kind::apply(step[i], s);
        if (exists && place < end) kind.store(lines, lines.length - 1 - place, factor[i], s);
      }
    }
    carry = Fold::combine(carry, shares.all);
  }
  if (kTotal && exists && rank == 0) totals[chunk] = carry;
}

// ---- lines side by side: a thread each

template <class Kind, bool kTotal>
__global__ void __launch_bounds__(kThreads)
    scan_columns(const __grid_constant__ GradientLines lines, Kind kind) {
  begin_kernel();
  using Fold = Steps<Kind>;
  const uint32_t line = blockIdx.x * kThreads + threadIdx.x, chunk = blockIdx.y;
  if (line >= lines.count) return;
  int64_t offset[4];
  lines.kept.at(line, offset);
  kind.move(offset);
  const int64_t begin = chunk * lines.chunk_length;
  const int64_t end = min(lines.length, begin + lines.chunk_length);
  Step carry = Fold::identity();
  for (uint32_t i = 0; !kTotal && i < chunk; ++i)
    carry = Fold::combine(carry, lines.totals[int64_t{i} * lines.count + line]);
  double s = carry.plus;
  for (int64_t at = begin; at < end; at += kBatch) {
    Step step[kBatch];
    double factor[kBatch];
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      const int64_t k = lines.length - 1 - (at + i);
      const bool is_in = at + i < end;
      step[i] = is_in ? kind.step(lines, k) : Fold::identity();
      factor[i] = is_in && !kTotal ? kind.factor(lines, k) : 0;
    }
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      if (kTotal) {
        carry = Fold::combine(carry, step[i]);
      } else {
        s = Kind::apply(step[i], s);
        if (at + i < end) kind.store(lines, lines.length - 1 - (at + i), factor[i], s);
      }
    }
  }
  if (kTotal) lines.totals[int64_t{chunk} * lines.count + line] = carry;
}

// ---- plans

constexpr int64_t kShortLine = 16;   // that a thread may as well take by itself
constexpr int64_t kWarpLine = 2048;  // that a warp takes by itself
constexpr int64_t kLongLine = 8192;  // that is sooner cut into chunks, if there are few
constexpr int64_t kFewLines = 256;   // whose blocks do not fill a device
constexpr int64_t kManyBlocks = 1024;
constexpr int64_t kManyThreads = 1 << 17;
constexpr int64_t kMostChunks = 64;  // of lines side by side
constexpr int64_t kFewColumns = 8;   // side by side, but better off as rows

enum class Way { kEights, kWarps, kBlocks, kColumns };

struct ScanBackwardPlan {
  Axes<4> kept;
  int64_t length = 1, stride[4] = {}, chunks = 1, chunk_length = 1;
  Way way = Way::kWarps;

  explicit ScanBackwardPlan(const calls::ScanBackward& call) {
    const dt_view* views[4] = {&call.gx, &call.g, &call.x, call.y ? call.y : &call.x};
    for (int d = 0; d < call.gx.ndim; ++d) {
      int64_t here[4];
      for (int k = 0; k < 4; ++k) here[k] = views[k]->strides[d];
      const int64_t size = call.gx.sizes[d];
      if (d == call.dim)
        length = size, std::copy(here, here + 4, stride);
      else
        kept.insert_by_stride(size, here);
    }
    kept.coalesce();
    const int64_t lines = kept.count();
    const bool is_row = magnitude(stride[0]) == 1 || lines <= kFewColumns;
    if (length <= kShortLine || !is_row)
      way = Way::kColumns;
    else if (length <= 8 * kWidth)
      way = Way::kEights;
    else
      way = length <= kWarpLine && lines > kFewLines / 8 ? Way::kWarps : Way::kBlocks;
    cut(lines);
  }

  int64_t lines() const { return kept.count(); }
  int64_t workspace() const {
    return chunks > 1 ? chunks * lines() * static_cast<int64_t>(sizeof(Step)) : 0;
  }

 private:
  void cut(int64_t lines) {
    int64_t wanted = 1, grain = int64_t{kThreads} * kWidth;
    if (way == Way::kBlocks && length > kLongLine && lines <= kFewLines)
      wanted = kManyBlocks / std::max(lines, int64_t{1});
    if (way == Way::kColumns)
      wanted = std::min(kManyThreads / std::max(lines, int64_t{1}), kMostChunks), grain = kBatch;
    if (wanted < 2) wanted = 1;
    chunk_length = std::max(divide_up(divide_up(length, wanted), grain) * grain, 4 * grain);
    chunks = divide_up(length, chunk_length);
  }
};

// ---- launches

template <class Kind, bool kTotal>
int32_t scan(const dt_stream* stream, const GradientLines& lines, Way way, const Kind& kind) {
  const auto rows = [&](auto kernel, int team) {
    const int64_t teams = int64_t{lines.count} * lines.chunks;
    return launch(stream, kernel, static_cast<unsigned>(divide_up(teams, kThreads / team)),
                  kThreads, 0, lines, kind);
  };
  switch (way) {
    case Way::kEights:
      return rows(scan_rows<Kind, 8, kTotal>, 8);
    case Way::kWarps:
      return rows(scan_rows<Kind, kWarp, kTotal>, kWarp);
    case Way::kBlocks:
      return rows(scan_rows<Kind, kThreads, kTotal>, kThreads);
    case Way::kColumns:
      const dim3 blocks(static_cast<unsigned>(divide_up(lines.count, kThreads)), lines.chunks);
      return launch(stream, scan_columns<Kind, kTotal>, blocks, kThreads, 0, lines, kind);
  }
  return DT_KERNEL_UNSUPPORTED;
}

template <class Kind>
int32_t run(const dt_stream* stream, const calls::ScanBackward& call, const ScanBackwardPlan& plan,
            const Kind& kind) {
  GradientLines lines;
  lines.kept = Offsets<4, uint32_t>(plan.kept);
  lines.count = static_cast<uint32_t>(plan.lines());
  lines.length = plan.length;
  std::copy(plan.stride, plan.stride + 4, lines.stride);
  lines.chunks = static_cast<uint32_t>(plan.chunks);
  lines.chunk_length = plan.chunk_length;
  lines.totals = static_cast<Step*>(call.workspace);
  if (lines.chunks > 1) {
    if (const int32_t code = scan<Kind, true>(stream, lines, plan.way, kind)) return code;
  }
  return scan<Kind, false>(stream, lines, plan.way, kind);
}

}  // namespace

int32_t kernels::scan_backward(const dt_stream* stream, const calls::ScanBackward& call) {
  if (numel(call.gx) > kMaxIndex32) return DT_KERNEL_UNSUPPORTED;
  const ScanBackwardPlan plan(call);
  return visit_stored_floating(call.gx.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    T* const gx = static_cast<T*>(call.gx.data);
    const T* const g = static_cast<const T*>(call.g.data);
    if (call.y == nullptr)
      return run(stream, call, plan, Choices<T>{gx, g, static_cast<const int64_t*>(call.x.data)});
    return run(stream, call, plan,
               Products<T>{gx, g, static_cast<const T*>(call.x.data),
                           static_cast<const T*>(call.y->data)});
  });
}

int64_t kernels::scan_backward_workspace(const dt_stream*, const calls::ScanBackward& call) {
  return numel(call.gx) > kMaxIndex32 ? 0 : ScanBackwardPlan(call).workspace();
}

}  // namespace dt::cuda
