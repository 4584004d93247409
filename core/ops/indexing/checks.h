// What indexing refuses, in PyTorch's words and order.
#pragma once

#include <vector>

#include "core/tensor/tensor.h"

namespace dt {

// ---- index and index_put

void check_index_dtype(const Tensor& index);
// How many dimensions of the base are indexed, which has `ndim`; `given_ndim` is the input's.
void check_index_count(int count, int ndim, int given_ndim);
void check_indices_broadcast(const std::vector<Tensor>& index);
// A mask that stands at dimension `dim` of what it indexes.
void check_mask_shape(const Tensor& mask, const Tensor& base, int dim);
void check_index_values(const Tensor& self, const Tensor& values, const Dims& sizes);
[[noreturn]] void refuse_index(int64_t index, int dim, int64_t size);

// ---- slices

void check_index_select(const Tensor& input, int dim, const Tensor& index);
void check_index_add(const Tensor& self, int dim, const Tensor& index, const Tensor& source);

void check_index_fill(const Tensor& self, const Tensor& index, const Operand& value);
void check_index_copy(const Tensor& self, int dim, const Tensor& index, const Tensor& source);

// ---- elements

void check_gather_options(bool sparse_grad);
void check_gather(const Tensor& input, int dim, const Tensor& index);
void check_scatter_dtypes(const char* name, const Tensor& self, const Tensor* src,
                          const Tensor& index);
void check_scatter(const Tensor& self, int dim, const Tensor& index, const Operand& src);
// Of what is written in place.
void check_scatter_apart(const Tensor& self, const Tensor& index, const Operand& src);
void check_scatter_reduce(const std::string& reduce);
void check_has_mean(const Tensor& self, const std::string& reduce);
void check_index_reduce(const Tensor& self, int dim, const Tensor& index, const Tensor& source,
                        const std::string& reduce, bool include_self);
// `given` is the lengths, or the offsets.
void check_segments(const Tensor& data, const std::string& reduce, int axis, const Tensor& given,
                    bool by_offsets, const Tensor& indices, bool unsafe);
// `num_classes`, or what the largest class says if it is -1.
int64_t checked_classes(const Tensor& input, int64_t num_classes);

// ---- others

void check_masked_select(const Tensor& mask);
void check_masked_scatter(const Tensor& self, const Tensor& mask, const Tensor& source);
void check_masked_count(const Tensor& source, int64_t count);
void check_take(const Tensor& input, const Tensor& index);
void check_take_along_dim(const Tensor& input, const Tensor& indices, bool has_dim);
void check_put(const Tensor& self, const Tensor& index, const Tensor& source);
void check_nonzero_static(int64_t size);
void check_triangle(const char* name, const Tensor& input);

}  // namespace dt
