// From a formula struct of functors_*.gen.h to a backend's kernel: the tile functions, one loop per
// output, arithmetic type and form, and the entry that picks the type. What is not the formula
// itself is left to run_elementwise.
#pragma once

#include <string.h>

#include <utility>

#include "kernels/calls/pointwise.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/formula_types.h"
#include "kernels/cpu/halves.h"
#include "kernels/cpu/in_lanes.h"
#include "kernels/cpu/tile_move.h"

namespace dt::fn {

struct abs;
struct add;
struct bitwise_and;
struct bitwise_complement;
struct bitwise_or;
struct bitwise_xor;
struct clamp_max;
struct clamp_min;
struct clamp_range;
struct eq;
struct ge;
struct gt;
struct hardswish;
struct le;
struct lerp_element;
struct lt;
struct mul;
struct multiply_add;
struct ne;
struct neg;
struct reciprocal;
struct relu;
struct rsqrt;
struct rsub;
struct sign;
struct sqrt;
struct square;
struct sub;
struct true_divide;
struct where;

}  // namespace dt::fn

namespace dt::cpu {
namespace {

// Whether a struct is an op (its function is called y) or a gradient (y0, y1, ...).
template <class F, class T, class = void>
struct IsGradient {
  static constexpr bool value = true;
};
template <class F, class T>
struct IsGradient<F, T, decltype(void(&F::template y<T>))> {
  static constexpr bool value = false;
};

template <class F, int kOutput, class T, class... Inputs>
DT_FN auto evaluate(const T* parameters, Inputs... inputs) {
  if constexpr (!IsGradient<F, T>::value) {
    return F::template y<T>(parameters, inputs...);
  } else if constexpr (kOutput == 0) {
    return F::template y0<T>(parameters, inputs...);
  } else if constexpr (kOutput == 1) {
    return F::template y1<T>(parameters, inputs...);
  } else {
    static_assert(kOutput == 2, "more gradients than kMaxElementwiseOut");
    return F::template y2<T>(parameters, inputs...);
  }
}

template <class F, int kInput>
constexpr bool is_bool_input() {
  return (F::bool_in >> kInput & 1) != 0;
}

template <bool kBool, class T>
DT_FN auto probe_argument() {
  if constexpr (kBool) {
    return false;
  } else {
    return T();
  }
}

template <class F, int kOutput, int... kInput>
constexpr math::Probe probe_output(std::integer_sequence<int, kInput...>) {
  constexpr math::Probe parameters[8] = {};
  return evaluate<F, kOutput, math::Probe>(
      parameters, probe_argument<is_bool_input<F, kInput>(), math::Probe>()...);
}

// What the formula of an output does. Predicates and integer ops are not worth asking.
template <class F, int kOutput, class T>
constexpr math::Probe probe() {
  if constexpr (F::bool_out || !kIsFloating<T>) {
    return math::Probe(8, false, false);
  } else {
    return probe_output<F, kOutput>(std::make_integer_sequence<int, F::n_in>());
  }
}

// Element i of an input's row, as the formula wants it.
template <bool kBool, class T>
DT_MATH auto element(const void* row, int64_t i) {
  if constexpr (kBool) {
    return static_cast<const uint8_t*>(row)[i] != 0;
  } else {
    return static_cast<const T*>(row)[i];
  }
}

// An input's row in a loop: a pointer to step along, or one value.
template <class F, int kInput, class T, bool kScalar>
struct Argument {
  static constexpr bool kBool = is_bool_input<F, kInput>();
  using Element = std::conditional_t<kBool, uint8_t, T>;
  const void* row;
  DT_MATH auto at(int64_t i) const { return element<kBool, T>(row, i); }
  DT_MATH const Element* from(int64_t i) const { return static_cast<const Element*>(row) + i; }
};

template <class F, int kInput, class T>
struct Argument<F, kInput, T, true> {
  static constexpr bool kBool = is_bool_input<F, kInput>();
  DT_MATH explicit Argument(const void* row) : value(element<kBool, T>(row, 0)) {}
  DT_MATH auto at(int64_t) const { return value; }
  decltype(element<kBool, T>(nullptr, 0)) value;
};

template <class F, int kOutput, class T, class Out, class... Arguments>
DT_MATH void run_row(Out* out, const T* parameters, int64_t n, Arguments... arguments) {
  DT_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) out[i] = evaluate<F, kOutput, T>(parameters, arguments.at(i)...);
}

template <class T>
DT_MATH math::Exact<T> exact(T value) {
  return value;
}
DT_MATH bool exact(bool value) {
  return value;
}

// What a costly formula computes at a time: the loop over a block has one length, so that the
// compiler writes the formula once, as vector code, and not again for what remains.
template <class T>
constexpr int64_t kBlock = 64 / sizeof(T);

// Room for the block that a row ends with.
template <class Element, int64_t n>
struct LastBlock {
  LastBlock() {}  // leaves the elements as they are

