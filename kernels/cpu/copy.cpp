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

namespace {

// Whether y is one run, all of whose bits become 0.
bool is_cleared(const dt_view& y, const dt_view& x) {
  return x.immediate && x.number.i == 0 && (y.ndim == 0 || (y.ndim == 1 && y.strides[0] == 1));
}

void clear(const dt_stream* stream, const dt_view& y) {
  constexpr int64_t kPart = 1 << 18;  // bytes
  const int64_t bytes = count(y) * bytes_of(y.dtype);
  parallel_for(stream, ceil_div(bytes, kPart), bytes / 4, [&](int64_t part) {
    const int64_t begin = part * kPart, size = min(kPart, bytes - begin);
    __builtin_memset(static_cast<char*>(y.data) + begin, 0, static_cast<size_t>(size));
  });
}

int32_t copy_view(const dt_stream* stream, const dt_view& y, const dt_view& x) {
  if (is_cleared(y, x)) return clear(stream, y), DT_KERNEL_OK;
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

// The size of the outermost dimension, if all pairs share it: such as of tensors that are joined
// along one further inside. Else 0.
int64_t shared_rows(const calls::CopyEach& call) {
  for (const dt_view& y : call.y) {
    if (y.ndim == 0 || y.sizes[0] != call.y[0].sizes[0]) return 0;
  }
  return call.y[0].sizes[0];
}

// What one row of a view has, if its elements lie together in it: bytes; else 0.
int64_t run_bytes(const dt_view& view) {
  const bool together = view.ndim == 1 || (view.ndim == 2 && view.strides[1] == 1);
  return together ? (view.ndim == 2 ? view.sizes[1] : 1) * bytes_of(view.dtype) : 0;
}

// Whether all rows are runs that are moved as they are, so long that each may have a call.
bool has_long_runs(const calls::CopyEach& call) {
  constexpr int64_t kLongRun = 64;
  int64_t total = 0;
  for (int64_t i = 0; i < call.k; ++i) {
    const int64_t run = run_bytes(call.y[i]);
    if (run == 0 || run_bytes(call.x[i]) != run || !keeps_bits(call.x[i].dtype, call.y[i].dtype))
      return false;
    total += run;
  }
  return total >= call.k * kLongRun;
}

void copy_runs(const calls::CopyEach& call, int64_t begin, int64_t end) {
  const auto row = [](const dt_view& view, int64_t r) {
    return static_cast<char*>(view.data) + r * view.strides[0] * bytes_of(view.dtype);
  };
  for (int64_t r = begin; r < end; ++r) {
    for (int64_t i = 0; i < call.k; ++i)
      copy_run(row(call.y[i], r), row(call.x[i], r), run_bytes(call.y[i]));
  }
}

dt_view rows_of(const dt_view& view, int64_t begin, int64_t end) {
  dt_view part = view;
  part.sizes[0] = end - begin;
  part.data = static_cast<char*>(view.data) + begin * view.strides[0] * bytes_of(view.dtype);
  return part;
}

}  // namespace

int32_t kernels::copy(const dt_stream* stream, const calls::Copy& call) {
  return copy_view(stream, call.y, call.x);
}

// Pairs with the same rows are likely to write parts of the same cache lines: a block of rows of
// all of them before the next one.
int32_t kernels::copy_each(const dt_stream* stream, const calls::CopyEach& call) {
  constexpr int64_t kBlockBytes = 1 << 17;
  int64_t bytes = 0;
  for (const dt_view& y : call.y) bytes += count(y) * bytes_of(y.dtype);
  const int64_t rows = bytes > kBlockBytes ? shared_rows(call) : 0;
  int32_t code = DT_KERNEL_OK;
  if (rows < 2) {
    for (int64_t i = 0; i < call.k && code == DT_KERNEL_OK; ++i)
      code = copy_view(stream, call.y[i], call.x[i]);
    return code;
  }
  const int64_t in_block = max(rows / ceil_div(bytes, kBlockBytes), int64_t{1});
  const bool by_runs = has_long_runs(call);
  dt_stream alone = *stream;
  alone.threads = 1;
  parallel_for(stream, ceil_div(rows, in_block), bytes, [&](int64_t block) {
    const int64_t begin = block * in_block, end = min(begin + in_block, rows);
    if (by_runs) return copy_runs(call, begin, end);
    for (int64_t i = 0; i < call.k; ++i)
      copy_view(&alone, rows_of(call.y[i], begin, end), rows_of(call.x[i], begin, end));
  });
  return DT_KERNEL_OK;
}

}  // namespace dt::cpu
