// What pooling refuses, in PyTorch's words and order.
#pragma once

#include <optional>

#include "core/ops/conv/window.h"
#include "core/tensor/tensor.h"

namespace dt {

// Windows of lines, images or volumes: a number for each spatial dimension.
struct PoolSettings {
  Dims size, stride, padding, dilation;
  bool ceil_mode = false;

  int dims() const { return size.size(); }
};

// op is the function's name.
void check_one_number(const char* name, IntList values);
void check_lines(const char* torch_op, const Tensor& input);
// The numbers of a window.
void check_pool_numbers(const char* op, const char* name, IntList values, int dims);
void check_pool_rank(const char* op, int dims, const Tensor& input);
void check_pool_divisor(std::optional<int64_t> divisor);
void check_pool_window(const char* op, const PoolSettings& p);
// x is the input with a batch; `sizes` are those of the result.
void check_max_pool(const char* op, const Tensor& input, const Tensor& x, const Dims& sizes);
void check_avg_pool(const char* op, const Tensor& input, const Tensor& x, const PoolSettings& p,
                    const Dims& sizes);
// Whether lines, images or volumes become one number each: adaptive means are plain ones then.
bool is_mean_of_all(const Dims& output_size);
void check_adaptive_pool(const char* op, const char* kernel, int dims, bool is_max,
                         const Tensor& input, const Dims& output_size);
void check_unpool(int dims, const Tensor& input, const Tensor& indices);
// `sizes` are the spatial ones that were asked for, `usual` those that they must be near to.
void check_unpooled_count(int dims, int64_t given);
void check_unpooled_sizes(const Dims& sizes, const Dims& usual, const Dims& stride);
void check_unpooled_indices(const Tensor& indices, const Dims& spatial);

// ---- fractional pooling

void check_fractional_choice(const char* op, bool is_given);
void check_ratio_count(const char* op, int64_t count, int dims);
void check_fractional_rank(const char* op, int dims, const Tensor& input);
// x is [batch, channels, ...].
void check_fractional_pool(const char* op, const Tensor& x, const Dims& kernel, const Dims& output,
                           const Tensor& samples);

}  // namespace dt
