// Padding: by a number, or by elements of the input itself.
#include <algorithm>
#include <cstdlib>

#include "core/autograd/record.h"
#include "core/ops/autocast/autocast.h"
#include "core/ops/checks.h"
#include "core/ops/creation.gen.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/shapes.gen.h"
#include "core/ops/shapes/checks.h"
#include "core/ops/views.gen.h"

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
Tensor inside(Tensor x, const Margins& m, int first_dim = 0) {
  for (int d = first_dim; d < x.ndim(); ++d) {
    if (m.before[d] != 0 || m.after[d] != 0)
      x = slice(x, d, m.before[d], x.sizes()[d] - m.after[d], 1);
  }
  return x;
}

Tensor empty_padded(const Tensor& x, const Margins& m, bool channels_last) {
  return empty_image(m.padded(x.sizes()), x, channels_last);
}

Tensor pad_number(const Tensor& x, const Margins& m, const Scalar& value) {
  Tensor y;
  {
    const GradMode no_grad(false);
    const Tensor kept = inside(x, m.taken());
    if (m.added().none()) {
      y = clone(kept);
    } else {
      y = empty_padded(x, m, is_channels_last(x));
      fill_(y, value);
      copy_elements(inside(y, m.added()), kept);
    }
  }
  return record("ConstantPadNdBackward0", y, {x},
                [m](BackwardCall& b) { b.results[0] = pad_number(b.grad(), m.negated(), 0); });
}

// Calls f(dimension, margin, its source) for each margin of y, both as views of y. A margin reaches
// over the margins of the dimensions before, and its source is inside along its own dimension:
// forwards, all that a source shows was written before the first margin of that dimension.
template <class F>
void for_each_margin(const Tensor& y, const Margins& m, PaddingMode mode, bool forwards, F f) {
  for (int i = 0; i < y.ndim(); ++i) {
    const int d = forwards ? i : y.ndim() - 1 - i;
    const int64_t a = m.before[d], b = m.after[d], end = y.sizes()[d] - b;
    const Tensor part = inside(y, m, d + 1);
    const auto range = [&](int64_t from, int64_t to) { return slice(part, d, from, to, 1); };
    const bool mirrored = mode == PaddingMode::kReflect;
    if (a > 0) {
      f(d, range(0, a),
        mirrored                          ? range(a + 1, a + 1 + a)
        : mode == PaddingMode::kReplicate ? range(a, a + 1)
                                          : range(end - a, end));
    }
    if (b > 0) {
      f(d, range(end, end + b),
        mirrored                          ? range(end - 1 - b, end - 1)
        : mode == PaddingMode::kReplicate ? range(end - 1, end)
                                          : range(a, a + b));
    }
  }
}

// Calls f(line of the margin, line of its source) for each line across dimension d: margins are
// narrow, and where d is the innermost dimension, lines are longer than what it has of them.
template <class F>
void for_each_line(int d, const Tensor& margin, const Tensor& source, PaddingMode mode, F f) {
  const int64_t width = margin.sizes()[d];
  for (int64_t i = 0; i < width; ++i) {
    const int64_t from = mode == PaddingMode::kReflect     ? width - 1 - i
                         : mode == PaddingMode::kReplicate ? 0
                                                           : i;
    f(select(margin, d, i), select(source, d, from));
  }
}

Tensor fold_margins(const Tensor& g, const Margins& m, PaddingMode mode);

const char* node_name(PaddingMode mode) {
  return mode == PaddingMode::kReflect     ? "ReflectionPadBackward0"
         : mode == PaddingMode::kReplicate ? "ReplicationPadBackward0"
                                           : "CircularPadBackward0";
}

// Margins of x's own elements; none is negative.
Tensor pad_elements(const Tensor& x, const Margins& m, PaddingMode mode) {
  const Tensor y = empty_padded(x, m, is_channels_last(x) && mode != PaddingMode::kCircular);
  {
    const GradMode no_grad(false);
    copy_elements(inside(y, m), x);
    std::vector<std::vector<Copied>> lines(static_cast<size_t>(y.ndim()));
    for_each_margin(y, m, mode, true, [&](int d, const Tensor& margin, const Tensor& source) {
      for_each_line(d, margin, source, mode, [&](const Tensor& to, const Tensor& from) {
        lines[static_cast<size_t>(d)].push_back({to, from});
      });
    });
    for (const std::vector<Copied>& of_dimension : lines) copy_each(of_dimension);
  }
  return record(node_name(mode), y, {x}, [m, mode](BackwardCall& b) {
    const Tensor gx = fold_margins(b.grad(), m, mode);
    b.results[0] = mode == PaddingMode::kCircular ? gx : b.flat_in_inputs(gx);
  });
}

// The gradient of pad_elements: what each margin has goes to where it came from.
Tensor fold_margins(const Tensor& g, const Margins& m, PaddingMode mode) {
  Tensor gx;
  {
    const GradMode no_grad(false);
    const Tensor sums = clone(g);
    for_each_margin(sums, m, mode, false, [&](int d, const Tensor& margin, const Tensor& source) {
      for_each_line(d, margin, source, mode,
                    [](const Tensor& from, const Tensor& to) { add_(to, from); });
    });
    gx = clone(inside(sums, m));
  }
  return record("PadBackwardBackward0", gx, {g},
                [m, mode](BackwardCall& b) { b.results[0] = pad_elements(b.grad(), m, mode); });
}

}  // namespace

namespace {

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
