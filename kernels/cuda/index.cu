// index, index_put, index_select, index_add and index_sum.
#include "kernels/calls/indexing.gen.h"
#include "kernels/cuda/index_move.h"

namespace dt::cuda {
namespace {

IndexPlan plan_put(const calls::IndexPut& call) {
  return plan_index(call.values, call.y, call.index, call.size, call.stride);
}

constexpr WriteMode kSumMode = {true, 1, true};

// Adds the source's slices to those of y that the index names.
template <class Call>
int32_t add_slices(const dt_stream* stream, const Call& call, WriteMode mode) {
  const IndexPlan plan = plan_select(call.source, call.y, call.index, call.dim);
  return write_indexed(stream, call, plan, call.source, call.y, mode);
}

template <class Call>
int64_t add_slices_workspace(const dt_stream* stream, const Call& call, WriteMode mode) {
  const IndexPlan plan = plan_select(call.source, call.y, call.index, call.dim);
  return write_indexed_workspace(stream, plan, call.source, call.y, mode);
}

}  // namespace

int32_t kernels::index(const dt_stream* stream, const calls::Index& call) {
  const IndexPlan plan = plan_index(call.y, call.x, call.index, call.size, call.stride);
  return read_indexed(stream, call, plan, call.y, call.x);
}

int32_t kernels::index_put(const dt_stream* stream, const calls::IndexPut& call) {
  return write_indexed(stream, call, plan_put(call), call.values, call.y, {call.accumulate, 1});
}

int64_t kernels::index_put_workspace(const dt_stream* stream, const calls::IndexPut& call) {
  return write_indexed_workspace(stream, plan_put(call), call.values, call.y, {call.accumulate, 1});
}

int32_t kernels::index_select(const dt_stream* stream, const calls::IndexSelect& call) {
  const IndexPlan plan = plan_select(call.y, call.x, call.index, call.dim);
  return read_indexed(stream, call, plan, call.y, call.x);
}

int32_t kernels::index_add(const dt_stream* stream, const calls::IndexAdd& call) {
  return add_slices(stream, call, {true, call.alpha});
}

int64_t kernels::index_add_workspace(const dt_stream* stream, const calls::IndexAdd& call) {
  return add_slices_workspace(stream, call, {true, call.alpha});
}

int32_t kernels::index_sum(const dt_stream* stream, const calls::IndexSum& call) {
  return add_slices(stream, call, kSumMode);
}

int64_t kernels::index_sum_workspace(const dt_stream* stream, const calls::IndexSum& call) {
  return add_slices_workspace(stream, call, kSumMode);
}

}  // namespace dt::cuda
