// Reductions: sum, mean, prod, amax, amin, any, all, var and norm.
#include "kernels/cpu/reduce_engine.h"
#include "kernels/cpu/register.h"

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

// Runs the engine, or, when asked for `bytes`, only says how much scratch memory it needs.
template <class Op>
int32_t reduce(const dt_stream* stream, const dt_call* call, const Job& job, int64_t* bytes) {
  const bool is_empty = count(call->in[0]) == 0;
  if (bytes) {
    *bytes = is_empty ? 0 : Engine<Op>::workspace(call);
  } else if (!is_empty) {
    Engine<Op>(stream, call, job).run();
  } else if (count(call->out[0]) != 0) {
    return fill(call->out[0], job.empty);
  }
  return DT_KERNEL_OK;
}

// The arithmetic type for an operation on numbers. Integers are signed or, for sums that wrap
// around, unsigned; where Narrow is as wide as Wide, a narrow result is what is left of a wide one.
template <template <class> class Op, class Narrow, class Wide>
int32_t reduce_numbers(const dt_stream* stream, const dt_call* call, const Job& job,
                       int64_t* bytes) {
  switch (call->ints[0]) {
    case DT_FLOAT32:
      return reduce<Fold<Op<float>>>(stream, call, job, bytes);
    case DT_FLOAT64:
      return reduce<Fold<Op<double>>>(stream, call, job, bytes);
    case DT_INT64:
      return reduce<Fold<Op<Wide>>>(stream, call, job, bytes);
    default:
      return reduce<Fold<Op<Narrow>>>(stream, call, job, bytes);
  }
}

int32_t sum(const dt_stream* stream, const dt_call* call, int64_t* bytes) {
  Job job;
  job.finish = Finish::kSum;
  return reduce_numbers<Sum, uint64_t, uint64_t>(stream, call, job, bytes);
}

int32_t mean(const dt_stream* stream, const dt_call* call, int64_t* bytes) {
  Job job;
  job.finish = Finish::kMean;
  job.empty = __builtin_nan("");
  return reduce_numbers<Sum, uint64_t, uint64_t>(stream, call, job, bytes);
}

int32_t prod(const dt_stream* stream, const dt_call* call, int64_t* bytes) {
  Job job;
  job.empty = 1;
  return reduce_numbers<Product, uint64_t, uint64_t>(stream, call, job, bytes);
}

int32_t amax(const dt_stream* stream, const dt_call* call, int64_t* bytes) {
  return reduce_numbers<Largest, int32_t, int64_t>(stream, call, Job(), bytes);
}

int32_t amin(const dt_stream* stream, const dt_call* call, int64_t* bytes) {
  return reduce_numbers<Smallest, int32_t, int64_t>(stream, call, Job(), bytes);
}

// any and all are the largest and the smallest truth value.
template <class Op>
int32_t reduce_truth(const dt_stream* stream, const dt_call* call, double empty, int64_t* bytes) {
  Job job;
  job.map = Map::kNonzero;
  job.empty = empty;
  return reduce<Fold<Op>>(stream, call, job, bytes);
}

int32_t any(const dt_stream* stream, const dt_call* call, int64_t* bytes) {
  return reduce_truth<Largest<int32_t>>(stream, call, 0, bytes);
}

int32_t all(const dt_stream* stream, const dt_call* call, int64_t* bytes) {
  return reduce_truth<Smallest<int32_t>>(stream, call, 1, bytes);
}

int32_t var(const dt_stream* stream, const dt_call* call, int64_t* bytes) {
  Job job;
  job.finish = call->ints[1] ? Finish::kDeviation : Finish::kVariance;
  job.correction = call->floats[0];
  job.empty = __builtin_nan("");
  return reduce<Deviations>(stream, call, job, bytes);
}

// Norms are accumulated in double: the square of a float neither overflows nor loses digits there.
int32_t norm(const dt_stream* stream, const dt_call* call, int64_t* bytes) {
  const double p = call->floats[0];
  Job job;
  job.power = p;
  job.map = Map::kAbs;
  if (p == __builtin_inf()) return reduce<Fold<Largest<double>>>(stream, call, job, bytes);
  if (p == -__builtin_inf()) return reduce<Fold<Smallest<double>>>(stream, call, job, bytes);
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
  return reduce<Fold<Sum<double>>>(stream, call, job, bytes);
}

}  // namespace

void register_reduce(dt_registry* registry) {
#define DT_REDUCTION(name) add(registry, #name, run_kernel<name>, workspace_of<name>)
  DT_REDUCTION(sum);
  DT_REDUCTION(mean);
  DT_REDUCTION(prod);
  DT_REDUCTION(amax);
  DT_REDUCTION(amin);
  DT_REDUCTION(any);
  DT_REDUCTION(all);
  DT_REDUCTION(var);
  DT_REDUCTION(norm);
#undef DT_REDUCTION
}

}  // namespace dt::cpu
