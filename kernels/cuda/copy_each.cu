// The op `copy_each`: parts of a result, such as those of `cat` and `roll`, in one launch. A kernel
// takes longer to come than a small part to be moved, and parts that share cache lines are written
// while these are in the cache.
//
// Every pair is a box of at most kAxes axes, whose units are moved as integers of up to 16 bytes,
// the same of all pairs. Other pairs (conversions, transposes, more axes, elements of another
// width) are copied one by one.
#include <algorithm>

#include "kernels/calls/creation.gen.h"
#include "kernels/cuda/copy.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/offsets.cuh"
#include "kernels/cuda/packet.cuh"

namespace dt::cuda {
namespace {

// Pairs of one launch, and of one whose parameters are sent in half a microsecond less.
constexpr int kPairs = 32, kFewPairs = 4;
constexpr int kAxes = 3, kThreads = 256;

// What a thread has on the way before it writes, in units: wide ones fill more of the memory's
// time.
template <int kBytes>
constexpr int kUnits = kBytes == 16 ? 4 : 8;

// Strides count units; axis 0 is the innermost.
struct Box {
  char* y;
  const char* x;
  uint32_t units;
  FastDivide inner[kAxes - 1];
  int64_t y_stride[kAxes], x_stride[kAxes];
};

template <int kMost>
struct Boxes {
  int n = 0;
  bool in_turn;  // all have as many blocks: block i belongs to box i % n, so that all advance alike
  uint32_t first_block[kMost];
  Box box[kMost];
};

struct Share {
  int box;
  uint32_t block;  // of that box
};

template <int kMost>
__device__ __forceinline__ Share share_of(const Boxes<kMost>& call, uint32_t block) {
  if (call.in_turn) {
    const uint32_t turn = block / static_cast<uint32_t>(call.n);
    return {static_cast<int>(block - turn * static_cast<uint32_t>(call.n)), turn};
  }
  int low = 0, high = call.n;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (call.first_block[middle] <= block ? low : high) = middle;
  }
  return {low, block - call.first_block[low]};
}

template <int kBytes, int kMost>
__global__ void __launch_bounds__(kThreads)
    copy_each_kernel(const __grid_constant__ Boxes<kMost> call) {
  begin_kernel();
  using Unit = AccessUnit<kBytes>;
  const Share share = share_of(call, blockIdx.x);
  const Box& box = call.box[share.box];
  const uint32_t first = share.block * (kThreads * kUnits<kBytes>)+threadIdx.x;
  Unit value[kUnits<kBytes>];
  int64_t y_at[kUnits<kBytes>];
#pragma unroll
  for (int i = 0; i < kUnits<kBytes>; ++i) {
    const uint32_t unit = first + static_cast<uint32_t>(i) * kThreads;
    if (unit >= box.units) break;
    const uint32_t line = box.inner[0].divide(unit), plane = box.inner[1].divide(line);
    const int64_t a = unit - line * box.inner[0].divisor, b = line - plane * box.inner[1].divisor;
    const int64_t c = plane;
    y_at[i] = a * box.y_stride[0] + b * box.y_stride[1] + c * box.y_stride[2];
    value[i] = reinterpret_cast<const Unit*>(
        box.x)[a * box.x_stride[0] + b * box.x_stride[1] + c * box.x_stride[2]];
  }
#pragma unroll
  for (int i = 0; i < kUnits<kBytes>; ++i) {
    if (first + static_cast<uint32_t>(i) * kThreads >= box.units) break;
    reinterpret_cast<Unit*>(box.y)[y_at[i]] = value[i];
  }
}

// ---- packing, on the host

// As many bytes as an address and all lengths of a pair are multiples of; an element at least.
int unit_bytes(const dt_view& y, const dt_view& x) {
  const int64_t element = bytes_of(y.dtype);
  const int last = y.ndim - 1;
  if (last < 0 || y.strides[last] != 1 || x.strides[last] != 1) return static_cast<int>(element);
  const auto address = [](const dt_view& v) { return reinterpret_cast<uintptr_t>(v.data); };
  uint64_t all = address(y) | address(x) | static_cast<uint64_t>(y.sizes[last] * element);
  for (int d = 0; d < last; ++d)
    all |= static_cast<uint64_t>(y.strides[d] * element) |
           static_cast<uint64_t>(x.strides[d] * element);
  const uint64_t lowest = all & (~all + 1);
  return static_cast<int>(
      std::clamp(lowest, static_cast<uint64_t>(element), uint64_t{kPacketBytes}));
}

// Units are elements, or several neighbours.
Box box_of(const dt_view& y, const dt_view& x, int bytes) {
  const auto element = static_cast<int>(bytes_of(y.dtype));
  Box box = {};
  box.y = static_cast<char*>(y.data);
  box.x = static_cast<const char*>(x.data);
  int axes = 0;
  const auto add = [&](int64_t size, int64_t y_stride, int64_t x_stride) {
    if (axes < kAxes - 1) box.inner[axes] = FastDivide(static_cast<uint32_t>(size));
    box.y_stride[axes] = y_stride;
    box.x_stride[axes++] = x_stride;
  };
  int64_t units = 1;
  for (int d = y.ndim - 1; d >= 0; --d) {
    const bool is_run = d == y.ndim - 1 && bytes > element;
    const int64_t size = is_run ? y.sizes[d] * element / bytes : y.sizes[d];
    const auto stride = [&](const dt_view& v) {
      return is_run ? 1 : v.strides[d] * element / bytes;
    };
    add(size, stride(y), stride(x));
    units *= size;
  }
  while (axes < kAxes) add(1, 0, 0);
  box.units = static_cast<uint32_t>(units);
  return box;
}

bool is_box(const dt_view& y, const dt_view& x, int64_t element) {
  return bytes_of(y.dtype) == element && !x.immediate && keeps_bits(x.dtype, y.dtype) &&
         y.ndim <= kAxes && numel(y) <= kMaxIndex32 && !is_transpose(y, x);
}

template <int kBytes, int kMost>
int32_t start(const dt_stream* stream, const Boxes<kPairs>& all) {
  static_assert(sizeof(Boxes<kMost>) <= 4096, "parameters of a kernel");
  const auto blocks_of = [&](int box) {
    return static_cast<uint32_t>(divide_up(all.box[box].units, kThreads * kUnits<kBytes>));
  };
  Boxes<kMost> call;
  call.n = all.n;
  call.in_turn = true;
  uint32_t blocks = 0;
  for (int i = 0; i < all.n; ++i) {
    call.box[i] = all.box[i];
    call.first_block[i] = blocks;
    blocks += blocks_of(i);
    call.in_turn &= blocks_of(i) == blocks_of(0);
  }
  return launch(stream, copy_each_kernel<kBytes, kMost>, dim3(blocks), dim3(kThreads), 0, call);
}

template <int kBytes>
int32_t start(const dt_stream* stream, const Boxes<kPairs>& boxes) {
  return boxes.n <= kFewPairs ? start<kBytes, kFewPairs>(stream, boxes)
                              : start<kBytes, kPairs>(stream, boxes);
}

int32_t start(const dt_stream* stream, const Boxes<kPairs>& boxes, int bytes) {
  if (bytes == kPacketBytes) return start<kPacketBytes>(stream, boxes);
  return visit_bytes(bytes, [&](auto unit) {
    return start<static_cast<int>(sizeof(typename decltype(unit)::type))>(stream, boxes);
  });
}

}  // namespace

int32_t kernels::copy_each(const dt_stream* stream, const calls::CopyEach& call) {
  const int64_t element = bytes_of(call.y[0].dtype);
  const auto takes = [&](int64_t i) { return is_box(call.y[i], call.x[i], element); };
  int bytes = kPacketBytes;
  for (int64_t i = 0; i < call.k; ++i) {
    if (takes(i)) bytes = std::min(bytes, unit_bytes(call.y[i], call.x[i]));
  }
  Boxes<kPairs> boxes;
  int32_t code = DT_KERNEL_OK;
  for (int64_t i = 0; i < call.k && code == DT_KERNEL_OK; ++i) {
    if (!takes(i)) {
      code = copy_view(stream, call.y[i], call.x[i]);
      continue;
    }
    boxes.box[boxes.n++] = box_of(call.y[i], call.x[i], bytes);
    if (boxes.n < kPairs) continue;
    code = start(stream, boxes, bytes);
    boxes.n = 0;
  }
  return boxes.n > 0 && code == DT_KERNEL_OK ? start(stream, boxes, bytes) : code;
}

}  // namespace dt::cuda
