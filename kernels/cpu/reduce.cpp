// Reductions: sum, mean, prod, amax, amin, any, all, var and norm.
#include "kernels/calls/planned.h"
#include "kernels/calls/reduce.gen.h"
#include "kernels/cpu/reduce_engine.h"

namespace dt::cpu {
namespace {

int32_t fill(const dt_view& y, double value) {
  Axes axes;
  for (int d = 0; d < y.ndim; ++d) axes.axis[axes.n++] = Axis{y.sizes[d], 0, y.strides[d], 0};
  Walk at(axes, axes.n, 0);
  for (int64_t i = axes.count(); i > 0; --i, at.next()) {
    store_run(data<char>(y) + at.y * bytes_of(y.dtype), y.dtype, 1, &value, 1);
  }
  return DT_KERNEL_OK;
}

template <class Call>
ReduceOperands operands_of(const Call& call) {
  return {call.x, call.y, call.workspace};
}

// What is to be known of an operation's engine.
struct Engine {
  void (*run)(const dt_stream*, const ReduceOperands&, const Job&);
  int32_t parts, dtype;  // of a state, and that of its values
  int64_t value_bytes;

  int64_t workspace(const ReduceOperands& on) const {
    return reduce_workspace(on, parts, value_bytes);
  }
};

template <class Op>
Engine engine_of() {
  using T = typename Op::T;
  using Element = std::conditional_t<std::is_same_v<T, uint64_t>, int64_t, T>;  // wraps around
  return {[](const dt_stream* stream, const ReduceOperands& on, const Job& job) {
            ReduceEngine<Op>(stream, on, job).run();
          },
          Op::kParts, dtype_of<Element>, sizeof(T)};
}

// Short runs that lie apart, such as a channel of small images, are reduced in two steps: each run
// to an element of `between`, which lies in the workspace, and these to the results.
class TwoSteps {
 public:
  TwoSteps(const Engine& engine, const ReduceOperands& on) {
    const ReducePlan plan = make_plan(on.x, on.y, nullptr, engine.value_bytes, true);
    const Axis inner = plan.reduced.inner();
    if (plan.columns || plan.reduced.n < 2 || inner.size > kLongest || plan.work() < kLeast) return;
    Axes outer;  // there is no second output: z marks the axes that are reduced
    for (int d = 0; d < plan.kept.n; ++d) insert_by_stride(&outer, plan.kept.axis[d]);
    for (int d = 0; d + 1 < plan.reduced.n; ++d) {
      Axis axis = plan.reduced.axis[d];
      axis.z = kIsReduced;
      insert_by_stride(&outer, axis);
    }
    x_ = view_of(on.x, outer.n + 1), y_ = view_of(on.y, outer.n + 1);
    between_ = view_of(on.x, outer.n + 1);
    between_.data = on.workspace, between_.dtype = engine.dtype;
    set(outer.n, inner.size, inner.x, 1, 1, 0);
    bytes_ = engine.value_bytes;
    for (int d = outer.n - 1; d >= 0; --d) {
      const Axis& axis = outer.axis[d];
      set(d, axis.size, axis.x, bytes_ / engine.value_bytes, axis.z == kIsReduced ? 1 : axis.size,
          axis.y);
      bytes_ *= axis.size;
    }
    bytes_ = ceil_div(bytes_, 64) * 64;
  }

  // What a plan costs more to make than it can save is left out.
  static bool are_possible(const ReduceOperands& on) {
    int reduced = 0;
    for (int d = 0; d < on.x.ndim; ++d) reduced += on.x.sizes[d] != on.y.sizes[d];
    return reduced > 1 && count(on.x) >= kLeast;
  }
  bool are_worthwhile() const { return bytes_ > 0; }

  // As `reduce` below.
  int32_t reduce(const Engine& engine, const dt_stream* stream, const Job& job,
                 int64_t* bytes) const {
    // `between` begins the workspace; behind it is that of either step.
    char* rest = static_cast<char*>(between_.data) + bytes_;
    const ReduceOperands first{x_, between_, rest}, second{between_, y_, rest};
    if (bytes) {
      *bytes = bytes_ + max(engine.workspace(first), engine.workspace(second));
      return DT_KERNEL_OK;
    }
    Job elements = job, results = job;
    elements.finish = Finish::kNone;
    results.map = Map::kNone;
    results.length = count(x_) / count(y_);
    engine.run(stream, first, elements);
    engine.run(stream, second, results);
    return DT_KERNEL_OK;
  }

 private:
  static constexpr int64_t kLongest = 256, kLeast = 256;
  static constexpr int64_t kIsReduced = 1;

  static dt_view view_of(const dt_view& from, int dims) {
    dt_view view = from;
    view.ndim = dims;
    return view;
  }
  void set(int d, int64_t size, int64_t x, int64_t between, int64_t y_size, int64_t y) {
    x_.sizes[d] = size, x_.strides[d] = x;
    between_.sizes[d] = d + 1 == x_.ndim ? 1 : size, between_.strides[d] = between;
    y_.sizes[d] = y_size, y_.strides[d] = y;
  }

