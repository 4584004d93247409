// The op `copy`: moves elements between any strides and converts them to another dtype.
//
// Elements of one dtype are moved as integers of the same width, by the elementwise kernels of the
// identity. Three patterns have kernels of their own: a transpose, whose reads or writes would
// otherwise be scattered, goes through tiles in shared memory; a dense conversion moves packets on
// both sides; and where elements lie in another order, few axes are known to the compiler.
#include "kernels/cuda/copy.h"

#include <algorithm>

#include "kernels/calls/creation.gen.h"
#include "kernels/cuda/pointwise_kernel.cuh"

namespace dt::cuda {
namespace {

// ---- moving and converting by the elementwise kernels

struct Identity {
  static constexpr int n_in = 1, n_out = 1;
  static constexpr unsigned bool_in = 0;
  static constexpr bool bool_out = false;
  template <class T>
  static DT_FN T y(const T*, T input) {
    return input;
  }
};

int32_t move(const dt_stream* stream, const dt_view& y, const dt_view& x) {
  const int32_t bits = integer_of(bytes_of(y.dtype));
  const int32_t dtypes[2] = {bits, bits};
  return visit_integer(bits, [&](auto type) {
    return run_pointwise(stream, &y, &x, pointwise_of<Identity, typename decltype(type)::type>(),
                         dtypes);
  });
}

// The number as y's dtype stores it, moved as an integer of the same bits.
int32_t fill(const dt_stream* stream, const dt_view& y, dt_view number) {
  int64_t bits = 0;
  put_number(&bits, y.dtype, number);
  number.number.i = bits;
  number.dtype = dtype_of<int64_t>;
  return move(stream, y, number);
}

// Through double or int64, which hold every value of the narrower dtypes.
int32_t convert(const dt_stream* stream, const dt_view& y, const dt_view& x) {
  if (is_floating(x.dtype)) return run_pointwise(stream, &y, &x, pointwise_of<Identity, double>());
  return run_pointwise(stream, &y, &x, pointwise_of<Identity, int64_t>());
}

// ---- dense conversions

constexpr int kConvertThreads = 256, kConvertElements = 8;  // of a thread

// Elements in a packet: as many as make the wider type's accesses, of 16 bytes at most, lie one
// after the other in a warp.
__host__ __device__ constexpr int convert_width(int64_t to_bytes, int64_t from_bytes) {
  return to_bytes == 8 || from_bytes == 8 ? 2 : 4;
}

template <class To, class From>
__global__ void __launch_bounds__(kConvertThreads)
    convert_kernel(To* y, const From* x, int64_t packets, int64_t n) {
  begin_kernel();
  constexpr int kWidth = convert_width(sizeof(To), sizeof(From));
  constexpr int kPackets = kConvertElements / kWidth;
  const int64_t first = int64_t{blockIdx.x} * (kConvertThreads * kPackets) + threadIdx.x;
  Packet<From, kWidth> in[kPackets];
#pragma unroll
  for (int i = 0; i < kPackets; ++i) {
    const int64_t packet = first + i * kConvertThreads;
    if (packet < packets) in[i] = load_packet<kWidth>(x + packet * kWidth);
  }
#pragma unroll
  for (int i = 0; i < kPackets; ++i) {
    const int64_t packet = first + i * kConvertThreads;
    Packet<To, kWidth> out;
#pragma unroll
    for (int j = 0; j < kWidth; ++j) out.value[j] = converted<To>(in[i].value[j]);
    if (packet < packets) store_packet(y + packet * kWidth, out);
  }
  const int64_t last = packets * kWidth + first;
  if (last < n) y[last] = converted<To>(x[last]);
}

// Whether all of y and x but the last elements are packets.
bool are_dense_lines(const dt_view& y, const dt_view& x) {
  const int width = convert_width(bytes_of(y.dtype), bytes_of(x.dtype));
  const auto is_line = [&](const dt_view& v) {
    return v.ndim == 1 && v.strides[0] == 1 &&
           is_aligned(v.data, std::min<int64_t>(width * bytes_of(v.dtype), kPacketBytes));
  };
  return is_line(y) && is_line(x);
}

template <class From>
int32_t convert_from(const dt_stream* stream, const dt_view& y, const dt_view& x) {
  return visit_any(y.dtype, [&](auto to) {
    using To = typename decltype(to)::type;
    const int64_t n = y.sizes[0], packets = n / convert_width(sizeof(To), sizeof(From));
    const int64_t blocks =
        std::max<int64_t>(1, divide_up(n, int64_t{kConvertThreads} * kConvertElements));
    return launch(stream, convert_kernel<To, From>, dim3(static_cast<unsigned>(blocks)),
                  dim3(kConvertThreads), 0, static_cast<To*>(y.data),
                  static_cast<const From*>(x.data), packets, n);
  });
}

int32_t convert_dense(const dt_stream* stream, const dt_view& y, const dt_view& x) {
  return visit_any(x.dtype, [&](auto from) {
    return convert_from<Stored<typename decltype(from)::type>>(stream, y, x);
  });
}

// ---- transposes

constexpr int kTile = 64, kTileRows = 4, kTileThreads = kTile * kTileRows;
// Rows of a tile in shared memory are a bank apart, so that a column touches all banks.
template <class T>
constexpr int kTilePitch = kTile + (sizeof(T) < 4 ? 4 / static_cast<int>(sizeof(T)) : 1);

// y[i][j] = x[i][j] in every batch; y is dense along j, x along i. Strides of x and y.
struct Transpose {
  void* y;
  const void* x;
  uint32_t rows, columns;        // sizes of i and j
  uint32_t row_tiles;            // tiles side by side along i
  FastDivide tiles, row_divide;  // tiles of a matrix, and along i
  int64_t y_row, x_row, y_column, x_column;
  Offsets<2, uint32_t> batches;
};

template <class T>
__global__ void __launch_bounds__(kTileThreads)
    transpose_kernel(const __grid_constant__ Transpose call) {
  begin_kernel();
  __shared__ T tile[kTile][kTilePitch<T>];
  const uint32_t batch = call.tiles.divide(blockIdx.x);
  const uint32_t in_matrix = blockIdx.x - batch * call.tiles.divisor;
  const uint32_t column_tile = call.row_divide.divide(in_matrix);
  const uint32_t row0 = (in_matrix - column_tile * call.row_tiles) * kTile;
  const uint32_t column0 = column_tile * kTile;
  const uint32_t along = threadIdx.x % kTile, across = threadIdx.x / kTile;
  int64_t offset[2];
  call.batches.at(batch, offset);

  const uint32_t i = row0 + along;
  const T* x = static_cast<const T*>(call.x) + offset[1] + i * call.x_row;
#pragma unroll
  for (int r = 0; r < kTile; r += kTileRows) {
    const uint32_t j = column0 + across + r;
    if (i < call.rows && j < call.columns) tile[across + r][along] = x[j * call.x_column];
  }
  __syncthreads();
  const uint32_t j = column0 + along;
  T* y = static_cast<T*>(call.y) + offset[0] + j * call.y_column;
#pragma unroll
  for (int r = 0; r < kTile; r += kTileRows) {
    const uint32_t row = row0 + across + r;
    if (row < call.rows && j < call.columns) y[row * call.y_row] = tile[along][across + r];
  }
}

// Tiles and their coordinates are counted in 32 bits; what is larger goes the general way.
bool has_countable_tiles(const dt_view& y, int row) {
  return y.sizes[row] <= kMaxIndex32 && y.sizes[y.ndim - 1] <= kMaxIndex32 &&
         numel(y) / (kWorthTiles * kWorthTiles) <= kMaxIndex32;
}

// The dimension along which x is dense while y is not, if tiles are worth it; or -1.
int transposed_dimension(const dt_view& y, const dt_view& x) {
  const int last = y.ndim - 1;
  if (last < 1 || x.ndim != y.ndim || y.sizes[last] < kWorthTiles) return -1;
  int best = -1;
  for (int d = 0; d < last; ++d) {
    const bool is_denser = magnitude(x.strides[d]) < magnitude(x.strides[last]);
    if (x.strides[d] == 0 || !is_denser || y.sizes[d] < kWorthTiles) continue;
    if (best < 0 || magnitude(x.strides[d]) < magnitude(x.strides[best])) best = d;
  }
  return best >= 0 && has_countable_tiles(y, best) ? best : -1;
}

template <class T>
int32_t transpose(const dt_stream* stream, const dt_view& y, const dt_view& x, int row) {
  const int column = y.ndim - 1;
  Axes<2> batches;
  for (int d = 0; d < column; ++d) {
    if (d != row) batches.insert(batches.n, y.sizes[d], {y.strides[d], x.strides[d]});
  }
  Transpose call;
  call.rows = static_cast<uint32_t>(y.sizes[row]);
  call.columns = static_cast<uint32_t>(y.sizes[column]);
  call.y_row = y.strides[row];
  call.x_row = x.strides[row];
  call.y_column = y.strides[column];
  call.x_column = x.strides[column];
  call.row_tiles = static_cast<uint32_t>(divide_up(call.rows, kTile));
  const int64_t tiles = call.row_tiles * divide_up(call.columns, kTile);
  call.tiles = FastDivide(static_cast<uint32_t>(tiles));
  call.row_divide = FastDivide(call.row_tiles);
  return for_each_piece(batches, false, [&](const Axes<2>& piece) {
    call.y = static_cast<T*>(y.data) + piece.base[0];
    call.x = static_cast<const T*>(x.data) + piece.base[1];
    call.batches = Offsets<2, uint32_t>(piece);
    const int64_t blocks = tiles * piece.count();
    return launch(stream, transpose_kernel<T>, dim3(static_cast<unsigned>(blocks)),
                  dim3(kTileThreads), 0, call);
  });
}

// ---- few axes, in any order

constexpr int kStridedThreads = 256, kMostAxes = 5;

// What a thread has on the way before it writes, in units.
template <class T, int kWidth>
constexpr int kStridedUnits = sizeof(T) * kWidth < 8 ? 8 : 4;

// A unit is an element, or a packet of neighbours on both sides, which in y begin at boundaries.
// Axis 0 is the innermost and counts units; strides count elements.
struct StridedCopy {
  void* y;
  const void* x;
  uint32_t units;
  bool x_is_aligned;
  FastDivide size[kMostAxes];  // of the last no division is asked
  int32_t y_stride[kMostAxes], x_stride[kMostAxes];
};

// A packet that begins between boundaries: by its elements, unless these are so small that an
// access to one moves little.
template <int kWidth, class T>
__device__ __forceinline__ Packet<T, kWidth> load_apart(const T* p) {
  if constexpr (sizeof(T) < 4) {
    return load_between<kWidth>(p);
  } else {
    Packet<T, kWidth> packet;
#pragma unroll
    for (int v = 0; v < kWidth; ++v) packet.value[v] = p[v];
    return packet;
  }
}

// The number of axes is known to the compiler, and there are two operands of one width: the
// elementwise kernel for any strides takes twice as long.
template <class T, int kWidth, int kAxes>
__global__ void __launch_bounds__(kStridedThreads)
    copy_strided_kernel(const __grid_constant__ StridedCopy call) {
  begin_kernel();
  constexpr int kUnits = kStridedUnits<T, kWidth>;
  const T* const x = static_cast<const T*>(call.x);
  const uint32_t first = blockIdx.x * (kStridedThreads * kUnits) + threadIdx.x;
  Packet<T, kWidth> value[kUnits];
  int32_t at[kUnits];
#pragma unroll
  for (int i = 0; i < kUnits; ++i) {
    uint32_t rest = first + i * kStridedThreads;
    if (rest >= call.units) break;
    int32_t from = 0;
    at[i] = 0;
#pragma unroll
    for (int a = 0; a < kAxes; ++a) {
      const uint32_t outer = a + 1 < kAxes ? call.size[a].divide(rest) : 0;
      const auto here = static_cast<int32_t>(rest - outer * call.size[a].divisor);
      at[i] += here * call.y_stride[a];
      from += here * call.x_stride[a];
      rest = outer;
    }
    if constexpr (kWidth == 1)
      value[i].value[0] = x[from];
    else
      value[i] = call.x_is_aligned ? load_packet<kWidth>(x + from) : load_apart<kWidth>(x + from);
  }
#pragma unroll
  for (int i = 0; i < kUnits; ++i) {
    if (first + i * kStridedThreads < call.units)
      store_packet(static_cast<T*>(call.y) + at[i], value[i]);
  }
}

// Whether the rows of the last dimension, from wherever they begin, are at boundaries of packets.
bool has_aligned_rows(const dt_view& v) {
  const int64_t bytes = bytes_of(v.dtype);
  for (int d = 0; d + 1 < v.ndim; ++d) {
    if (v.strides[d] * bytes % kPacketBytes != 0) return false;
  }
  return is_aligned(v.data, kPacketBytes);
}

bool are_packet_rows(const dt_view& y, const dt_view& x) {
  const int last = y.ndim - 1;
  return y.strides[last] == 1 && x.strides[last] == 1 &&
         y.sizes[last] % (kPacketBytes / bytes_of(y.dtype)) == 0;
}

// Packets that begin between boundaries of y are the elementwise kernel's.
bool is_strided(const dt_view& y, const dt_view& x) {
  if (y.ndim < 2 || y.ndim > kMostAxes || x.ndim != y.ndim) return false;
  return std::equal(y.sizes, y.sizes + y.ndim, x.sizes) &&
         (!are_packet_rows(y, x) || has_aligned_rows(y));
}

struct StridedKernel {
  void (*run)(StridedCopy);
  int64_t units_of_block;
};

template <class T, int kWidth, int kAxes = 2>
StridedKernel strided_kernel(int axes) {
  if constexpr (kAxes < kMostAxes) {
    if (axes > kAxes) return strided_kernel<T, kWidth, kAxes + 1>(axes);
  }
  return {copy_strided_kernel<T, kWidth, kAxes>, kStridedThreads * kStridedUnits<T, kWidth>};
}

StridedKernel strided_kernel(int32_t dtype, bool packets, int axes) {
  StridedKernel kernel = {};
  visit_width(dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    kernel = packets ? strided_kernel<T, kPacketWidth<T>>(axes) : strided_kernel<T, 1>(axes);
    return DT_KERNEL_OK;
  });
  return kernel;
}

int32_t copy_strided(const dt_stream* stream, const dt_view& y, const dt_view& x) {
  const int64_t bytes = bytes_of(y.dtype), last = y.ndim - 1;
  const bool packets = are_packet_rows(y, x);
  const int64_t width = packets ? kPacketBytes / bytes : 1;
  Axes<2> axes;
  for (int d = 0; d < last; ++d) axes.insert(d, y.sizes[d], {y.strides[d], x.strides[d]});
  axes.insert(axes.n, y.sizes[last] / width, {y.strides[last] * width, x.strides[last] * width});
  StridedCopy call = {};
  call.x_is_aligned = has_aligned_rows(x);
  return for_each_piece(axes, true, [&](const Axes<2>& piece) {
    call.y = static_cast<char*>(y.data) + piece.base[0] * bytes;
    call.x = static_cast<const char*>(x.data) + piece.base[1] * bytes;
    call.units = static_cast<uint32_t>(piece.count());
    for (int a = 0; a < piece.n; ++a) {
      const int d = piece.last() - a;
      call.size[a] = FastDivide(static_cast<uint32_t>(piece.size[d]));
      call.y_stride[a] = static_cast<int32_t>(piece.stride[d][0]);
      call.x_stride[a] = static_cast<int32_t>(piece.stride[d][1]);
    }
    const StridedKernel kernel = strided_kernel(y.dtype, packets, piece.n);
    const int64_t blocks = divide_up(call.units, kernel.units_of_block);
    return launch(stream, kernel.run, dim3(static_cast<unsigned>(blocks)), dim3(kStridedThreads), 0,
                  call);
  });
}

// ---- the op

}  // namespace

bool is_transpose(const dt_view& y, const dt_view& x) {
  return transposed_dimension(y, x) >= 0;
}

int32_t copy_view(const dt_stream* stream, const dt_view& y, const dt_view& x) {
  if (numel(y) == 0) return DT_KERNEL_OK;
  if (x.immediate) return fill(stream, y, x);
  if (!keeps_bits(x.dtype, y.dtype)) {
    if (are_dense_lines(y, x)) return convert_dense(stream, y, x);
    return convert(stream, y, x);
  }
  const int row = transposed_dimension(y, x);
  if (row < 0) return is_strided(y, x) ? copy_strided(stream, y, x) : move(stream, y, x);
  return visit_width(y.dtype, [&](auto type) {
    return transpose<typename decltype(type)::type>(stream, y, x, row);
  });
}

int32_t kernels::copy(const dt_stream* stream, const calls::Copy& call) {
  return copy_view(stream, call.y, call.x);
}

}  // namespace dt::cuda
