// What convolutions refuse, in PyTorch's words and order.
#pragma once

#include <string>

#include "core/tensor/tensor.h"

namespace dt {

// What a convolution is told besides its tensors: a number for each spatial dimension.
struct ConvSettings {
  Dims stride, padding, dilation;
  int64_t groups;

  int dims() const { return stride.size(); }
  // From the first to behind the last element of a window of `size` elements.
  int64_t extent(int d, int64_t size) const { return dilation[d] * (size - 1) + 1; }
  // What the transpose makes of `size` elements.
  int64_t transposed_size(int d, int64_t size, int64_t window, int64_t output_padding) const {
    return (size - 1) * stride[d] - 2 * padding[d] + extent(d, window) + output_padding;
  }
};

// n numbers, or one that stands for all; none so large that a sum or product of two overflows.
void check_window_numbers(const char* name, IntList values, int n);
void check_pair(const char* name, IntList values);
void check_conv_ranks(const char* op, int dims, const Tensor& input, const Tensor& weight);
// Of an input that has a batch.
void check_conv(const Tensor& x, const Tensor& weight, const Tensor& bias, const ConvSettings& c);
void check_conv_transpose(const Tensor& x, const Tensor& weight, const Tensor& bias,
                          const ConvSettings& c, const Dims& output_padding);
void check_conv_padding(const std::string& padding);
void check_same_padding(const Dims& stride);

}  // namespace dt
