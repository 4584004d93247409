// Variance and standard deviation.
#include <cmath>
#include <limits>

#include "core/autograd/record.h"
#include "core/ops/checks.h"
#include "core/ops/creation.gen.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/pointwise_logic.gen.h"
#include "core/ops/reduce.gen.h"
#include "core/ops/reduce/checks.h"
#include "core/ops/reduce/reduced_dims.h"

namespace dt {
namespace {

// What var and std ask for.
struct Deviation {
  ReducedDims reduced;
  Dims dims;  // none: all
  bool of_all;
  double correction;

  Deviation(const Tensor& x, std::optional<IntList> dim, const std::optional<Scalar>& correction,
            bool keepdim)
      : reduced(x, dim, keepdim),
        dims(dim.value_or(IntList())),
        of_all(!dim || x.ndim() == 0),
        correction(correction.value_or(1).to_double()) {}

  // The variance, or its root.
  Tensor compute_of(const Tensor& x, bool root) const {
    check_deviation_dtype(x);
    const Tensor y = make_empty(reduced.result_sizes, x.dtype(), x.device());
    VarCall call;
    call.y = kept_view(y, reduced);
    call.x = x;
    call.root = root;
    call.correction = correction;
    run(op::var, call);
    return y;
  }

  // Of the variance. Without freedom it is what PyTorch says: of all elements together infinite.
  Tensor gradient(const Tensor& x, const Tensor& grad) const {
    const Tensor center = mean(x, IntList(dims), true);
    const Tensor g = spread(grad, reduced.kept_sizes, x.sizes());
    const double freedom = double(reduced.count) - correction;
    if (of_all && freedom <= 0) {
      const double inf = std::numeric_limits<double>::infinity();
      return mul(g, where(eq(x, center), std::nan(""), inf));
    }
    return mul(mul(sub(x, center), g), 2 / freedom);
  }
};

}  // namespace

Tensor var(const Tensor& input, std::optional<IntList> dim, const std::optional<Scalar>& correction,
           bool keepdim) {
  const Deviation deviation(input, dim, correction, keepdim);
  const Tensor y = deviation.compute_of(input, false);
  if (!needs_graph(input)) return y;
  return record("VarBackward0", y, {input}, [x = Saved::input(input), deviation](BackwardCall& b) {
    b.results[0] = deviation.gradient(x.get(b.node), b.grad());
  });
}

// The gradient is 0 where the deviation is.
Tensor std(const Tensor& input, std::optional<IntList> dim, const std::optional<Scalar>& correction,
           bool keepdim) {
  const Deviation deviation(input, dim, correction, keepdim);
  const Tensor y = deviation.compute_of(input, true);
  if (!needs_graph(input)) return y;
  return record("StdBackward0", y, {input},
                [x = Saved::input(input), y = Saved::output(y), deviation](BackwardCall& b) {
                  const Tensor result = y.get(b.node);
                  const Tensor g = masked_fill(div(b.grad(), mul(result, 2)), eq(result, 0), 0);
                  b.results[0] = deviation.gradient(x.get(b.node), g);
                });
}

}  // namespace dt
