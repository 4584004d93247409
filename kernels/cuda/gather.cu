// gather and scatter along one dimension.
#include "kernels/cuda/index_move.h"
#include "kernels/cuda/register.h"

namespace dt::cuda {
namespace {

int32_t gather(const dt_stream* stream, const dt_call* call) {
  const dt_view &y = call->out[0], &x = call->in[0];
  return read_indexed(stream, call, plan_gather(y, x, call->in[1], call->ints[0]), y, x);
}

IndexPlan plan_scatter(const dt_call* call) {
  return plan_gather(call->in[0], call->out[0], call->in[1], call->ints[0]);
}

int32_t scatter(const dt_stream* stream, const dt_call* call) {
  return write_indexed(stream, call, plan_scatter(call), call->in[0], call->out[0],
                       {call->ints[1] != 0, 1});
}

int64_t scatter_workspace(const dt_stream* stream, const dt_call* call) {
  return write_indexed_workspace(stream, plan_scatter(call), call->in[0], call->out[0],
                                 {call->ints[1] != 0, 1});
}

}  // namespace

void register_gather(dt_registry* registry) {
  add(registry, "gather", gather);
  add(registry, "scatter", scatter, scatter_workspace);
}

}  // namespace dt::cuda
