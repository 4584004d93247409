// Views that cut a dimension into pieces. All of them are made by one node, which joins their
// gradients: each by itself would have a gradient of the whole tensor's size.
#include <algorithm>
#include <optional>

#include "core/autograd/gradients.h"
#include "core/autograd/grad_slot.h"
#include "core/autograd/record.h"
#include "core/ops/views.gen.h"
#include "core/ops/views/checks.h"

namespace dt {
namespace {

// Cuts of a tensor of `sizes` along `dim`. Where `selects`, each has index 0 of a part of length 1.
struct Cut {
  Dims sizes, strides;  // of the tensor, and what a copy of its gradient should have
  int dim;
  bool selects;
  std::vector<int64_t> starts;

  // Part i of `whole`.
  Tensor part(const Tensor& whole, size_t i) const {
    if (selects) return select(whole, dim, starts[i]);
    const int64_t end = i + 1 < starts.size() ? starts[i + 1] : sizes[dim];
    return slice(whole, dim, starts[i], end, 1);
  }

  // The tensor that the parts are in memory already, each in its place, if nobody else sees that:
  // who gets a gradient may write it.
  std::optional<Tensor> whole_of(const Tensor* parts) const {
    const size_t n = starts.size();
    if (n < 2 || starts[1] == 0) return std::nullopt;
    const Tensor& first = parts[0];
    for (size_t i = 0; i < n; ++i) {
      if (!parts[i].defined() || !(parts[i].storage() == first.storage())) return std::nullopt;
    }
    const int64_t distance = parts[1].offset() - first.offset();
    Dims steps = first.strides();
    if (selects) steps.insert(dim, distance);
    steps[dim] = distance / starts[1];
    if (!is_dense(sizes, steps) || !are_sole_owners(parts, n)) return std::nullopt;
    const Tensor whole = make_alias(first, sizes, steps, first.offset());
    for (size_t i = 0; i < n; ++i) {
      const Tensor place = part(whole, i);
      if (parts[i].offset() != place.offset() || parts[i].strides() != place.strides())
        return std::nullopt;
    }
    return whole;
  }

  // The gradient of the tensor by those of the parts; what has none is zero.
  Tensor joined(const BackwardCall& b) const {
    const OutputInfo& like = b.node->outputs[0];
    if (b.is_seed) b.grad();  // which nothing has made before
    if (b.create_graph) return cat(in_a_row(b), dim);
    if (const auto whole = whole_of(b.grads)) return *whole;
    const Tensor whole = make_empty_strided(sizes, strides, like.dtype, like.device);
    for (size_t i = 0; i < starts.size(); ++i) fill_place(part(whole, i), b.grads[i]);
    return whole;
  }

 private:
  std::vector<Tensor> in_a_row(const BackwardCall& b) const {
    std::vector<Tensor> parts;
    for (size_t i = 0; i < starts.size(); ++i) {
      const Tensor g =
          b.grads[i].defined() ? b.grads[i] : make_zeros(b.node->outputs[static_cast<int>(i)]);
      parts.push_back(selects ? unsqueeze(g, dim) : g);
    }
    return parts;
  }
};

// Saves no tensor, so any number of backwards may come by.
class PartsNode final : public Node {
 public:
  PartsNode(const char* name, Cut cut) : Node(name), cut_(std::move(cut)) {}
  void backward(BackwardCall& b) override { b.results[0] = cut_.joined(b); }
  void release_saved() override {}

 private:
  const Cut cut_;
};

std::vector<Tensor> take_parts(const char* node_name, const Tensor& x, Cut cut) {
  std::vector<Tensor> parts;
  for (size_t i = 0; i < cut.starts.size(); ++i) parts.push_back(cut.part(x, i));
  if (!parts.empty() && needs_graph(x)) {
    cut.strides = grad_strides(x);
    attach(Ref<Node>::adopt(new PartsNode(node_name, std::move(cut))), parts, {x});
  }
  return parts;
}

std::vector<Tensor> take_slices(const char* node_name, const Tensor& x, IntList lengths,
                                int64_t dim) {
  Cut cut = {x.sizes(), {}, wrap_dim(dim, x.ndim()), false, {}};
  int64_t start = 0;
  for (int64_t length : lengths) {
    cut.starts.push_back(start);
    start += length;
  }
  return take_parts(node_name, x, std::move(cut));
}

std::vector<int64_t> equal_lengths(int64_t n, int64_t length) {
  std::vector<int64_t> lengths;
  for (int64_t start = 0; start < n; start += length)
    lengths.push_back(std::min(length, n - start));
  if (lengths.empty()) lengths.push_back(0);
  return lengths;
}

}  // namespace

std::vector<Tensor> split_with_sizes(const Tensor& input, IntList split_sizes, int64_t dim) {
  check_split_with_sizes(input, split_sizes, dim);
  return take_slices("SplitWithSizesBackward0", input, split_sizes, dim);
}

std::vector<Tensor> split(const Tensor& input, int64_t split_size, int64_t dim) {
  check_split(input, split_size, dim);
  return take_slices("SplitBackward0", input, equal_lengths(input.size(dim), split_size), dim);
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
  Cut cut = {input.sizes(), {}, wrap_dim(dim, input.ndim()), true, {}};
  const int64_t parts = input.size(dim);
  cut.starts.reserve(static_cast<size_t>(parts));  // more than there can be fails at once
  for (int64_t i = 0; i < parts; ++i) cut.starts.push_back(i);
  return take_parts("UnbindBackward0", input, std::move(cut));
}

std::vector<Tensor> split_sections(const Tensor& input, int64_t sections, int64_t dim) {
  check_tensor_split(input);
  check_sections(sections);
  const int64_t n = input.size(dim), least = n / sections, longer = n % sections;
  std::vector<int64_t> ends;
  ends.reserve(static_cast<size_t>(sections - 1));  // more than there can be fails at once
  for (int64_t i = 1; i < sections; ++i) ends.push_back(i * least + std::min(i, longer));
  return split_at(input, ends, dim);
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
