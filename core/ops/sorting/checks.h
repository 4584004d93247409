// What sorting and searching refuse, in PyTorch's words and order.
#pragma once

#include <optional>
#include <string>

#include "core/tensor/tensor.h"

namespace dt {

void check_topk(const Tensor& input, int64_t k, int dim);
// Of an empty row there is no element.
void check_row(const Tensor& input, int dim, const char* function);
void check_kthvalue(const Tensor& input, int64_t k, int dim);
void check_median(const Tensor& input, const char* kernel);

void check_quantile_input(const Tensor& input);
void check_quantile_number(double q);
void check_quantile_tensor(const Tensor& input, const Tensor& q);
void check_interpolation(const std::string& interpolation);

// Whether elements go behind those that they equal.
bool checked_side(bool right, const std::optional<std::string>& side);
void check_boundaries(const Tensor& boundaries);
void check_searched(const Tensor& sorted, const Tensor& values);
void check_sorter(const Tensor& sorted, const Tensor& sorter);
void check_isin(const Operand& elements, const Operand& test_elements);

// Of slices along a dimension, if that is given.
void check_unique(const Tensor& input, std::optional<int64_t> dim);

void check_bincount(const Tensor& input, const Tensor& weights, int64_t minlength);
void check_counted(int64_t lowest, int64_t highest);
void check_histc(const Tensor& input);
// PyTorch finds the range itself in float32 and float64 alone.
void check_histogram(const Tensor& input, bool looks_for_range);
void check_bins(int64_t bins);
void check_edges(const Tensor& input, const Tensor& edges);
void check_range(Span<const double> range);
void check_weight(const Tensor& input, const Tensor& weight);

}  // namespace dt
