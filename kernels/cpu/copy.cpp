// Conversions between dtypes, and the op `copy`: the elementwise op whose tile function converts.
#include "kernels/calls/creation.gen.h"
#include "kernels/cpu/copy_run.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/halves.h"
#include "kernels/cpu/tile_move.h"

namespace dt::cpu {
namespace {

// Real numbers become narrow integers through int32: the conversion of a negative one to an
// unsigned type would be undefined.
template <class To, class From>
inline Stored<To> convert(From x) {
  if constexpr (kIsBool<To>) {
    return x != From(0);
  } else if constexpr (kIsFloating<From> && !kIsFloating<To> && sizeof(To) < sizeof(int32_t)) {
    return static_cast<To>(static_cast<int32_t>(x));
  } else {
    return static_cast<To>(x);
  }
}

template <class To, class From>
void convert_tile(const Tile& tile) {
  const int64_t n = tile.n;  // which a byte that is written might be part of, for all that is known
  for (int64_t r = 0; r < tile.rows; ++r) {
    Stored<To>* y = static_cast<Stored<To>*>(tile.out) + r * tile.out_row;
    const From* x = static_cast<const From*>(tile.in[0]) + r * tile.in_row[0];
    if constexpr (kConvertsHalves<To, From>) {
      convert_halves(y, x, n);
    } else {
      DT_INDEPENDENT
      for (int64_t i = 0; i < n; ++i) y[i] = convert<To>(x[i]);
    }
  }
}

template <class T>
void move_tile(const Tile& tile) {
  T* const y = static_cast<T*>(tile.out);
  const T* const x = static_cast<const T*>(tile.in[0]);
  const int64_t rows = tile.rows, n = tile.n, y_row = tile.out_row, x_row = tile.in_row[0];
  for (int64_t r = 0; r < rows; ++r) copy_run(y + r * y_row, x + r * x_row, n);
}

}  // namespace

TileFunction* conversion(int32_t from, int32_t to) {
  TileFunction* function = nullptr;
  if (keeps_bits(from, to)) {
    visit_width(from, [&](auto type) { function = move_tile<typename decltype(type)::type>; });
    return function;
  }
  visit_any(from, [&](auto source) {
    return visit_any(to, [&](auto target) {
      using From = typename decltype(source)::type;
      using To = typename decltype(target)::type;
      if constexpr (!std::is_same_v<From, To>) function = convert_tile<To, Stored<From>>;
    });
  });
  return function;
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
