// All gradients of a small linear layer at once: three calls would take longer than the arithmetic.
#include "kernels/activation.gen.h"
#include "kernels/calls/nn.gen.h"
#include "kernels/cpu/common.h"
#include "kernels/cpu/rows.h"

namespace dt::cpu {
namespace {

constexpr int64_t kMostProducts = 4096;  // larger layers are worth packing

template <class T>
struct OptionalRows {
  T* data;  // null: absent
  int64_t stride;

  explicit OptionalRows(const dt_view* v)
      : data(optional_data<T>(v)), stride(v ? v->strides[0] : 0) {}
  T* row(int64_t i) const { return data + i * stride; }
};

template <class T>
void clear(const OptionalRows<T>& to, int64_t rows, int64_t n) {
  for (int64_t i = 0; i < rows && to.data; ++i) {
    for (int64_t j = 0; j < n; ++j) to.row(i)[j] = 0;
  }
}

// y += factor * x
template <class T>
void add_scaled(T* y, T factor, const T* x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] += factor * x[i];
}

template <class T>
T element(const dt_view& x, int64_t i, int64_t j) {
  return data<const T>(x)[i * x.strides[0] + j * x.strides[1]];
}

// The gradient of the activation's argument: h in the schema.
template <class T>
T slope_at(const calls::LinearBackward& call, int64_t i, int64_t o) {
  const T g = element<T>(call.g, i, o);
  if (call.activation == DT_ACTIVATE_NONE) return g;
  return activation_gradient(call.activation, g, element<T>(*call.y, i, o));
}

// Element (i, o) of h adds to row i of gx and to row o of gw.
template <class T>
void add_gradients(const calls::LinearBackward& call, int64_t inputs) {
  const dt_view& g = call.g;
  const OptionalRows<const T> x(call.x), w(call.weight);
  const OptionalRows<T> gx(call.gx), gw(call.gweight);
  T* gb = optional_data<T>(call.gbias);
  const int64_t rows = g.sizes[0], outputs = g.sizes[1];
  clear(gx, rows, inputs);
  clear(gw, outputs, inputs);
  for (int64_t o = 0; o < outputs && gb; ++o) gb[o] = 0;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t o = 0; o < outputs; ++o) {
      const T slope = slope_at<T>(call, i, o);
      if (gx.data) add_scaled(gx.row(i), slope, w.row(o), inputs);
      if (gw.data) add_scaled(gw.row(o), slope, x.row(i), inputs);
      if (gb) gb[o] += slope;
    }
  }
}

// A matrix that is absent, or whose rows are dense.
bool has_dense_rows(const dt_view* v) {
  return !v || v->sizes[1] <= 1 || v->strides[1] == 1;
}

}  // namespace

int32_t kernels::linear_backward(const dt_stream*, const calls::LinearBackward& call) {
  return visit_floating(call.g.dtype, [&](auto type) -> int32_t {
    const dt_view& g = call.g;
    const int64_t inputs = call.x ? call.x->sizes[1] : call.weight ? call.weight->sizes[1] : 1;
    const double products = static_cast<double>(g.sizes[0]) * g.sizes[1] * max<int64_t>(1, inputs);
    if (products > kMostProducts || !has_dense_rows(call.x) || !has_dense_rows(call.weight))
      return DT_KERNEL_UNSUPPORTED;
    add_gradients<typename decltype(type)::type>(call, inputs);
    return DT_KERNEL_OK;
  });
}

}  // namespace dt::cpu
