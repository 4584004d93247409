// What views and joins refuse, in PyTorch's words and order.
#pragma once

#include "core/tensor/tensor.h"

namespace dt {

// A shape that stands for so many elements, at most one dimension of which is -1.
void check_shape(IntList shape, int64_t numel);
void check_view(bool is_possible);
void check_flatten(int first, int last);
void check_unflatten(const Tensor& input, int64_t dim, IntList sizes);
void check_permute(IntList dims, int ndim);
void check_movedim(IntList source, IntList destination, int ndim);
void check_t(const Tensor& input);
void check_expand(const Tensor& input, IntList size);
void check_select(const Tensor& input, int64_t dim, int64_t index);
void check_slice(const Tensor& input, int64_t step);
void check_narrow(const Tensor& input, int64_t dim, int64_t start, int64_t length);
void check_as_strided(const Tensor& input, IntList size, IntList stride, int64_t start);
void check_diagonal_dims(bool same, int64_t dim1, int64_t dim2);
void check_unfold(const Tensor& input, int dim, int64_t size, int64_t step);
void check_resize(const Tensor& self, IntList size);
// Of memory that has to grow: it must be the library's own.
void check_resizable(const Tensor& self);
void check_view_dtype(const Tensor& input, DType dtype);
void check_split_with_sizes(const Tensor& input, IntList split_sizes, int64_t dim);
void check_split(const Tensor& input, int64_t split_size, int64_t dim);
void check_chunk(const Tensor& input, int64_t chunks);
void check_tensor_split(const Tensor& input);
void check_sections(int64_t sections);
// Of hsplit and its kin: the dimension is split into equal pieces.
void check_equal_split(const char* name, const Tensor& input, int least_dims, int dim,
                       int64_t sections);
void check_meshgrid(TensorList tensors, const std::string& indexing);
void check_sum_to_size(const Tensor& input, IntList size);

// PyTorch lets a 1-d tensor without elements join anything.
bool joins_anything(const Tensor& x);
void check_cat(TensorList tensors);
// Tensors that join `model` in dimension `dim`.
void check_cat_sizes(TensorList tensors, const Tensor& model, int dim);
void check_stack(TensorList tensors, int64_t dim);
void check_repeat(const Tensor& input, IntList repeats);
void check_flip(IntList dims, int ndim);

}  // namespace dt
