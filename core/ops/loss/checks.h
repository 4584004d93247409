// What losses refuse, in PyTorch's words and order.
#pragma once

#include "core/tensor/tensor.h"

namespace dt {

// ---- losses of single elements

void check_weight_sizes(const Tensor& weight, const Tensor& input);
// `kernel` is PyTorch's name of what refuses integers.
void check_loss_dtype(DType common, const char* kernel);
void check_binary_cross_entropy(const Tensor& input, const Tensor& target);
void check_binary_cross_entropy_with_logits(const Tensor& input, const Tensor& target,
                                            const Tensor& pos_weight);

// ---- losses of distributions and of margins

void check_kl_div(const Tensor& input, const Tensor& target);
// `var` is what was given, as a tensor.
void check_variance(const Operand& given, const Tensor& var, const Tensor& input);
void check_margin_ranking(const Tensor& input1, const Tensor& input2, const Tensor& target);
void check_cosine_embedding(const Tensor& input1, const Tensor& input2, const Tensor& target);
void check_triplet_margin(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                          double margin);
// Of sizes [batch, classes] and [batch], or [classes] and of one element.
void check_multi_margin(const Tensor& input, const Tensor& target, int64_t p, const Tensor& weight);
// Both of one size, [batch, classes] or [classes].
void check_multilabel_margin(const Tensor& input, const Tensor& target);

// ---- sequences

// log_probs is [time, batch, classes]. Lengths are looked at where they lie on the CPU.
void check_ctc_loss(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                    const Tensor& target_lengths, int64_t blank);

// ---- losses of classes: input is [N, C, d1, ...]

void check_class_dim(const Tensor& input);
void check_single_target(const Tensor& target);  // of one row
// Class targets are [N, d1, ...].
void check_target_sizes(const Tensor& input, const Tensor& target);
void check_class_targets(const Tensor& target);
void check_probability_targets(int64_t ignore_index);
// Of the losses of class targets. Those of probabilities are plain ops, which promote the weight
// and have a gradient of it.
void check_class_weight(const Tensor& input, const Tensor& weight, DType dtype);
void check_nll_loss(const Tensor& input, const Tensor& weight);
void check_cross_entropy(const Tensor& input, const Tensor& target, const Tensor& weight,
                         double label_smoothing);
void check_linear_cross_entropy(const Tensor& input, const Tensor& linear_weight,
                                const Tensor& target, const Tensor& linear_bias, bool ignores);

}  // namespace dt