  // The block at `row`, of which there are m elements. What is missing is the last of them again.
  DT_MATH const Element* at(const Element* row, int64_t m) { return m < n ? fill(row, m) : row; }

  __attribute__((noinline)) const Element* fill(const Element* row, int64_t m) {
    for (int64_t i = 0; i < n; ++i) elements[i] = row[min(i, m - 1)];
    return elements;
  }

  Element elements[n];
};

// As run_row, of an op that has a function of whole vectors.
template <class F, class T, class... In>
DT_MATH void run_row_in_lanes(T* out, int64_t n, const In*... in) {
  constexpr int64_t kWidth = kLanes<T>;
  int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) store(out + i, InLanes<F, T>::y(load(in + i)...));
  if (i < n) store_first(out + i, InLanes<F, T>::y(load_first(in + i, n - i)...), n - i);
}

// As run_row, in blocks.
template <class F, int kOutput, class T, class Out, class... Arguments>
DT_MATH void run_row_in_blocks(Out* out, const T* parameters, int64_t n, Arguments... arguments) {
  if constexpr (InLanes<F, T>::value) return run_row_in_lanes<F, T>(out, n, arguments.from(0)...);
  Out last[kBlock<T>];
  for (int64_t i = 0; i < n; i += kBlock<T>) {
    const int64_t m = min(kBlock<T>, n - i);
    run_row<F, kOutput, T>(
        m < kBlock<T> ? last : out + i, parameters, kBlock<T>,
        Arguments{LastBlock<typename Arguments::Element, kBlock<T>>().at(arguments.from(i), m)}...);
    if (m < kBlock<T>) return static_cast<void>(memcpy(out + i, last, m * sizeof(Out)));
  }
}

// As run_row, but elements that came out as NaN, perhaps because the fast form of a function does
// not reach so far, are computed again exactly. Results wait in a buffer because the row may be
// written over an input.
template <class F, int kOutput, class T, class... Arguments>
inline void run_partial_row(T* out, const T* parameters, int64_t n, Arguments... arguments) {
  constexpr int64_t kChunk = 256;
  T result[kChunk];
  const auto* exact_parameters = reinterpret_cast<const math::Exact<T>*>(parameters);
  for (int64_t start = 0; start < n; start += kChunk) {
    const int64_t m = min(kChunk, n - start);
    run_row_in_blocks<F, kOutput, T>(result, parameters, m, Arguments{arguments.from(start)}...);
    int32_t undefined = 0;
    for (int64_t i = 0; i < m; ++i) undefined |= result[i] != result[i];
    for (int64_t i = 0; i < m && undefined; ++i) {
      if (result[i] != result[i]) {
        result[i] = evaluate<F, kOutput, math::Exact<T>>(exact_parameters,
                                                         exact(arguments.at(start + i))...)
                        .value;
      }
    }
    memcpy(out + start, result, m * sizeof(T));
  }
}

// Formulas that cost more are compiled for rows alone: a number among their inputs fills a row
// first, which does not show beside them.
constexpr int kMostScalarFormOperations = 12;

template <class F, int kOutput, class T>
constexpr bool is_costly() {
  return InLanes<F, T>::value || probe<F, kOutput, T>().operations > kMostScalarFormOperations;
}

// Where the compiler writes no vector code, a block would only be a longer row.
#ifdef __OPTIMIZE_SIZE__
constexpr bool kVectorCode = false;
#else
constexpr bool kVectorCode = true;
#endif

