// Matrix products: packed for numbers, plain loops for bools.
#include "kernels/calls/linalg.gen.h"
#include "kernels/cpu/brain.h"
#include "kernels/cpu/gemm_integer.h"
#include "kernels/cpu/thin.h"

namespace dt::cpu {
namespace {

template <class T>
Matrices<T> matrices(const dt_view& view) {
  // The stride of a dimension of size 1 means nothing; 1 and 0 are the values that the fast paths
  // like.
  const auto stride = [&](int d, int64_t alone) {
    return view.sizes[d] == 1 ? alone : view.strides[d];
  };
  return {static_cast<T*>(view.data), stride(0, 0), stride(1, 0), stride(2, 1)};
}

template <class T>
Gemm<T> describe(const calls::Matmul& call) {
  const dt_view &y = call.y, &a = call.a, &b = call.b;
  Gemm<T> g = {};
  g.batch = y.sizes[0], g.m = y.sizes[1], g.n = y.sizes[2], g.k = a.sizes[2];
  g.alpha = static_cast<T>(call.alpha), g.beta = static_cast<T>(call.beta);
  g.y = matrices<T>(y);
  g.a = matrices<const T>(a);
  g.b = matrices<const T>(b);
  if (g.k == 1) g.b.row = 1;
  if (call.c && call.beta != 0) g.c = matrices<const T>(*call.c);
  return g;
}

template <class T>
Gemm<T> describe_float(const calls::Matmul& call) {
  Gemm<T> g = describe<T>(call);
  g.activation = call.activation;
  fold_batch(&g);
  return g;
}

template <class T>
bool is_empty(const Gemm<T>& g) {
  return g.batch == 0 || g.m == 0 || g.n == 0;
}

// A product of one term, of which each row is a multiple of b's: it is written as fast as it can be
// stored.
template <class T>
bool is_outer(const Gemm<T>& g) {
  const bool is_plain = g.alpha == 1 && g.c.data == nullptr && g.activation == DT_ACTIVATE_NONE;
  return is_plain && g.k == 1 && g.m > 1 && g.n > 1 && g.b.col == 1 && g.y.col == 1;
}

template <class T>
void run_outer(const dt_stream* stream, const Gemm<T>& g) {
  const int64_t group = max<int64_t>(1, kSerialWork / 4 / g.n), groups = ceil_div(g.m, group);
  parallel_for(stream, g.batch * groups, g.batch * g.m * g.n, [&](int64_t tile) {
    const int64_t batch = tile / groups, first = tile % groups * group;
    const T* const b = g.b.at(batch, 0, 0);
    for (int64_t i = first; i < min(g.m, first + group); ++i) {
      const T factor = *g.a.at(batch, i, 0);
      T* const y = g.y.at(batch, i, 0);
      for (int64_t j = 0; j < g.n; ++j) y[j] = factor * b[j];
    }
  });
}

template <class T>
int32_t multiply_float(const dt_stream* stream, const calls::Matmul& call) {
  const Gemm<T> g = describe_float<T>(call);
  if (is_empty(g)) return DT_KERNEL_OK;
  if (is_outer(g)) {
    run_outer(stream, g);
  } else if (is_thin(g)) {
    run_thin(stream, g, call.workspace);
  } else {
    run_gemm(stream, g, call.workspace);
  }
  return DT_KERNEL_OK;
}

template <class T>
int64_t float_workspace(const dt_stream* stream, const calls::Matmul& call) {
  const Gemm<T> g = describe_float<T>(call);
  if (is_empty(g)) return 0;
  return is_thin(g) ? thin_workspace(g) : gemm_workspace(stream, g);
}

// ---- narrow floats: core widens what is not multiplied as it is

#if defined(__F16C__)
bool is_all_of(const calls::Matmul& call, int32_t dtype) {
  return call.y.dtype == dtype && call.a.dtype == dtype && call.b.dtype == dtype &&
         (!call.c || call.c->dtype == dtype);
}

HalfGemm describe_half(const calls::Matmul& call) {
  return {describe_float<BFloat16>(call), static_cast<float>(call.alpha),
          static_cast<float>(call.beta)};
}

int32_t multiply_half(const dt_stream* stream, const calls::Matmul& call) {
  const int32_t dtype = call.y.dtype;
  const bool is_done = is_all_of(call, dtype) && run_thin_half(stream, describe_half(call), dtype);
  return is_done ? DT_KERNEL_OK : DT_KERNEL_UNSUPPORTED;
}
#else
int32_t multiply_half(const dt_stream*, const calls::Matmul&) {
  return DT_KERNEL_UNSUPPORTED;
}
#endif

#if defined(__AVX512F__)
bool is_brain(const dt_stream* stream, const calls::Matmul& call) {
  return (stream->flags & DT_FLAG_AVX512_BF16) != 0 && is_all_of(call, dtype_of<BFloat16>);
}

int32_t multiply_brain(const dt_stream* stream, const calls::Matmul& call) {
  const HalfGemm product = describe_half(call);
  if (!is_empty(product.g)) run_brain(stream, product, Workspace(call.workspace));
  return DT_KERNEL_OK;
}

int64_t brain_workspace(const dt_stream* stream, const calls::Matmul& call) {
  const HalfGemm product = describe_half(call);
  return is_empty(product.g) ? 0 : brain_workspace(stream, product);
}
#else
bool is_brain(const dt_stream*, const calls::Matmul&) {
  return false;
}
int32_t multiply_brain(const dt_stream*, const calls::Matmul&) {
  return DT_KERNEL_UNSUPPORTED;
}
int64_t brain_workspace(const dt_stream*, const calls::Matmul&) {
  return 0;
}
#endif

int32_t multiply_narrow(const dt_stream* stream, const calls::Matmul& call) {
  return is_brain(stream, call) ? multiply_brain(stream, call) : multiply_half(stream, call);
}

// Sums of bools are "or", products "and".
int32_t multiply_bool(const dt_stream* stream, const calls::Matmul& call) {
  const Gemm<uint8_t> g = describe<uint8_t>(call);
  parallel_for(stream, g.batch * g.m, g.batch * g.m * g.n * g.k, [&](int64_t tile) {
    const int64_t batch = tile / g.m, i = tile % g.m;
    uint8_t* y = g.y.at(batch, i, 0);
    for (int64_t j = 0; j < g.n; ++j) y[j] = 0;
    for (int64_t k = 0; k < g.k; ++k) {
      const uint8_t factor = *g.a.at(batch, i, k);
      const uint8_t* row = g.b.at(batch, k, 0);
      for (int64_t j = 0; j < g.n; ++j) y[j] |= factor & row[j * g.b.col];
    }
    for (int64_t j = 0; j < g.n; ++j) {
      const uint8_t c = g.c.data == nullptr ? 0 : *g.c.at(batch, i, j);
      y[j] = (call.alpha != 0 && y[j] != 0) || (call.beta != 0 && c != 0);
    }
  });
  return DT_KERNEL_OK;
}

}  // namespace

int32_t kernels::matmul(const dt_stream* stream, const calls::Matmul& call) {
  if (is_narrow_float(call.y.dtype)) return multiply_narrow(stream, call);
  return visit_value(call.y.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    if constexpr (kIsFloating<T>) {
      return multiply_float<T>(stream, call);
    } else if constexpr (kIsBool<T>) {
      return multiply_bool(stream, call);
    } else {
      run_integer_gemm(stream, describe<uint8_t>(call), sizeof(T), static_cast<int64_t>(call.alpha),
                       static_cast<int64_t>(call.beta));
      return DT_KERNEL_OK;
    }
  });
}

int64_t kernels::matmul_workspace(const dt_stream* stream, const calls::Matmul& call) {
  if (is_narrow_float(call.y.dtype))
    return is_brain(stream, call) ? brain_workspace(stream, call) : 0;
  int64_t bytes = 0;
  visit_floating(call.y.dtype, [&](auto type) {
    bytes = float_workspace<typename decltype(type)::type>(stream, call);
  });
  return bytes;
}

}  // namespace dt::cpu
