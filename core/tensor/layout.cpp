#include "core/tensor/layout.h"

#include <algorithm>
#include <optional>

namespace dt {
namespace {

constexpr int kMaxInputs = 8;  // more do not change the order

// Whether dimension b of the operands lies inside dimension a (walks memory faster). The first
// operand that can tell decides; broadcast dimensions cannot tell. 0 when none can.
int compare_dims(const Dims* strides, int operands, const Dims& sizes, int a, int b) {
  for (int k = 0; k < operands; ++k) {
    if (strides[k].size() == 0) continue;
    const int64_t sa = strides[k][a], sb = strides[k][b];
    if (sa == 0 || sb == 0) continue;
    if (sa != sb) return sa > sb ? 1 : -1;
    if (sizes[a] < sizes[b]) return -1;  // equal strides: the smaller dimension goes inside
  }
  return 0;
}

// The order that inputs of one shape lie in, if it is one that has a name, or if all have the same
// strides: also those of dimensions of size 1.
std::optional<Dims> common_strides(const Dims& sizes, TensorList inputs) {
  const Dims first = inputs[0].strides();
  bool row_major = true, channels_last = true, same = is_dense(sizes, first);
  for (const Tensor& t : inputs) {
    row_major &= t.is_contiguous();
    channels_last &= t.is_contiguous(MemoryFormat::kChannelsLast);
    same &= t.strides() == first;
  }
  if (row_major) return contiguous_strides(sizes);
  if (channels_last) return channels_last_strides(sizes);
  if (same) return first;
  return std::nullopt;
}

}  // namespace

void memory_order(const Dims* strides, int operands, const Dims& sizes, int* order) {
  const int n = sizes.size();
  for (int d = 0; d < n; ++d) order[d] = d;
  for (int i = n - 2; i >= 0; --i) {
    int at = i;
    for (int j = i + 1; j < n; ++j) {
      const int c = compare_dims(strides, operands, sizes, order[at], order[j]);
      if (c > 0) break;
      if (c == 0) continue;
      std::swap(order[at], order[j]);
      at = j;
    }
  }
}

bool same_walk(const Dims& sizes, const Dims& a, const Dims& b) {
  for (int d = 0; d < sizes.size(); ++d) {
    if (sizes[d] != 1 && a[d] != b[d]) return false;
  }
  return true;
}

Dims broadcast_strides(IntList sizes, IntList strides, IntList over) {
  Dims result(static_cast<int>(over.size()), 0);
  const int64_t lead = over.size() - sizes.size();
  for (int64_t d = 0; d < sizes.size(); ++d) {
    const int at = static_cast<int>(lead + d);
    if (sizes[d] == over[at]) result[at] = strides[d];
  }
  return result;
}

bool is_row_major(const Tensor& x) {
  uint64_t stride = 1;  // may overflow where there are no elements
  for (int d = x.ndim() - 1; d >= 0; --d) {
    if (uint64_t(x.strides()[d]) != stride) return false;
    stride *= std::max<int64_t>(x.sizes()[d], 1);
  }
  return true;
}

Dims elementwise_strides(const Dims& sizes, TensorList inputs) {
  const auto counts = [](const Tensor& t) { return t.defined() && t.ndim() > 0; };
  bool row_major = true, alike = true;
  for (const Tensor& t : inputs) {
    row_major &= !counts(t) || is_row_major(t);
    alike &= t.defined() && t.sizes() == sizes;
  }
  if (row_major) return contiguous_strides(sizes);
  if (alike) {
    if (const auto strides = common_strides(sizes, inputs)) return *strides;
  }
  Dims strides[kMaxInputs];
  int n = 0;
  for (const Tensor& t : inputs) {
    if (!counts(t) || n == kMaxInputs) continue;
    strides[n++] = broadcast_strides(t.sizes(), t.strides(), sizes);
  }
  int order[DT_MAX_DIMS];
  memory_order(strides, n, sizes, order);
  Dims result(sizes.size(), 1);
  int64_t stride = 1;
  for (int i = sizes.size() - 1; i >= 0; --i) {
    result[order[i]] = stride;
    stride *= std::max<int64_t>(sizes[order[i]], 1);
  }
  return result;
}

Dims dense_strides(const Tensor& x) {
  if (is_dense(x.sizes(), x.strides())) return x.strides();
  return elementwise_strides(x.sizes(), {x});
}

Overlap overlap_of(const Tensor& a, const Tensor& b) {
  if (a.storage().get() != b.storage().get() || a.numel() == 0 || b.numel() == 0)
    return Overlap::kNone;
  if (a.offset() == b.offset() && a.sizes() == b.sizes() &&
      same_walk(a.sizes(), a.strides(), b.strides()))
    return Overlap::kSame;
  if (!is_dense(a.sizes(), a.strides()) || !is_dense(b.sizes(), b.strides()))
    return Overlap::kUnknown;
  const bool apart = a.offset() + a.numel() <= b.offset() || b.offset() + b.numel() <= a.offset();
  return apart ? Overlap::kNone : Overlap::kSome;
}

}  // namespace dt
