// Padding: by a number, or by elements of the input itself.
#include <algorithm>
#include <cmath>

#include "core/autograd/record.h"
#include "core/ops/autocast/autocast.h"
#include "core/ops/checks.h"
#include "core/ops/creation.gen.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/shapes.gen.h"
#include "core/ops/shapes/checks.h"
#include "core/ops/views.gen.h"
#include "core/ops/vision/remap.h"

namespace dt {
namespace {

// What goes before and behind each dimension; negative numbers take away.
struct Margins {
  Dims before, after;

  // From pairs that begin with the last dimension.
  Margins(int ndim, IntList pad) : before(ndim, 0), after(ndim, 0) {
    for (int i = 0; 2 * i < pad.size(); ++i) {
      before[ndim - 1 - i] = pad[2 * i];
      after[ndim - 1 - i] = pad[2 * i + 1];
    }
  }

  template <class F>
  Margins mapped(F f) const {
    Margins m = *this;
    for (int d = 0; d < before.size(); ++d) {
      m.before[d] = f(before[d]);
      m.after[d] = f(after[d]);
    }
    return m;
  }
  Margins negated() const {
    return mapped([](int64_t n) { return -n; });
  }
  Margins added() const {
    return mapped([](int64_t n) { return std::max<int64_t>(n, 0); });
  }
  Margins taken() const {
    return mapped([](int64_t n) { return std::max<int64_t>(-n, 0); });
  }
  bool none() const {
    const Dims zeros(before.size(), 0);
    return before == zeros && after == zeros;
  }

  Dims padded(const Dims& sizes) const {
    Dims out = sizes;
    for (int d = 0; d < out.size(); ++d) out[d] += before[d] + after[d];
    return out;
  }
};

// x without margins, which are not negative: a view.
Tensor inside(Tensor x, const Margins& m) {
  for (int d = 0; d < x.ndim(); ++d) {
    if (m.before[d] != 0 || m.after[d] != 0)
      x = slice(x, d, m.before[d], x.sizes()[d] - m.after[d], 1);
  }
  return x;
}

Remapping remapping(const Tensor& x, const Margins& m) {
  Remapping r = {};
  r.from = x.sizes();
  r.to = m.padded(x.sizes());
  for (int k = 0; k < Remapping::kDims; ++k) {
    const int d = x.ndim() - Remapping::kDims + k;
    if (d >= 0) r.before[k] = m.before[d];
  }
  return r;
}

// Whether zeros around x are remap's.
bool has_kernel(const Tensor& x, const Margins& m) {
  bool has = x.ndim() <= Remapping::kMostDims;
  for (int d = 0; d < x.ndim() - Remapping::kDims; ++d) has &= m.before[d] == 0 && m.after[d] == 0;
  return has;
}

// x with a number around it.
Tensor surrounded(const Tensor& x, const Margins& m, const Scalar& value, bool channels_last) {
  const double number = value.to_double();
  if (number == 0 && !std::signbit(number) && has_kernel(x, m)) {
    Remapping r = remapping(x, m);
    r.mode = RemapMode::kZeros;
    r.channels_last = channels_last;
    return remap(x, r);
  }
  const Tensor y = empty_image(m.padded(x.sizes()), x, channels_last);
  fill_(y, value);
  copy_elements(inside(y, m), x);
  return y;
}

Tensor pad_number(const Tensor& x, const Margins& m, const Scalar& value) {
  Tensor y;
  {
    const GradMode no_grad(false);
    const Tensor kept = inside(x, m.taken());
    y = m.added().none() ? clone(kept) : surrounded(kept, m.added(), value, is_channels_last(x));
  }
  return record("ConstantPadNdBackward0", y, {x},
                [m](BackwardCall& b) { b.results[0] = pad_number(b.grad(), m.negated(), 0); });
}

// Margins of x's own elements; none is negative.
Tensor pad_elements(const Tensor& x, const Margins& m, PaddingMode mode) {
  const bool is_circular = mode == PaddingMode::kCircular;
  Remapping r = remapping(x, m);
  r.node = mode == PaddingMode::kReflect     ? "ReflectionPadBackward0"
           : mode == PaddingMode::kReplicate ? "ReplicationPadBackward0"
                                             : "CircularPadBackward0";
  r.mode = mode == PaddingMode::kReflect     ? RemapMode::kReflect
           : mode == PaddingMode::kReplicate ? RemapMode::kReplicate
                                             : RemapMode::kCircular;
  r.links_gradient = is_circular;
  r.channels_last = is_channels_last(x) && !is_circular;
  return remap(x, r);
}

// The policy is one of some modes alone: PyTorch's of one for each.
Tensor autocast_input(const Tensor& input, IntList pad, PaddingMode mode) {
  const bool is_reflected_volume = mode == PaddingMode::kReflect && pad.size() == 6;
  const bool has_policy = mode == PaddingMode::kReplicate || mode == PaddingMode::kReflect;
  return has_policy && !is_reflected_volume ? cast_on_cpu(input) : input;
}

}  // namespace

Tensor constant_pad_nd(const Tensor& input, IntList pad, const Scalar& value) {
  check_pad(input, pad, PaddingMode::kConstant, value);
  const Margins m(input.ndim(), pad);
  for (int d = 0; d < input.ndim(); ++d) check_padded_size(input, d, m.before[d], m.after[d]);
  return pad_number(input, m, value);
}

Tensor pad(const Tensor& given, IntList pad, PaddingMode mode, const std::optional<Scalar>& value) {
  if (mode == PaddingMode::kConstant)
    return constant_pad_nd(given, pad, value ? value->to_double() : 0.0);
  check_pad(given, pad, mode, value);
  const Tensor input = autocast_input(given, pad, mode);
  const Margins m(input.ndim(), pad);
  for (int d = 0; d < input.ndim(); ++d) check_padded_size(input, d, m.before[d], m.after[d]);
  for (int d = 0; d < input.ndim(); ++d) {
    if (m.before[d] != 0 || m.after[d] != 0)
      check_pad_reach(input, d, m.before[d], m.after[d], mode);
  }
  // A mirror shows also what is taken away beside it; what goes round does not.
  const Margins taken = m.taken();
  if (mode != PaddingMode::kCircular) {
    check_padded_dims(input, m.padded(input.sizes()), pad.size() / 2);
    const Tensor y = pad_elements(input, m.added(), mode);
    return taken.none() ? y : clone(inside(y, taken));
  }
  const Tensor x = inside(input, taken);
  for (int d = 0; d < x.ndim(); ++d)
    check_pad_reach(x, d, m.added().before[d], m.added().after[d], mode);
  return pad_elements(x, m.added(), mode);
}

}  // namespace dt
