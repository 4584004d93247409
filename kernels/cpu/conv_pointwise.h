// Convolutions with a kernel of one element are matrix products: the images already are the
// matrices.
#pragma once

#include "kernels/cpu/conv_correlate.h"
#include "kernels/cpu/conv_pointwise_weight.h"
#include "kernels/cpu/gemm.h"

namespace dt::cpu {
namespace {

inline bool is_identity(const ConvAxis& axis) {
  return axis.taps == 1 && axis.in_step == 1 && axis.out_step == 1 && axis.shift_first == 0 &&
         axis.in_size == axis.out_count;
}

// Whether the pixels of an image lie evenly apart.
template <class T>
bool even_pixels(const Images<T>& x) {
  return x.h == 1 || x.h_step == x.w * x.w_step;
}

template <class T>
bool is_pointwise(const Correlation<T>& k) {
  return k.groups == 1 && is_identity(k.rows) && is_identity(k.cols) && k.in_channels > 0 &&
         even_pixels(k.x) && even_pixels(k.y) && (k.y.c_step == 1 || k.y.w_step == 1);
}

// y[n, pixel, o] = x[n, pixel, c] @ weights[c, o] if channels are last, else y[n, o, pixel] =
// weights[o, c] @ x[n, c, pixel].
template <class T>
Gemm<T> pointwise_gemm(const Correlation<T>& k) {
  const KernelWeights<T>& w = k.weights;
  const T* weights = w.data + k.rows.tap_first * w.row_step + k.cols.tap_first * w.col_step;
  const int64_t pixels = k.y.h * k.y.w;
  Gemm<T> g = {};
  g.batch = k.y.n, g.k = k.in_channels;
  g.alpha = 1, g.beta = 1;
  if (k.y.c_step == 1) {
    g.m = pixels, g.n = k.out_channels;
    g.a = {k.x.data, k.x.n_step, k.x.w_step, k.x.c_step};
    g.b = {weights, 0, w.in_step, w.out_step};
    g.y = {k.y.data, k.y.n_step, k.y.w_step, 1};
    g.c = {k.bias, 0, 0, k.bias_step};
  } else {
    g.m = k.out_channels, g.n = pixels;
    g.a = {weights, 0, w.out_step, w.in_step};
    g.b = {k.x.data, k.x.n_step, k.x.c_step, k.x.w_step};
    g.y = {k.y.data, k.y.n_step, k.y.c_step, 1};
    g.c = {k.bias, 0, k.bias_step, 0};
  }
  fold_batch(&g);
  return g;
}

// The gradient of so many weights is worth a product's packing; fewer ones leave too little to cut
// into parts.
constexpr int64_t kManyWeights = 16384;

template <class T>
bool is_one_element(const WeightGradient<T>& k) {
  return k.groups == 1 && is_identity(k.rows) && is_identity(k.cols) && even_pixels(k.x) &&
         even_pixels(k.g) && k.gb == nullptr;
}

// With channels last, a product reads both sides where they are.
constexpr int64_t kManyWeightsInPlace = 32768;

template <class T>
bool is_pointwise_in_place(const WeightGradient<T>& k) {
  return is_one_element(k) && PointwiseWeight<T>::serves(k) &&
         k.in_channels * k.out_channels < kManyWeightsInPlace;
}

template <class T>
bool is_pointwise(const WeightGradient<T>& k) {
  return is_one_element(k) && !is_pointwise_in_place(k) && k.gw.c_step == 1 &&
         k.in_channels * k.out_channels >= kManyWeights;
}

// gw[o, c] = the sum over images n of g[n, o, pixel] @ x[n, c, pixel] transposed.
template <class T>
Gemm<T> pointwise_gemm(const WeightGradient<T>& k) {
  Gemm<T> g = {};
  g.piece = k.g.h * k.g.w;
  g.batch = 1, g.m = k.out_channels, g.n = k.in_channels, g.k = k.g.n * g.piece;
  g.alpha = 1, g.beta = 1;
  g.a = {k.g.data, 0, k.g.c_step, k.g.w_step};
  g.b = {k.x.data, 0, k.x.w_step, k.x.c_step};
  g.y = {k.gw.data, 0, k.gw.n_step, 1};
  g.a_piece = k.g.n_step, g.b_piece = k.x.n_step;
  return g;
}

}  // namespace
}  // namespace dt::cpu
