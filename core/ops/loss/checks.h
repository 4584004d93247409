// What losses refuse, in PyTorch's words and order.
#pragma once

#include "core/tensor/tensor.h"

namespace dt {

// ---- losses of single elements

void check_weight_sizes(const Tensor& weight, const Tensor& input);
void check_mse_dtype(DType common);
void check_binary_cross_entropy(const Tensor& input, const Tensor& target);
void check_binary_cross_entropy_with_logits(const Tensor& input, const Tensor& target,
                                            const Tensor& pos_weight);

// ---- losses of classes: input is [N, C, d1, ...]

void check_class_dim(const Tensor& input);
// Class targets are [N, d1, ...].
void check_target_sizes(const Tensor& input, const Tensor& target);
void check_class_targets(const Tensor& target);
void check_has_classes(const Tensor& input);
void check_probability_targets(int64_t ignore_index);
// Of the losses of class targets. Those of probabilities are plain ops, which promote the weight
// and have a gradient of it.
void check_class_weight(const Tensor& input, const Tensor& weight);
void check_nll_loss(const Tensor& input, const Tensor& weight);
void check_cross_entropy(const Tensor& input, const Tensor& target, const Tensor& weight,
                         double label_smoothing);

}  // namespace dt