  dt_view x_{}, between_{}, y_{};
  int64_t bytes_ = 0;
};

// Runs the engine, or, when asked for `bytes`, only says how much scratch memory it needs.
int32_t reduce_by(const Engine& engine, const dt_stream* stream, const ReduceOperands& on,
                  const Job& job, int64_t* bytes) {
  if (count(on.x) == 0) return bytes || count(on.y) == 0 ? DT_KERNEL_OK : fill(on.y, job.empty);
  if (engine.parts == 1 && TwoSteps::are_possible(on)) {
    const TwoSteps steps(engine, on);
    if (steps.are_worthwhile()) return steps.reduce(engine, stream, job, bytes);
  }
  if (bytes) {
    *bytes = engine.workspace(on);
  } else {
    engine.run(stream, on, job);
  }
  return DT_KERNEL_OK;
}

template <class Op>
int32_t reduce(const dt_stream* stream, const ReduceOperands& on, const Job& job, int64_t* bytes) {
  return reduce_by(engine_of<Op>(), stream, on, job, bytes);
}

// The arithmetic type for an operation on numbers. Integers are signed or, for sums that wrap
// around, unsigned; where Narrow is as wide as Wide, a narrow result is what is left of a wide one.
template <template <class> class Op, class Narrow, class Wide>
int32_t reduce_numbers(const dt_stream* stream, const calls::Reduction& call, const Job& job,
                       int64_t* bytes) {
  const ReduceOperands on = operands_of(call);
  return visit_compute(call.compute, [&](auto type) {
    using T = typename decltype(type)::type;
    using Integer = std::conditional_t<sizeof(T) == sizeof(Wide), Wide, Narrow>;
    return reduce<Fold<Op<std::conditional_t<kIsFloating<T>, T, Integer>>>>(stream, on, job, bytes);
  });
}

int32_t plan_sum(const dt_stream* stream, const calls::Reduction& call, int64_t* bytes) {
  return reduce_numbers<Sum, uint64_t, uint64_t>(stream, call, Job(), bytes);
}

int32_t plan_mean(const dt_stream* stream, const calls::Reduction& call, int64_t* bytes) {
  Job job;
  job.finish = Finish::kMean;
  job.empty = __builtin_nan("");
  return reduce_numbers<Sum, uint64_t, uint64_t>(stream, call, job, bytes);
}

int32_t plan_prod(const dt_stream* stream, const calls::Reduction& call, int64_t* bytes) {
  Job job;
  job.empty = 1;
  return reduce_numbers<Product, uint64_t, uint64_t>(stream, call, job, bytes);
}

int32_t plan_amax(const dt_stream* stream, const calls::Reduction& call, int64_t* bytes) {
  return reduce_numbers<Largest, int32_t, int64_t>(stream, call, Job(), bytes);
}

int32_t plan_amin(const dt_stream* stream, const calls::Reduction& call, int64_t* bytes) {
  return reduce_numbers<Smallest, int32_t, int64_t>(stream, call, Job(), bytes);
}

// any and all are the largest and the smallest truth value.
template <class Op>
int32_t reduce_truth(const dt_stream* stream, const calls::Reduction& call, double empty,
                     int64_t* bytes) {
  Job job;
  job.map = Map::kNonzero;
  job.empty = empty;
  return reduce<Fold<Op>>(stream, operands_of(call), job, bytes);
}

int32_t plan_any(const dt_stream* stream, const calls::Reduction& call, int64_t* bytes) {
  return reduce_truth<Largest<int32_t>>(stream, call, 0, bytes);
}

int32_t plan_all(const dt_stream* stream, const calls::Reduction& call, int64_t* bytes) {
  return reduce_truth<Smallest<int32_t>>(stream, call, 1, bytes);
}

int32_t plan_var(const dt_stream* stream, const calls::Var& call, int64_t* bytes) {
  Job job;
  job.finish = call.root ? Finish::kDeviation : Finish::kVariance;
  job.correction = call.correction;
  job.empty = __builtin_nan("");
  return reduce<Deviations>(stream, operands_of(call), job, bytes);
}

// Norms are accumulated in double: the square of a float neither overflows nor loses digits there.
int32_t plan_norm(const dt_stream* stream, const calls::Norm& call, int64_t* bytes) {
  const double p = call.p;
  const ReduceOperands on = operands_of(call);
  Job job;
  job.power = p;
  job.map = Map::kAbs;
  if (p == __builtin_inf()) return reduce<Fold<Largest<double>>>(stream, on, job, bytes);
  if (p == -__builtin_inf()) return reduce<Fold<Smallest<double>>>(stream, on, job, bytes);
  if (p == 0) {
    job.map = Map::kNonzero;
  } else if (p == 2) {
    job.map = Map::kSquare;
    job.finish = Finish::kSquareRoot;
  } else if (p != 1) {
    job.map = Map::kPower;
    job.finish = Finish::kRoot;
    job.empty = p < 0 ? __builtin_inf() : 0;
  }
  return reduce<Fold<Sum<double>>>(stream, on, job, bytes);
}

}  // namespace

DT_PLANNED_KERNEL(sum, Reduction, plan_sum)
DT_PLANNED_KERNEL(mean, Reduction, plan_mean)
DT_PLANNED_KERNEL(prod, Reduction, plan_prod)
DT_PLANNED_KERNEL(amax, Reduction, plan_amax)
DT_PLANNED_KERNEL(amin, Reduction, plan_amin)
DT_PLANNED_KERNEL(any, Reduction, plan_any)
DT_PLANNED_KERNEL(all, Reduction, plan_all)
DT_PLANNED_KERNEL(var, Var, plan_var)
DT_PLANNED_KERNEL(norm, Norm, plan_norm)

}  // namespace dt::cpu
