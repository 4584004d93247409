// Conversions between dtypes, and the op `copy`: the elementwise op whose tile function converts.
#include "kernels/calls/creation.gen.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/tile_move.h"

namespace dt::cpu {
namespace {

struct Bool {
  uint8_t value;
};

template <class To, class From>
inline To convert(From x) {
  return static_cast<To>(x);
}

// Through int32: the conversion of a negative number to an unsigned type would be undefined.
template <>
inline uint8_t convert<uint8_t>(float x) {
  return static_cast<uint8_t>(static_cast<int32_t>(x));
}
template <>
inline uint8_t convert<uint8_t>(double x) {
  return static_cast<uint8_t>(static_cast<int32_t>(x));
}

template <class To, class From>
struct Conversion {
  static To apply(From x) { return convert<To>(x); }
};
template <class From>
struct Conversion<Bool, From> {
  static Bool apply(From x) { return {static_cast<uint8_t>(x != From(0))}; }
};

template <class To, class From>
void convert_tile(const Tile& tile) {
  for (int64_t r = 0; r < tile.rows; ++r) {
    To* y = static_cast<To*>(tile.out) + r * tile.out_row;
    const From* x = static_cast<const From*>(tile.in[0]) + r * tile.in_row[0];
    DT_INDEPENDENT
    for (int64_t i = 0; i < tile.n; ++i) y[i] = Conversion<To, From>::apply(x[i]);
  }
}

template <int kBytes>
void move_tile(const Tile& tile) {
  for (int64_t r = 0; r < tile.rows; ++r) {
    __builtin_memmove(static_cast<char*>(tile.out) + r * tile.out_row * kBytes,
                      static_cast<const char*>(tile.in[0]) + r * tile.in_row[0] * kBytes,
                      static_cast<size_t>(tile.n * kBytes));
  }
}

template <class From>
TileFunction* conversion_from(int32_t to) {
  switch (to) {
    case DT_FLOAT32:
      return convert_tile<float, From>;
    case DT_FLOAT64:
      return convert_tile<double, From>;
    case DT_INT64:
      return convert_tile<int64_t, From>;
    case DT_INT32:
      return convert_tile<int32_t, From>;
    case DT_UINT8:
      return convert_tile<uint8_t, From>;
    default:
      return convert_tile<Bool, From>;
  }
}

TileFunction* move(int32_t dtype) {
  switch (bytes_of(dtype)) {
    case 1:
      return move_tile<1>;
    case 4:
      return move_tile<4>;
    default:
      return move_tile<8>;
  }
}

}  // namespace

TileFunction* conversion(int32_t from, int32_t to) {
  if (from == to || (from == DT_BOOL && to == DT_UINT8)) return move(from);
  switch (from) {
    case DT_FLOAT32:
      return conversion_from<float>(to);
    case DT_FLOAT64:
      return conversion_from<double>(to);
    case DT_INT64:
      return conversion_from<int64_t>(to);
    case DT_INT32:
      return conversion_from<int32_t>(to);
    default:
      return conversion_from<uint8_t>(to);
  }
}

int32_t kernels::copy(const dt_stream* stream, const calls::Copy& call) {
  const dt_view &x = call.x, &y = call.y;
  Elementwise op;
  op.n_in = op.n_out = 1;
  op.in_dtype[0] = x.immediate ? y.dtype : x.dtype;
  op.out_dtype = y.dtype;
  op.function[0][kVectors] = conversion(op.in_dtype[0], op.out_dtype);
  op.function[0][kSecondScalar] = op.function[0][kFirstScalar] = nullptr;
  op.cycles = static_cast<int32_t>(bytes_of(op.in_dtype[0]) + bytes_of(op.out_dtype));
  op.parameters = nullptr;
  return run_elementwise(stream, &y, &x, op);
}

}  // namespace dt::cpu
