// gather and scatter along one dimension.
#include "kernels/calls/indexing.gen.h"
#include "kernels/cuda/index_move.h"

namespace dt::cuda {
namespace {

IndexPlan plan_scatter(const calls::Scatter& call) {
  return plan_gather(call.source, call.y, call.index, call.dim);
}

WriteMode mode_of(const calls::Scatter& call) {
  return {call.accumulate, 1, false, call.apart};
}

}  // namespace

int32_t kernels::gather(const dt_stream* stream, const calls::Gather& call) {
  const IndexPlan plan = plan_gather(call.y, call.x, call.index, call.dim);
  return read_indexed(stream, call, plan, call.y, call.x);
}

int32_t kernels::scatter(const dt_stream* stream, const calls::Scatter& call) {
  return write_indexed(stream, call, plan_scatter(call), call.source, call.y, mode_of(call));
}

int64_t kernels::scatter_workspace(const dt_stream* stream, const calls::Scatter& call) {
  return write_indexed_workspace(stream, plan_scatter(call), call.source, call.y, mode_of(call));
}

}  // namespace dt::cuda
