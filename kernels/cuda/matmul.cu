// Matrix products: own kernels for small, thin and deep ones, cuBLASLt for the rest, and an own
// tiled kernel where cuBLASLt is missing or cannot express the operands.
#include "kernels/calls/linalg.gen.h"
#include "kernels/cuda/batched_product.cuh"
#include "kernels/cuda/cublaslt.h"
#include "kernels/cuda/packet.cuh"
#include "kernels/cuda/product_math.cuh"
#include "kernels/cuda/product_operands.cuh"
#include "kernels/cuda/product_tile.cuh"
#include "kernels/cuda/reduce_block.cuh"
#include "kernels/cuda/vector_product.h"

namespace dt::cuda {
namespace {

// ---- the call

MatrixProduct transposed(const MatrixProduct& p) {
  const auto turn = [](const Matrix& x) { return Matrix{x.data, x.batch, x.col, x.row}; };
  MatrixProduct t = p;
  t.m = p.n, t.n = p.m;
  t.a = turn(p.b), t.b = turn(p.a), t.y = turn(p.y), t.c = turn(p.c);
  return t;
}

// If b is the same for the whole batch, and the rows of the others go on from one matrix to the
// next, the batch is one tall product.
void fold_batch(MatrixProduct* p) {
  const auto folds = [&](const Matrix& x) { return x.batch == x.row * p->m; };
  if (p->batch == 1 || p->b.batch != 0 || !folds(p->a) || !folds(p->y)) return;
  if (p->c.data != nullptr && !folds(p->c)) return;
  p->m *= p->batch;
  p->batch = 1;
}

// Strides of dimensions of size 1 mean nothing. They get those of a dense matrix, so that what
// looks at strides need not look at sizes.
Matrix matrix(const dt_view& v) {
  return {v.data, v.sizes[0] == 1 ? 0 : v.strides[0], v.sizes[1] == 1 ? v.sizes[2] : v.strides[1],
          v.sizes[2] == 1 ? 1 : v.strides[2]};
}

// What is added is broadcast along dimensions of size 1.
Matrix addend(const dt_view& v) {
  const auto stride = [&](int d) { return v.sizes[d] == 1 ? 0 : v.strides[d]; };
  return {v.data, stride(0), stride(1), stride(2)};
}

MatrixProduct product(const calls::Matmul& call) {
  const dt_view &y = call.y, &a = call.a, &b = call.b;
  MatrixProduct p = {};
  p.dtype = y.dtype;
  p.batch = y.sizes[0], p.m = y.sizes[1], p.n = y.sizes[2], p.k = a.sizes[2];
  p.alpha = call.alpha, p.beta = call.beta;
  p.a = matrix(a), p.b = matrix(b), p.y = matrix(y);
  if (call.c && p.beta != 0) p.c = addend(*call.c);
  p.activation = call.activation;
  fold_batch(&p);
  return p;
}

// ---- small products: a column of threads for each output

constexpr int kSmallOutputs = 32;  // of a group: neighbours along n, so that loads of b coalesce
constexpr int kSmallSlices = 32;   // at most; the threads of a column share k
// Pairs that a thread asks for at once, however short k is; bytes take more registers than words.
template <class T>
constexpr int kSmallLoads = sizeof(T) == 1 ? 4 : 8;

template <class Math, class T = typename Math::Value>
__global__ __launch_bounds__(kSmallOutputs* kSmallSlices,
                             1) void small_product(FactorLines<T> left, FactorLines<T> right,
                                                   ActivatingStore<Math> store, TileGrid grid) {
  constexpr int kLoads = kSmallLoads<T>;
  __shared__ T slices[kSmallSlices][kSmallOutputs];
  const int64_t group = int64_t{blockIdx.x} * blockDim.z + threadIdx.z;
  const int64_t index = group * kSmallOutputs + threadIdx.x;
  const bool inside = index < grid.outputs();
  const Position at(grid, index);
  const T* const row = left.data + at.batch * left.batch + at.i * left.line;
  const T* const column = right.data + at.batch * right.batch + at.j * right.line;
  const int64_t k0 = threadIdx.y * grid.split, k_end = min(grid.k, k0 + grid.split);
  begin_kernel();
  T sum = 0, addend = 0;
  if (inside) {
    if (threadIdx.y == 0) addend = store.addend(at.batch, at.i, at.j);
    // Of an outer product all but one of the pairs would be asked for in vain.
    const bool is_outer = grid.k == 1;
    if (is_outer) sum = Math::madd(*row, *column, sum);
    for (int64_t k = k0; k < k_end && !is_outer; k += kLoads) {
      T a[kLoads], b[kLoads];
#pragma unroll
      for (int l = 0; l < kLoads; ++l) {
        a[l] = k + l < k_end ? row[(k + l) * left.step] : T(0);
        b[l] = k + l < k_end ? column[(k + l) * right.step] : T(0);
      }
#pragma unroll
      for (int l = 0; l < kLoads; ++l) sum = Math::madd(a[l], b[l], sum);
    }
  }
  if (blockDim.y > 1) {
    const unsigned first = threadIdx.z * blockDim.y;
    slices[first + threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y > 0) return;
    for (unsigned s = 1; s < blockDim.y; ++s)
      sum = Math::madd(T(1), slices[first + s][threadIdx.x], sum);
  }
  if (inside) store.put(at.batch, at.i, at.j, sum, addend);
}

template <class Math>
int32_t run_small(const dt_stream* stream, const MatrixProduct& p) {
  using T = typename Math::Value;
  constexpr int64_t kSlice = 16;  // about as many loads as a thread should wait for in a row
  const int64_t slices = std::max<int64_t>(1, std::min<int64_t>(kSmallSlices, p.k / kSlice));
  const TileGrid grid = {p.batch, p.m, p.n, p.k, divide_up(p.k, slices), 1, 0, 0};
  // A multiprocessor holds as many small blocks as large ones. Few outputs are better spread.
  constexpr int64_t kWarps = 8;
  const int64_t groups = divide_up(grid.outputs(), kSmallOutputs);
  const int64_t of_block = std::max<int64_t>(
      1, std::min(kWarps / slices, groups / (2 * multiprocessors(stream->device))));
  return launch(stream, small_product<Math>, static_cast<unsigned>(divide_up(groups, of_block)),
                dim3(kSmallOutputs, static_cast<unsigned>(slices), static_cast<unsigned>(of_block)),
                0, left_lines<T>(p), right_lines<T>(p), ActivatingStore<Math>(p), grid);
}

// ---- thin products: at most kThin columns, so reading `a` once is all the work there is

constexpr int kThin = 4;
constexpr int kThinThreads = 256;

// kTeam threads go along a row of `a` (of a split of it) and keep kCols sums each.
template <class T, int kCols, int kTeam, class Sink>
__global__ __launch_bounds__(kThinThreads, 4) void thin_product(FactorLines<T> left,
                                                                FactorLines<T> right, Sink sink,
                                                                TileGrid grid) {
  begin_kernel();
  constexpr int kTeams = kThinThreads / kTeam;
  const int64_t index = int64_t{blockIdx.x} * kTeams + threadIdx.x / kTeam;
  if (kTeam == kWarp && index >= grid.batch * grid.m) return;
  const Position at(grid.batch * grid.m, grid.m, 1, index);
  left.select(at.batch);
  right.select(at.batch);
  const int64_t k0 = blockIdx.y * grid.split, k_end = min(grid.k, k0 + grid.split);
  T sums[kCols] = {};
#pragma unroll 8
  for (int64_t k = k0 + threadIdx.x % kTeam; k < k_end; k += kTeam) {
    const T value = left(at.i, k);
#pragma unroll
    for (int j = 0; j < kCols; ++j) sums[j] = fma(value, right(j, k), sums[j]);
  }
  const auto add = [](T x, T y) { return x + y; };
#pragma unroll
  for (int j = 0; j < kCols; ++j) {
    if constexpr (kTeam == kWarp)
      sums[j] = warp_reduce(sums[j], add);
    else
      sums[j] = block_reduce<kTeam>(sums[j], add, T(0));
    if (threadIdx.x % kTeam == 0) sink(blockIdx.y, at.batch, at.i, j, sums[j]);
  }
}

// Few rows are cut along k, so that all multiprocessors read.
TileGrid thin_grid(int32_t device, const MatrixProduct& p, bool may_split) {
  TileGrid grid = {p.batch, p.m, p.n, p.k, p.k, 1, 0, 0};
  constexpr int64_t kShortest = 16 * kThinThreads;
  const int64_t wanted = 4 * multiprocessors(device), rows = p.batch * p.m;
  if (!may_split || rows >= wanted || p.k < 2 * kShortest) return grid;
  grid.split = divide_up(p.k, std::min(divide_up(wanted, rows), p.k / kShortest));
  grid.splits = static_cast<int>(divide_up(p.k, grid.split));
  return grid;
}

template <class T, int kCols, class Sink>
int32_t launch_thin(const dt_stream* stream, const MatrixProduct& p, const TileGrid& grid,
                    const Sink& sink) {
  constexpr int64_t kWarpLength = 2048;  // longer rows keep a whole block busy
  const int64_t rows = p.batch * p.m;
  const bool warps = p.k <= kWarpLength;
  const dim3 blocks(static_cast<unsigned>(warps ? divide_up(rows, kThinThreads / kWarp) : rows),
                    grid.splits);
  return launch(
      stream,
      warps ? thin_product<T, kCols, kWarp, Sink> : thin_product<T, kCols, kThinThreads, Sink>,
      blocks, kThinThreads, 0, left_lines<T>(p), right_lines<T>(p), sink, grid);
}

template <class T, int kCols>
int32_t run_thin_of(const dt_stream* stream, const MatrixProduct& p, void* workspace) {
  const ActivatingStore<FloatMath<T>> store(p);
  const TileGrid grid = thin_grid(stream->device, p, true);
  if (grid.splits == 1) return launch_thin<T, kCols>(stream, p, grid, store);
  T* sums = static_cast<T*>(workspace);
  const PartialSink<T> partial = {sums, grid.batch, grid.m, grid.n};
  if (const int32_t result = launch_thin<T, kCols>(stream, p, grid, partial)) return result;
  return run_add_splits(stream, sums, store, grid);
}

// As a product with few columns.
MatrixProduct thin_form(const MatrixProduct& p) {
  return p.n <= kThin && p.a.col == 1 ? p : transposed(p);
}

template <class T>
int32_t run_thin(const dt_stream* stream, const MatrixProduct& given, void* workspace) {
  const MatrixProduct p = thin_form(given);
  switch (p.n) {
    case 1:
      return run_thin_of<T, 1>(stream, p, workspace);
    case 2:
      return run_thin_of<T, 2>(stream, p, workspace);
    case 3:
      return run_thin_of<T, 3>(stream, p, workspace);
    default:
      return run_thin_of<T, 4>(stream, p, workspace);
  }
}

// ---- deep products: few outputs and long rows of both operands, as a layer of many inputs has

constexpr int kDeepTile = 8;  // rows and columns of a block's outputs
constexpr int kDeepSums = kDeepTile * kDeepTile;
constexpr int kDeepWidth = 4;  // floats of a load

// Adds up sums over the lanes of a warp, by halves: lane l ends up with the totals of sums 2 l and
// 2 l + 1 in the first two places.
template <int kHalf = kDeepSums / 2>
__device__ __forceinline__ void share_out(float (&sums)[kDeepSums]) {
  static_assert(kDeepSums == 2 * kWarp);
  constexpr int kOther = kHalf / 2;  // the lane to exchange with differs in this bit
  const bool upper = (threadIdx.x & kOther) != 0;
#pragma unroll
  for (int i = 0; i < kHalf; ++i) {
    const float kept = upper ? sums[i + kHalf] : sums[i], given = upper ? sums[i] : sums[i + kHalf];
    sums[i] = kept + __shfl_xor_sync(0xffffffffu, given, kOther);
  }
  if constexpr (kHalf > 2) share_out<kHalf / 2>(sums);
}

// The threads of a block share k: with a load or two of every row, all on their way at once, each
// has its part of all the sums.
template <int kThreads>
__global__ __launch_bounds__(kThreads) void deep_product(FactorLines<float> left,
                                                         FactorLines<float> right,
                                                         ActivatingStore<FloatMath<float>> store,
                                                         TileGrid grid) {
  begin_kernel();
  __shared__ float of_warp[kThreads / kWarp][kDeepSums];
  const int64_t j0 = blockIdx.x % grid.tiles_n * kDeepTile;
  const int64_t i0 = blockIdx.x / grid.tiles_n % grid.tiles_m * kDeepTile;
  const int64_t batch = blockIdx.x / grid.tiles_n / grid.tiles_m;
  const int64_t i = i0 + threadIdx.x / kDeepTile, j = j0 + threadIdx.x % kDeepTile;
  const bool stores = threadIdx.x < kDeepSums && i < grid.m && j < grid.n;
  const float addend = stores ? store.addend(batch, i, j) : 0.0f;
  left.select(batch);
  right.select(batch);

  float sums[kDeepSums] = {};
  for (int64_t k = threadIdx.x * kDeepWidth; k < grid.k; k += kThreads * kDeepWidth) {
    Packet<float, kDeepWidth> a[kDeepTile], b[kDeepTile];
#pragma unroll
    for (int t = 0; t < kDeepTile; ++t) {
      a[t] = load_packet<kDeepWidth>(left.data + min(i0 + t, grid.m - 1) * left.line + k);
      b[t] = load_packet<kDeepWidth>(right.data + min(j0 + t, grid.n - 1) * right.line + k);
    }
#pragma unroll
    for (int v = 0; v < kDeepWidth; ++v) {
#pragma unroll
      for (int s = 0; s < kDeepSums; ++s)
        sums[s] = fma(a[s / kDeepTile].value[v], b[s % kDeepTile].value[v], sums[s]);
    }
  }
  share_out(sums);
  const int lane = threadIdx.x % kWarp;
  of_warp[threadIdx.x / kWarp][2 * lane] = sums[0];
  of_warp[threadIdx.x / kWarp][2 * lane + 1] = sums[1];
  __syncthreads();
  if (!stores) return;
  float total = 0;
#pragma unroll
  for (int w = 0; w < kThreads / kWarp; ++w) total += of_warp[w][threadIdx.x];
  store.put(batch, i, j, total, addend);
}

TileGrid deep_grid(const MatrixProduct& p) {
  return {p.batch, p.m, p.n, p.k, p.k, 1, divide_up(p.m, kDeepTile), divide_up(p.n, kDeepTile)};
}

// With more blocks than run at once, larger tiles read less.
bool is_deep(const MatrixProduct& p) {
  constexpr int64_t kMostBlocks = 256, kShortest = 128, kLongest = 4096;
  const auto in_packets = [](const Matrix& x, int64_t line) {
    return line % kDeepWidth == 0 && x.batch % kDeepWidth == 0 &&
           is_aligned(x.data, kDeepWidth * sizeof(float));
  };
  const TileGrid grid = deep_grid(p);
  return p.dtype == dtype_of<float> && p.k >= kShortest && p.k <= kLongest &&
         p.k % kDeepWidth == 0 && grid.tiles_m <= kMostBlocks && grid.tiles_n <= kMostBlocks &&
         grid.batch * grid.tiles_m * grid.tiles_n <= kMostBlocks && p.a.col == 1 && p.b.row == 1 &&
         in_packets(p.a, p.a.row) && in_packets(p.b, p.b.col);
}

int32_t run_deep(const dt_stream* stream, const MatrixProduct& p) {
  constexpr int kFew = 64, kMany = 256;
  const TileGrid grid = deep_grid(p);
  const auto blocks = static_cast<unsigned>(grid.batch * grid.tiles_m * grid.tiles_n);
  const bool few = p.k <= 2 * kFew * kDeepWidth;
  return launch(stream, few ? deep_product<kFew> : deep_product<kMany>, blocks, few ? kFew : kMany,
                0, left_lines<float>(p), right_lines<float>(p),
                ActivatingStore<FloatMath<float>>(p), grid);
}

// ---- what a product's own kernel or library cannot do

template <class T>
__global__ __launch_bounds__(256) void finish_product(ActivatingStore<FloatMath<T>> target,
                                                      TileGrid grid) {
  begin_kernel();
  const int64_t index = int64_t{blockIdx.x} * 256 + threadIdx.x;
  if (index >= grid.outputs()) return;
  const Position at(grid, index);
  target(0, at.batch, at.i, at.j, target.at(at.batch, at.i, at.j));
}

// y = activation(y + beta * c)
template <class T>
int32_t finish(const dt_stream* stream, MatrixProduct p) {
  p.alpha = 1;
  const TileGrid grid = {p.batch, p.m, p.n, p.k, p.k, 1, 0, 0};
  return launch(stream, finish_product<T>, static_cast<unsigned>(divide_up(grid.outputs(), 256)),
                256, 0, ActivatingStore<FloatMath<T>>(p), grid);
}

MatrixProduct without_addend(MatrixProduct p) {
  p.c.data = nullptr;
  return p;
}
MatrixProduct without_activation(MatrixProduct p) {
  p.activation = DT_ACTIVATE_NONE;
  return p;
}

// ---- any product, by tiles

// A tile twice as large needs half the traffic, if there are enough of them. Doubles would not fit
// into the registers.
bool wants_large_tiles(int32_t device, const MatrixProduct& p) {
  const int64_t tiles =
      p.batch * divide_up(p.m, LargeTile::kRows) * divide_up(p.n, LargeTile::kCols);
  return p.dtype == dtype_of<float> && tiles >= multiprocessors(device);
}

template <class Math, class Tile>
int32_t run_tiled_as(const dt_stream* stream, const MatrixProduct& p, void* workspace,
                     bool may_split) {
  using T = typename Math::Value;
  const TileGrid grid = tile_grid<Tile>(stream->device, p.batch, p.m, p.n, p.k, may_split);
  const FactorLines<T> left = left_lines<T>(p), right = right_lines<T>(p);
  if constexpr (std::is_floating_point_v<T>) {
    if (grid.splits > 1)
      return run_split_tiles<Math, Tile>(stream, left, right, ActivatingStore<Math>(p), grid,
                                         workspace);
  }
  if (const int32_t result = launch_tiles<Math, Tile>(stream, left, right, Store<Math>(p), grid))
    return result;
  if constexpr (std::is_floating_point_v<T>) {
    if (p.activation != DT_ACTIVATE_NONE) return finish<T>(stream, without_addend(p));
  }
  return DT_KERNEL_OK;
}

template <class T>
int32_t run_tiled(const dt_stream* stream, const MatrixProduct& p, void* workspace,
                  bool may_split) {
  if constexpr (sizeof(T) == sizeof(float)) {
    if (wants_large_tiles(stream->device, p))
      return run_tiled_as<FloatMath<T>, LargeTile>(stream, p, workspace, may_split);
  }
  return run_tiled_as<FloatMath<T>, SmallTile>(stream, p, workspace, may_split);
}

template <class T>
int64_t tiled_workspace(const dt_stream* stream, const MatrixProduct& p) {
  if (wants_large_tiles(stream->device, p))
    return tile_workspace<T>(tile_grid<LargeTile>(stream->device, p.batch, p.m, p.n, p.k, true));
  return tile_workspace<T>(tile_grid<SmallTile>(stream->device, p.batch, p.m, p.n, p.k, true));
}

// ---- by cuBLASLt

// Libraries do not always cut k when there are few tiles, above all not with a bias: there the own
// tiles are worth a try.
constexpr double kRivalWork = 1 << 26;

bool has_rival(const dt_stream* stream, const MatrixProduct& p) {
  const double work = static_cast<double>(p.batch) * p.m * p.n * p.k;
  return work <= kRivalWork && !wants_large_tiles(stream->device, p) &&
         tile_grid<SmallTile>(stream->device, p.batch, p.m, p.n, p.k, true).splits > 1;
}

// What of the product the library does; `finish` does the rest.
MatrixProduct library_part(const MatrixProduct& p) {
  if (!cublaslt_can_add(p)) return without_activation(without_addend(p));
  return cublaslt_can_activate(p) ? p : without_activation(p);
}

template <class T>
int32_t run_library(const dt_stream* stream, const MatrixProduct& p, void* workspace) {
  const MatrixProduct part = library_part(p);
  const bool adds = part.c.data == p.c.data, activates = part.activation == p.activation;
  const auto own = [&] { return run_tiled<T>(stream, part, workspace, true); };
  const Rival rival = adds && has_rival(stream, p) ? Rival(own) : Rival();
  if (const int32_t result = cublaslt_multiply(stream, part, workspace, rival)) return result;
  if (adds && activates) return DT_KERNEL_OK;
  return finish<T>(stream, adds ? without_addend(p) : p);
}

template <class T>
int64_t library_workspace(const dt_stream* stream, const MatrixProduct& p) {
  const int64_t own = has_rival(stream, p) ? tiled_workspace<T>(stream, p) : 0;
  return std::max(own, cublaslt_workspace(stream, library_part(p)));
}

// ---- the choice

enum class Way { kNothing, kVector, kSmall, kBatched, kThin, kDeep, kLibrary, kTiled };

// Of many small matrices, the smallest would leave a library's tiles mostly empty, and what is
// little work together takes no longer than its launches.
Way way_of_many(const MatrixProduct& p, double matrix_work, double work) {
  constexpr double kSmallest = 16 * 16 * 16, kLittleWork = 1 << 24;
  const bool is_smallest = matrix_work <= kSmallest && p.m > 1 && p.n > 1;
  if (cublaslt_can(p) && !is_smallest && work > kLittleWork) return Way::kLibrary;
  return fits_batched(p, bytes_of(p.dtype)) ? Way::kBatched : Way::kSmall;
}

// A vector times a matrix is bound by reading the matrix, whatever its size. Few operations take as
// long as the launches: one plain kernel beats a library that may need two
// and stages tiles larger than the matrices, of which there may also be many. Thin products are
// bound by reading one operand, which needs no tiles. Of few outputs with long rows cuBLASLt keeps
// a few multiprocessors busy, above all if there is a bias. Everything else is what it is made for.
Way way_of(const dt_stream* stream, const MatrixProduct& p) {
  constexpr double kSmallWork = 1 << 20, kSmallMatrix = 32 * 32 * 32;
  constexpr int64_t kSmallDepth = kSmallSlices * 64;
  if (p.batch == 0 || p.m == 0 || p.n == 0) return Way::kNothing;
  if (is_vector_product(stream, p)) return Way::kVector;
  const double matrix_work = static_cast<double>(p.m) * p.n * p.k, work = matrix_work * p.batch;
  if (work <= kSmallWork && p.k <= kSmallDepth) return Way::kSmall;
  if (matrix_work <= kSmallMatrix) return way_of_many(p, matrix_work, work);
  if (!is_floating(p.dtype)) return Way::kTiled;
  if ((p.n <= kThin && p.a.col == 1) || (p.m <= kThin && p.b.row == 1)) return Way::kThin;
  if (is_deep(p)) return Way::kDeep;
  return cublaslt_can(p) ? Way::kLibrary : Way::kTiled;
}

template <class T>
int32_t multiply_as(const dt_stream* stream, const MatrixProduct& p, void* workspace) {
  switch (way_of(stream, p)) {
    case Way::kNothing:
      return DT_KERNEL_OK;
    case Way::kVector:
      return multiply_vector(stream, p);
    case Way::kSmall:
      return run_small<FloatMath<T>>(stream, p);
    case Way::kBatched:
      return run_batched<FloatMath<T>>(stream, p);
    case Way::kThin:
      return run_thin<T>(stream, p, workspace);
    case Way::kDeep:
      return run_deep(stream, p);
    case Way::kTiled:
      return run_tiled<T>(stream, p, workspace, true);
    case Way::kLibrary:
      break;
  }
  const int32_t result = run_library<T>(stream, p, workspace);
  // The scratch memory was meant for the library.
  return result == DT_KERNEL_UNSUPPORTED ? run_tiled<T>(stream, p, nullptr, false) : result;
}

// Of narrow floats the library does a whole product or none: core widens the others, unless they
// are vector products.
bool is_narrow_whole(const MatrixProduct& p) {
  const MatrixProduct part = library_part(p);
  return cublaslt_can(p) && part.c.data == p.c.data && part.activation == p.activation;
}

int32_t multiply_narrow(const dt_stream* stream, const MatrixProduct& p, void* workspace) {
  const Way way = way_of(stream, p);
  if (way == Way::kNothing) return DT_KERNEL_OK;
  if (way == Way::kVector) return multiply_vector(stream, p);
  return is_narrow_whole(p) ? cublaslt_multiply(stream, p, workspace, Rival())
                            : DT_KERNEL_UNSUPPORTED;
}

template <class Math>
int32_t multiply_integer(const dt_stream* stream, const MatrixProduct& p) {
  const Way way = way_of(stream, p);
  if (way == Way::kNothing) return DT_KERNEL_OK;
  if (way == Way::kSmall) return run_small<Math>(stream, p);
  if (way == Way::kBatched) return run_batched<Math>(stream, p);
  return run_tiled_as<Math, SmallTile>(stream, p, nullptr, false);
}

template <class T>
int64_t workspace_of(const dt_stream* stream, const MatrixProduct& p) {
  switch (way_of(stream, p)) {
    case Way::kThin:
      return tile_workspace<T>(thin_grid(stream->device, thin_form(p), true));
    case Way::kLibrary:
      return library_workspace<T>(stream, p);
    case Way::kTiled:
      return tiled_workspace<T>(stream, p);
    default:
      return 0;
  }
}

}  // namespace

int32_t multiply(const dt_stream* stream, const MatrixProduct& p, void* workspace) {
  if (is_narrow_float(p.dtype)) return multiply_narrow(stream, p, workspace);
  return visit_value(p.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    if constexpr (kIsFloating<T>) {
      return multiply_as<T>(stream, p, workspace);
    } else if constexpr (kIsBool<T>) {
      return multiply_integer<LogicalMath>(stream, p);
    } else {
      return multiply_integer<WrappingMath<WrapAround<T>>>(stream, p);
    }
  });
}

int64_t multiply_workspace(const dt_stream* stream, const MatrixProduct& p) {
  if (is_narrow_float(p.dtype)) {
    const bool is_library = way_of(stream, p) > Way::kVector && is_narrow_whole(p);
    return is_library ? cublaslt_workspace(stream, p) : 0;
  }
  int64_t bytes = 0;
  visit_floating(
      p.dtype, [&](auto type) { bytes = workspace_of<typename decltype(type)::type>(stream, p); });
  return bytes;
}

int32_t kernels::matmul(const dt_stream* stream, const calls::Matmul& call) {
  return multiply(stream, product(call), call.workspace);
}

int64_t kernels::matmul_workspace(const dt_stream* stream, const calls::Matmul& call) {
  return multiply_workspace(stream, product(call));
}

}  // namespace dt::cuda
