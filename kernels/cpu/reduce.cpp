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

// Runs the engine, or, when asked for `bytes`, only says how much scratch memory it needs.
template <class Op>
int32_t reduce(const dt_stream* stream, const ReduceOperands& on, const Job& job, int64_t* bytes) {
  const bool is_empty = count(on.x) == 0;
  if (bytes) {
    *bytes = is_empty ? 0 : ReduceEngine<Op>::workspace(on);
  } else if (!is_empty) {
    ReduceEngine<Op>(stream, on, job).run();
  } else if (count(on.y) != 0) {
    return fill(on.y, job.empty);
  }
  return DT_KERNEL_OK;
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
  Job job;
  job.finish = Finish::kSum;
  return reduce_numbers<Sum, uint64_t, uint64_t>(stream, call, job, bytes);
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
