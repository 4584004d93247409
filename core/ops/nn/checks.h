// What functions of neural networks refuse, in PyTorch's words and order.
#pragma once

#include <optional>
#include <string>

#include "core/tensor/tensor.h"

namespace dt {

void check_linear(const Tensor& input, const Tensor& weight, const Tensor& bias);

// ---- normalisation

void check_layer_norm(const Tensor& x, const Dims& shape, const Tensor& weight, const Tensor& bias);
void check_rms_norm(const Tensor& x, const Dims& shape, const Tensor& weight);
void check_group_norm(const Tensor& x, int64_t groups, const Tensor& weight, const Tensor& bias);
void check_instance_norm(const Tensor& x, const Tensor& running_mean, const Tensor& running_var,
                         const Tensor& weight, const Tensor& bias, bool use_input_stats);
void check_local_response_norm(const Tensor& x, int64_t size);
void check_relu_limit(double limit);
void check_batch_norm_eps(bool training, double eps);
void check_batch_norm(const Tensor& x, const Tensor& running_mean, const Tensor& running_var,
                      const Tensor& weight, const Tensor& bias, bool training);

// ---- others

// `kernel` is PyTorch's name of the kernel that refuses.
void check_softmax(const Tensor& x, const char* kernel, int dim);
void check_dropout_probability(double p);
void check_feature_dropout(int dims);
void check_dropout1d(const Tensor& x);
void check_rrelu(double lower, double upper);
void check_embedding(const Tensor& input, const Tensor& weight, bool limits_norms, bool sparse);
// What Python's function looks at: sizes.
void check_embedding_bag(const Tensor& input, const Tensor& weight, const Tensor& offsets,
                         const Tensor& per_sample_weights);
void check_bag_mode(const std::string& mode, bool scale_grad_by_freq, bool sparse,
                    bool has_sample_weights);
// The rest; offsets are looked at where they lie on the CPU.
void check_bags(const Tensor& input, const Tensor& weight, const Tensor& offsets,
                const Tensor& per_sample_weights, bool include_last_offset,
                std::optional<int64_t> padding_idx);
void check_padding_idx(std::optional<int64_t> padding_idx, int64_t rows);

}  // namespace dt
