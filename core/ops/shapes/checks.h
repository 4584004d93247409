// What ops that lay elements out anew refuse, in PyTorch's words and order.
#pragma once

#include "core/base/enums.h"
#include "core/ops/conv/window.h"
#include "core/tensor/tensor.h"

namespace dt {

// ---- pad

void check_pad(const Tensor& input, IntList pad, PaddingMode mode,
               const std::optional<Scalar>& value);
// The size of dimension d that padding gives; both may be negative.
void check_padded_size(const Tensor& input, int d, int64_t before, int64_t after);
// Whether a mode other than constant finds what it needs in dimension d.
void check_pad_reach(const Tensor& input, int d, int64_t before, int64_t after, PaddingMode mode);
// One of the last `count` dimensions, which are padded, must keep elements; PyTorch asks no more.
void check_padded_dims(const Tensor& input, const Dims& padded, int64_t count);

// ---- arrangements

void check_roll(const Tensor& input, IntList shifts, IntList dims);
void check_rot90(const Tensor& input, IntList dims);
void check_flip_along(const Tensor& input, int dim);
void check_repeats(const Tensor& repeats, int64_t size, int dim);
// How often one slice is repeated.
void check_repeat_count(int64_t count);
void check_repeated_size(int64_t size, std::optional<int64_t> wanted);

// ---- diagonals and grids

void check_diag(const Tensor& input);
void check_block(const Tensor& block, int64_t number);
void check_stack_list(const char* name, TensorList tensors);
void check_unravel_index(const Tensor& indices, IntList shape);
void check_vector(const Tensor& x);
void check_combinations(const Tensor& input, int64_t r);
void check_triangle_indices(const char* name, int64_t rows, int64_t columns, DType dtype);

// ---- copies with a part written

void check_place(const Tensor& place, const Tensor& src);

// ---- windows

// Of im2col and col2im; `windows` are how many fit into the image.
void check_window(const Window& w);
void check_im2col(const Tensor& input);
void check_im2col_count(const Tensor& input, const Window& w, IntPair windows);
void check_col2im(const Tensor& input, const Window& w, IntPair output, IntPair windows);

void check_pixel_shuffle(const Tensor& input, int64_t factor);
void check_pixel_unshuffle(const Tensor& input, int64_t factor);
void check_channel_shuffle(const Tensor& input, int64_t groups);

}  // namespace dt