template <class F, int kOutput, class T, int kForm, int... kInput>
DT_MATH void run_tile_inputs(const Tile& tile, std::integer_sequence<int, kInput...>) {
  const T* parameters = static_cast<const T*>(tile.parameters);
  constexpr math::Probe formula = probe<F, kOutput, T>();
  for (int64_t r = 0; r < tile.rows; ++r) {
    const auto row = [&tile, r](int input, bool is_bool) {
      const int64_t bytes = is_bool ? 1 : static_cast<int64_t>(sizeof(T));
      return static_cast<const char*>(tile.in[input]) + r * tile.in_row[input] * bytes;
    };
    constexpr int kScalar = kForm == kFirstScalar ? 0 : kForm == kSecondScalar ? 1 : -1;
    using Out = std::conditional_t<F::bool_out, uint8_t, T>;
    Out* out = static_cast<Out*>(tile.out) + r * tile.out_row;
    if constexpr (formula.partial) {
      run_partial_row<F, kOutput, T>(
          out, parameters, tile.n,
          Argument<F, kInput, T, false>{row(kInput, is_bool_input<F, kInput>())}...);
    } else if constexpr (kVectorCode && is_costly<F, kOutput, T>() && !formula.scalar) {
      run_row_in_blocks<F, kOutput, T>(
          out, parameters, tile.n,
          Argument<F, kInput, T, false>{row(kInput, is_bool_input<F, kInput>())}...);
    } else {
      run_row<F, kOutput, T>(
          out, parameters, tile.n,
          Argument<F, kInput, T, kInput == kScalar>{row(kInput, is_bool_input<F, kInput>())}...);
    }
  }
}

template <class F, int kOutput, class T, int kForm>
void run_tile(const Tile& tile) {
  run_tile_inputs<F, kOutput, T, kForm>(tile, std::make_integer_sequence<int, F::n_in>());
}

template <class F, int kOutput, class T>
inline void add_output(Elementwise& op) {
  op.function[kOutput][kVectors] = run_tile<F, kOutput, T, kVectors>;
  if constexpr (F::n_in == 2 && !IsGradient<F, T>::value && !is_costly<F, kOutput, T>()) {
    op.function[kOutput][kSecondScalar] = run_tile<F, kOutput, T, kSecondScalar>;
    op.function[kOutput][kFirstScalar] = run_tile<F, kOutput, T, kFirstScalar>;
  } else {
    op.function[kOutput][kSecondScalar] = op.function[kOutput][kFirstScalar] = nullptr;
  }
  op.cycles += probe<F, kOutput, T>().operations * static_cast<int>(sizeof(T)) / 4;
}

template <class F, class T>
int32_t run_typed(const dt_stream* stream, const calls::Pointwise& call) {
  T parameters[calls::PointwiseAttributes::kMax];
  for (int i = 0; i < call.n_attributes; ++i) {
    parameters[i] = number_as<T>(kIsFloating<T>, call.real(i), call.whole(i));
  }
  Elementwise op;
  op.n_in = F::n_in;
  op.n_out = F::n_out;
  for (int i = 0; i < F::n_in; ++i)
    op.in_dtype[i] = F::bool_in >> i & 1 ? dtype_of<bool> : dtype_of<T>;
  op.out_dtype = F::bool_out ? dtype_of<bool> : dtype_of<T>;
  op.cycles = 2 * (F::n_in + F::n_out) * static_cast<int>(sizeof(T)) / 4;
  op.parameters = parameters;
  add_output<F, 0, T>(op);
  if constexpr (F::n_out > 1) add_output<F, 1, T>(op);
  if constexpr (F::n_out > 2) add_output<F, 2, T>(op);
  return run_elementwise(stream, call.outputs.data, call.inputs.data, op);
}

// ---- integers narrower than any arithmetic type

// Formulas that are compiled for narrow integers themselves: what a wider type has above them has
// no part in their results. The others go by way of the arithmetic type, which takes five times as
// long. Of `kWraps` bools would be no bools; `kOrders` depend on the sign.
enum class Narrow { kNone, kWraps, kBits, kOrders };

template <class F, class... Among>
constexpr bool is_one_of = (std::is_same_v<F, Among> || ...);

