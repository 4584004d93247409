// What functions of neural networks refuse, in PyTorch's words and order.
#pragma once

#include <optional>
#include <string>

#include "core/ops/nn/window.h"
#include "core/tensor/tensor.h"

namespace dt {

// One number means both.
void check_int_pair(const char* name, IntList values);

void check_linear(const Tensor& input, const Tensor& weight, const Tensor& bias);

// ---- convolution: ranks first, then the rest of an image that has a batch

void check_conv_ranks(const Tensor& input, const Tensor& weight);
void check_conv(const Tensor& x, const Tensor& weight, const Tensor& bias, const Window& window,
                int64_t groups);
void check_conv_padding(const std::string& padding);
void check_same_padding(const IntPair& stride);

// ---- pooling

void check_pool_rank(const Tensor& input);
void check_pool_divisor(std::optional<int64_t> divisor);
void check_pool_window(const Window& window);
// Of an image that has a batch; `sizes` are those of the result.
void check_max_pool(const Tensor& x, const Dims& sizes);
void check_avg_pool(const Tensor& x, const Dims& sizes);

// ---- interpolation

void check_interpolate(const Tensor& input);
// How many numbers are given: none is nullopt, and one stands for all spatial dimensions.
void check_resize_counts(const Tensor& x, std::optional<int64_t> sizes,
                         std::optional<int64_t> factors);
void check_scaled_size(double size);
void check_resize(int64_t from, int64_t to, int dim);

// ---- normalisation

void check_layer_norm(const Tensor& x, const Dims& shape, const Tensor& weight, const Tensor& bias);
void check_batch_norm(const Tensor& x, const Tensor& running_mean, const Tensor& running_var,
                      const Tensor& weight, const Tensor& bias, bool training, double eps);

// ---- others

// `kernel` is PyTorch's name of the kernel that refuses.
void check_softmax(const Tensor& x, const char* kernel, int dim);
void check_dropout_probability(double p);
void check_dropout_dtype(const Tensor& x);
void check_embedding(const Tensor& input, const Tensor& weight, bool limits_norms, bool sparse);
void check_padding_idx(std::optional<int64_t> padding_idx, int64_t rows);

}  // namespace dt
