// Views that cut a dimension into pieces.
#include <algorithm>

#include "core/ops/views.gen.h"
#include "core/ops/views/checks.h"

namespace dt {

std::vector<Tensor> split_with_sizes(const Tensor& input, IntList split_sizes, int64_t dim) {
  check_split_with_sizes(input, split_sizes, dim);
  std::vector<Tensor> parts;
  int64_t start = 0;
  for (int64_t size : split_sizes) {
    parts.push_back(slice(input, dim, start, start + size, 1));
    start += size;
  }
  return parts;
}

std::vector<Tensor> split(const Tensor& input, int64_t split_size, int64_t dim) {
  check_split(input, split_size, dim);
  const int64_t n = input.size(dim);
  std::vector<int64_t> sizes;
  for (int64_t start = 0; start < n; start += split_size)
    sizes.push_back(std::min(split_size, n - start));
  if (sizes.empty()) sizes.push_back(0);
  return split_with_sizes(input, sizes, dim);
}

std::vector<Tensor> chunk(const Tensor& input, int64_t chunks, int64_t dim) {
  check_chunk(input, chunks);
  const int64_t n = input.size(dim);
  if (n == 0)
    return split_with_sizes(input, std::vector<int64_t>(std::min<int64_t>(chunks, 1 << 20), 0),
                            dim);
  return split(input, n / chunks + (n % chunks != 0), dim);
}

std::vector<Tensor> unbind(const Tensor& input, int64_t dim) {
  std::vector<Tensor> parts;
  for (int64_t i = 0; i < input.size(dim); ++i) parts.push_back(select(input, dim, i));
  return parts;
}

std::vector<Tensor> split_sections(const Tensor& input, int64_t sections, int64_t dim) {
  check_tensor_split(input);
  check_sections(sections);
  const int64_t n = input.size(dim), least = n / sections, longer = n % sections;
  std::vector<int64_t> sizes(static_cast<size_t>(sections), least);
  std::fill_n(sizes.begin(), longer, least + 1);
  return split_with_sizes(input, sizes, dim);
}

std::vector<Tensor> split_at(const Tensor& input, IntList indices, int64_t dim) {
  check_tensor_split(input);
  std::vector<Tensor> parts;
  int64_t start = 0;
  for (int64_t end : indices) {
    parts.push_back(slice(input, dim, start, end, 1));
    start = end;
  }
  parts.push_back(slice(input, dim, start, input.size(dim), 1));
  return parts;
}

std::vector<Tensor> hsplit(const Tensor& input, int64_t sections) {
  const int d = input.ndim() == 1 ? 0 : 1;
  check_equal_split("hsplit", input, 1, d, sections);
  return split_sections(input, sections, d);
}

std::vector<Tensor> vsplit(const Tensor& input, int64_t sections) {
  check_equal_split("vsplit", input, 2, 0, sections);
  return split_sections(input, sections, 0);
}

std::vector<Tensor> dsplit(const Tensor& input, int64_t sections) {
  check_equal_split("dsplit", input, 3, 2, sections);
  return split_sections(input, sections, 2);
}

}  // namespace dt