template <class F>
constexpr Narrow kNarrow =
    is_one_of<F, fn::add, fn::sub, fn::neg, fn::bitwise_complement> ? Narrow::kWraps
    : is_one_of<F, fn::mul, fn::bitwise_and, fn::bitwise_or, fn::bitwise_xor, fn::eq, fn::ne,
                fn::where>
        ? Narrow::kBits
    : is_one_of<F, fn::abs, fn::sign, fn::relu, fn::clamp_max, fn::clamp_min, fn::lt, fn::le,
                fn::gt, fn::ge>
        ? Narrow::kOrders
        : Narrow::kNone;

template <class F, class Lane>
TileFunction* narrow_function() {
  return run_tile<F, 0, Lane, kVectors>;
}

template <class F>
NarrowFormula narrow_formula() {
  constexpr bool kSigned = kNarrow<F> == Narrow::kOrders;
  NarrowFormula formula;
  formula.n_in = F::n_in;
  formula.bool_in = F::bool_in;
  formula.bool_out = F::bool_out;
  formula.takes_bool = kNarrow<F> != Narrow::kWraps;
  formula.on_unsigned_bytes = narrow_function<F, uint8_t>();
  formula.on_signed_bytes = narrow_function<F, std::conditional_t<kSigned, int8_t, uint8_t>>();
  formula.on_shorts = narrow_function<F, std::conditional_t<kSigned, int16_t, uint16_t>>();
  return formula;
}

// ---- floats of 16 bits

// A sign is a bit, that of NaN too.
template <class F>
constexpr bool kChangesSign = is_one_of<F, fn::abs, fn::neg>;

#if defined(__F16C__)
constexpr bool kHalfVectors = kVectorCode;
#else
constexpr bool kHalfVectors = false;
#endif

// Formulas that cost so little that passes over buffers of floats would take most of the time.
template <class F>
constexpr bool kTakesHalves =
    kChangesSign<F> ||
    (kHalfVectors &&
     is_one_of<F, fn::add, fn::sub, fn::rsub, fn::mul, fn::true_divide, fn::relu, fn::clamp_max,
               fn::clamp_min, fn::square, fn::sqrt, fn::rsqrt, fn::reciprocal, fn::hardswish,
               fn::clamp_range, fn::lerp_element, fn::multiply_add>);

// Which operands may be numbers. There is an op for each order of a tensor and a number.
template <class F>
constexpr unsigned kHalfNumbers = F::n_in == 2                          ? 2
                                  : std::is_same_v<F, fn::clamp_range>  ? 6
                                  : std::is_same_v<F, fn::lerp_element> ? 4
                                                                        : 0;

template <class F>
void run_sign_row(void* out, const void* const* in, const float*, int64_t n) {
  uint16_t* y = static_cast<uint16_t*>(out);
  const uint16_t* x = static_cast<const uint16_t*>(in[0]);
  DT_INDEPENDENT
  for (int64_t i = 0; i < n; ++i)
    y[i] = std::is_same_v<F, fn::neg> ? x[i] ^ 0x8000u : x[i] & 0x7fffu;
}

template <class F, class Half, unsigned kNumbers>
void run_half_row(void* out, const void* const* in, const float* parameters, int64_t n);

#if defined(__F16C__)

// A vector of an operand, as floats in a formula's loop.
struct WidenedHalves {
  DT_MATH explicit WidenedHalves(Vector<float> v) { store(values, v); }
  DT_MATH explicit WidenedHalves(float number) {
    for (float& value : values) value = number;
  }
  DT_MATH float at(int64_t i) const { return values[i]; }
  float values[kHalves];
};

// An operand of a row: halves, or one number. Read before the loop, whose stores might be to it.
template <class Half>
struct HalfOperand {
  explicit HalfOperand(const void* row) : x(static_cast<const Half*>(row)) {}
  DT_MATH WidenedHalves at(int64_t i) const { return WidenedHalves(widen_halves(x + i)); }
  const Half* x;
};
template <>
struct HalfOperand<float> {
  explicit HalfOperand(const void* row) : number(*static_cast<const float*>(row)) {}
  DT_MATH WidenedHalves at(int64_t) const { return WidenedHalves(number); }
  float number;
};

