// Moving elements as an IndexPlan says. index.cu and gather.cu make the plans.
#pragma once

#include "kernels/cuda/index_plan.cuh"

namespace dt::cuda {

// plain = indexed, element by element (index_read.cu).
int32_t read_indexed(const dt_stream* stream, const calls::Call& call, const IndexPlan& plan,
                     const dt_view& plain, const dt_view& indexed);

// How a write treats what it finds. Among positions that meet in one element the last assignment in
// logical order wins, and sums are taken in a fixed order.
struct WriteMode {
  bool accumulate;  // indexed += alpha * plain
  double alpha;
  bool from_zero = false;  // indexed = 0 first; it is contiguous
  bool apart = false;      // no two positions meet
};

// Leaves the complaint of a plan that chooses from nothing (index_read.cu).
int32_t complain_of_nothing(const dt_stream* stream, const calls::Call& call,
                            const IndexPlan& plan);

// indexed = plain, or +=. `plain` may be immediate (index_write.cu).
int32_t write_indexed(const dt_stream* stream, const calls::Call& call, const IndexPlan& plan,
                      const dt_view& plain, const dt_view& indexed, WriteMode mode);
int64_t write_indexed_workspace(const dt_stream* stream, const IndexPlan& plan,
                                const dt_view& plain, const dt_view& indexed, WriteMode mode);

}  // namespace dt::cuda
