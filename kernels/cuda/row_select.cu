// Selection by digits (digit_select.cuh): its kernel and launches.
#include "kernels/cuda/row_select.cuh"

#include "kernels/cuda/digit_select.cuh"
#include "kernels/cuda/shared.cuh"

namespace dt::cuda {
namespace {

// Each warp looks at elements that lie side by side, in their order.
template <class Int>
struct WarpPart {
  Int begin, end;

  __device__ __forceinline__ explicit WarpPart(Int count) {
    const Int warps = static_cast<Int>(blockDim.x / kWarp), warp = threadIdx.x / kWarp;
    const Int share = ((count + warps - 1) / warps + kWarp - 1) / kWarp * kWarp;
    begin = min(count, warp * share);
    end = min(count, begin + share);
  }
};

// How many elements are less than the wanted one, and equal to it.
struct Taken {
  uint32_t less = 0, equal = 0;
};

template <class T, bool kKeeps, class Int>
__device__ __forceinline__ Taken count_taken(const Part<T, kKeeps>& part,
                                             const WarpPart<Int>& of_warp, KeyOf<T> key) {
  Taken own;
  part.each_again(of_warp.begin + static_cast<Int>(threadIdx.x % kWarp), of_warp.end, kWarp,
                  [&](Int, KeyOf<T> other) {
                    own.less += other < key;
                    own.equal += other == key;
                  });
  return {lanes_sum(own.less), lanes_sum(own.equal)};
}

// Those of the row's elements that come before the warp's.
__device__ __forceinline__ Taken taken_before(const Select& select, int64_t row, int64_t block,
                                              const Taken& of_warp) {
  Taken before = {sum_before(of_warp.less), sum_before(of_warp.equal)};
  if (!select.taken) return before;
  uint2* const of_row = select.taken + row * select.blocks;
  if (threadIdx.x == blockDim.x - 1)
    of_row[block] = make_uint2(before.less + of_warp.less, before.equal + of_warp.equal);
  cooperative_groups::this_grid().sync();
  Taken earlier;
  for (int64_t b = threadIdx.x % kWarp; b < block; b += kWarp) {
    const uint2 of_block = __ldcg(&of_row[b]);
    earlier.less += of_block.x, earlier.equal += of_block.y;
  }
  before.less += lanes_sum(earlier.less), before.equal += lanes_sum(earlier.equal);
  return before;
}

// Calls use(i, exists, key) for the warp's elements in their order, one for each lane. All lanes
// take as many steps, since they ask each other.
template <class T, bool kKeeps, class Int, class Use>
__device__ __forceinline__ void each_in_order(const Part<T, kKeeps>& part,
                                              const WarpPart<Int>& of_warp, const Use& use) {
  const Int lane = threadIdx.x % kWarp;
  const Int whole = of_warp.begin + (of_warp.end - of_warp.begin) / kWarp * kWarp;
  part.each_again(of_warp.begin + lane, whole + lane, kWarp,
                  [&](Int i, KeyOf<T> key) { use(i, true, key); });
  if (whole == of_warp.end) return;
  const Int last = min(whole + lane, of_warp.end - 1);
  part.each_again(last, last + 1, kWarp,
                  [&](Int i, KeyOf<T> key) { use(i, whole + lane < of_warp.end, key); });
}

// The warp's of those that come first: all that are less, and of the equal ones as many as are
// left.
template <class T, bool kKeeps, class Int>
__device__ __forceinline__ void write_first(const Select& select, const Part<T, kKeeps>& part,
                                            const WarpPart<Int>& of_warp, int64_t row,
                                            const Wanted<T>& wanted, Taken before) {
  const uint32_t left = wanted.place + 1;
  T* const elements = static_cast<T*>(select.elements) + row * select.sort.rows.first;
  uint32_t* const positions = select.positions + row * select.sort.rows.first;
  each_in_order(part, of_warp, [&](Int i, bool exists, KeyOf<T> key) {
    const bool is_less = exists && key < wanted.key, is_equal = exists && key == wanted.key;
    const uint32_t less = __ballot_sync(kAllLanes, is_less);
    const uint32_t equal = __ballot_sync(kAllLanes, is_equal);
    const uint32_t equal_before = before.equal + count_lower_lanes(equal);
    if (is_less || (is_equal && equal_before < left)) {
      const uint32_t to = before.less + count_lower_lanes(less) + min(equal_before, left);
      elements[to] = part.element(i);
      positions[to] = static_cast<uint32_t>(part.begin + i);
    }
    before.less += __popc(less);
    before.equal += __popc(equal);
  });
}

// The wanted element, which is one of the warp's.
template <class T, bool kKeeps, class Int>
__device__ __forceinline__ void find_statistic(const Select& select, const Part<T, kKeeps>& part,
                                               const WarpPart<Int>& of_warp, int64_t row,
                                               const Wanted<T>& wanted, uint32_t equal_before) {
  each_in_order(part, of_warp, [&](Int i, bool exists, KeyOf<T> key) {
    const bool is_equal = exists && key == wanted.key;
    const uint32_t equal = __ballot_sync(kAllLanes, is_equal);
    if (is_equal && equal_before + count_lower_lanes(equal) == wanted.place)
      write_statistic(select.sort, part, row, i);
    equal_before += __popc(equal);
  });
}

template <class T, bool kKeeps>
__device__ __forceinline__ void write_wanted(const Select& select, const Part<T, kKeeps>& part,
                                             int64_t row, int64_t block, const Wanted<T>& wanted) {
  using Int = typename Part<T, kKeeps>::Int;
  if (!select.elements && !select.taken && wanted.equal == 1) {
    part.each_again(threadIdx.x, part.count, blockDim.x, [&](Int i, KeyOf<T> key) {
      if (key == wanted.key) write_statistic(select.sort, part, row, i);
    });
    return;
  }
  const WarpPart<Int> of_warp(part.count);
  const Taken own = count_taken(part, of_warp, wanted.key);
  const Taken before = taken_before(select, row, block, own);
  if (select.elements) {
    if (own.less + own.equal > 0) write_first(select, part, of_warp, row, wanted, before);
  } else if (wanted.place >= before.equal && wanted.place - before.equal < own.equal) {
    find_statistic(select, part, of_warp, row, wanted, before.equal);
  }
}

template <class T, bool kKeeps>
__global__ void __launch_bounds__(kMostThreads) select_rows(const __grid_constant__ Select select) {
  begin_kernel();
  __shared__ Counts counts;
  const int64_t teams = gridDim.x / select.blocks, block = blockIdx.x % select.blocks;
  for (int64_t row = blockIdx.x / select.blocks; row < select.sort.rows.count; row += teams) {
    const Part<T, kKeeps> part(select.sort, row, block, select.blocks);
    const Wanted<T> wanted = find_key(select, part, row, &counts);
    write_wanted(select, part, row, block, wanted);
    __syncthreads();  // the next row's part takes the place of this one's
  }
}

// ---- launches

// Blocks of a row have no fewer elements than these: they wait for each other once for each digit.
constexpr int64_t kGrain = 4096;

// As many blocks for a row as can be there at once.
int64_t blocks_of_row(const dt_stream* stream, const Rows& rows) {
  if (!can_launch_together(stream->device)) return 1;
  const int64_t most = multiprocessors(stream->device) / std::max<int64_t>(rows.count, 1);
  return std::max<int64_t>(1, std::min(most, rows.n / kGrain));
}

unsigned threads_for(int64_t elements) {
  unsigned threads = 128;
  while (threads < kMostThreads && threads * 16 <= elements) threads *= 2;
  return threads;
}

// Takes what blocks of one row tell each other. Returns the bytes of counts.
int64_t take_counts(Select* select, Scratch* scratch) {
  if (select->blocks == 1) return 0;
  const int64_t rows = select->sort.rows.count, counts = rows * select->digits.count;
  select->all = scratch->take<Counts>(counts);
  select->taken = scratch->take<uint2>(rows * select->blocks);
  return counts * static_cast<int64_t>(sizeof(Counts));
}

template <class T>
int32_t run_together(const dt_stream* stream, const Select& select, int64_t bytes_of_counts) {
  if (const cudaError_t error = set_device(stream->device))
    return check(error, "cudaSetDevice", stream->fault);
  if (const cudaError_t error = cudaMemsetAsync(select.all, 0, static_cast<size_t>(bytes_of_counts),
                                                native_stream(stream)))
    return check(error, "cudaMemsetAsync", stream->fault);
  return launch_together(stream, select_rows<T, false>, select.sort.rows.count * select.blocks,
                         kMostThreads, select);
}

template <class T, bool kKeeps>
int32_t run_blocks(const dt_stream* stream, const Select& select, int64_t shared) {
  const int64_t all = shared + static_cast<int64_t>(sizeof(Counts));
  if (const int32_t code = allow_shared<select_rows<T, kKeeps>>(stream, all)) return code;
  const int64_t blocks = std::min(select.sort.rows.count, int64_t{INT32_MAX});
  return launch(stream, select_rows<T, kKeeps>, dim3(static_cast<unsigned>(blocks)),
                dim3(threads_for(select.sort.rows.n)), static_cast<size_t>(shared), select);
}

template <class T>
int32_t run_alone(const dt_stream* stream, const Select& select) {
  const int64_t bytes = select.sort.rows.n * static_cast<int64_t>(sizeof(T));
  const int64_t others = static_cast<int64_t>(sizeof(Counts)) + 2 * kSharedPerBlock;
  return bytes + others <= shared_memory(stream->device)
             ? run_blocks<T, true>(stream, select, bytes)
             : run_blocks<T, false>(stream, select, 0);
}

}  // namespace

bool can_select(const Rows& rows) {
  return rows.n <= int64_t{UINT32_MAX};
}

int32_t select_rows(const dt_stream* stream, const RowSort& sort, const Selected& to,
                    Scratch* scratch, bool is_dry) {
  return visit_any(sort.dtype, [&](auto type) -> int32_t {
    using T = typename decltype(type)::type;
    Select select = {sort, Digits(sort.rows.n, kKeyBits<T>), to.elements, to.positions};
    select.blocks = blocks_of_row(stream, sort.rows);
    const int64_t bytes_of_counts = take_counts(&select, scratch);
    if (is_dry) return DT_KERNEL_OK;
    return select.blocks > 1 ? run_together<T>(stream, select, bytes_of_counts)
                             : run_alone<T>(stream, select);
  });
}

}  // namespace dt::cuda