template <class F, class Half, class... Operand>
DT_MATH int64_t run_half_vectors(Half* out, const float* parameters, int64_t n,
                                 const Operand&... operand) {
  int64_t i = 0;
  for (; i + kHalves <= n; i += kHalves) {
    float y[kHalves];
    run_row<F, 0, float>(y, parameters, kHalves, operand.at(i)...);
    round_halves(out + i, load(y));
  }
  return i;
}

template <class F, class Half, unsigned kNumbers, int... kInput>
DT_MATH int64_t run_half_inputs(Half* out, const void* const* in, const float* parameters,
                                int64_t n, std::integer_sequence<int, kInput...>) {
  return run_half_vectors<F>(
      out, parameters, n,
      HalfOperand<std::conditional_t<(kNumbers >> kInput & 1) != 0, float, Half>>(in[kInput])...);
}

template <class F, class Half, unsigned kNumbers>
void run_half_row(void* out, const void* const* in, const float* parameters, int64_t n) {
  const int64_t done = run_half_inputs<F, Half, kNumbers>(
      static_cast<Half*>(out), in, parameters, n, std::make_integer_sequence<int, F::n_in>());
  if (done < n)
    run_last_halves(run_half_row<F, Half, kNumbers>, F::n_in, kNumbers, out, in, parameters, done,
                    n);
}

#endif

template <class F, class Half, unsigned kNumbers>
constexpr HalfRow* half_row() {
  if constexpr (kChangesSign<F>) {
    return run_sign_row<F>;
  } else {
    return run_half_row<F, Half, kNumbers>;
  }
}

template <class F, class Half, unsigned kNumbers>
void run_half_tile(const Tile& tile) {
  run_half_rows(half_row<F, Half, kNumbers>(), F::n_in, kNumbers, tile);
}

// Of formulas that hardly anybody calls without numbers there is nothing else.
template <class F, class Half>
constexpr HalfTiles half_tiles() {
  HalfTiles tiles = {};
  if constexpr (F::n_in < 3 || kHalfNumbers<F> == 0) tiles.of_halves = run_half_tile<F, Half, 0>;
  if constexpr (kHalfNumbers<F> != 0) tiles.of_numbers = run_half_tile<F, Half, kHalfNumbers<F>>;
  return tiles;
}

template <class F>
bool run_in_halves(const dt_stream* stream, const calls::Pointwise& call) {
  static_assert(F::n_in <= kMaxHalfIn);
  HalfFormula formula = {};
  formula.n_in = F::n_in;
  formula.cycles = probe<F, 0, float>().operations;
  formula.numbers = kHalfNumbers<F>;
  formula.on_float16 = half_tiles<F, Float16>();
  formula.on_bfloat16 = half_tiles<F, BFloat16>();
  return run_halves(stream, call, formula);
}

// The arithmetic types of a row.
enum TypeClass { FLOAT, INT, NUM };

template <class F, int kClass>
int32_t pointwise(const dt_stream* stream, const calls::Pointwise& call) {
  static_assert(F::n_in <= kMaxElementwiseIn && F::n_out <= kMaxElementwiseOut);
  constexpr Category kLowest = kClass == FLOAT ? Category::FLOATING : Category::INTEGER;
  constexpr Category kHighest = kClass == INT ? Category::INTEGER : Category::FLOATING;
  if constexpr (kNarrow<F> != Narrow::kNone) {
    if (run_narrow(stream, call, narrow_formula<F>())) return DT_KERNEL_OK;
  }
  if constexpr (kTakesHalves<F>) {
    if (run_in_halves<F>(stream, call)) return DT_KERNEL_OK;
  }
  return visit_compute<kLowest, kHighest>(call.compute, [&](auto type) {
    return run_typed<F, typename decltype(type)::type>(stream, call);
  });
}

}  // namespace

// The kernels are many: several files compile a share each, so that builds run in parallel.
#define DT_POINTWISE_KERNEL(name, type_class)                           \
  namespace kernels {                                                   \
  int32_t name(const dt_stream* stream, const calls::Pointwise& call) { \
    return pointwise<fn::name, type_class>(stream, call);               \
  }                                                                     \
  }

}  // namespace dt::cpu
