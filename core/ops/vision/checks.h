// What resizing images refuses, in PyTorch's words and order.
#pragma once

#include <optional>
#include <string>

#include "core/base/enums.h"
#include "core/tensor/tensor.h"

namespace dt {

void check_alignment(Interpolation mode, std::optional<bool> align_corners);
void check_recomputes(bool recomputes, bool has_size);
void check_antialias(const Tensor& x, Interpolation mode, bool antialias, bool align_corners);
void check_interpolation_dims(const Tensor& x, Interpolation mode);
void check_interpolate(const Tensor& x, Interpolation mode, bool antialias);
// Tables of taps have 32-bit indices.
void check_resampled(const Tensor& planes);
// How many numbers are given: none is nullopt, and one stands for all spatial dimensions.
void check_resize_counts(const Tensor& x, std::optional<int64_t> sizes,
                         std::optional<int64_t> factors);
void check_scaled_size(double size);
void check_resize(int64_t from, int64_t to, int dim);

// ---- sampling at places of a grid

void check_sampling_words(const std::string& mode, const std::string& padding_mode);
void check_grid_sample(const Tensor& input, const Tensor& grid, bool is_cubic);
void check_affine_grid(const Tensor& theta, IntList size, bool align_corners);

}  // namespace dt
