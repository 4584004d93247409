// index, index_put, index_select and index_add.
#include "kernels/cuda/index_move.h"
#include "kernels/cuda/register.h"

namespace dt::cuda {
namespace {

int32_t index(const dt_stream* stream, const dt_call* call) {
  const dt_view &y = call->out[0], &x = call->in[0];
  return read_indexed(stream, call, plan_index(y, x, call->in + 1, call->n_in - 1, call->ints), y,
                      x);
}

IndexPlan plan_put(const dt_call* call) {
  return plan_index(call->in[0], call->out[0], call->in + 1, call->n_in - 1, call->ints + 1);
}

int32_t index_put(const dt_stream* stream, const dt_call* call) {
  return write_indexed(stream, call, plan_put(call), call->in[0], call->out[0],
                       {call->ints[0] != 0, 1});
}

int64_t index_put_workspace(const dt_stream* stream, const dt_call* call) {
  return write_indexed_workspace(stream, plan_put(call), call->in[0], call->out[0],
                                 {call->ints[0] != 0, 1});
}

int32_t index_select(const dt_stream* stream, const dt_call* call) {
  const dt_view &y = call->out[0], &x = call->in[0];
  return read_indexed(stream, call, plan_select(y, x, call->in[1], call->ints[0]), y, x);
}

int32_t index_add(const dt_stream* stream, const dt_call* call) {
  const dt_view &y = call->out[0], &source = call->in[0];
  return write_indexed(stream, call, plan_select(source, y, call->in[1], call->ints[0]), source, y,
                       {true, call->floats[0]});
}

int64_t index_add_workspace(const dt_stream* stream, const dt_call* call) {
  const dt_view &y = call->out[0], &source = call->in[0];
  return write_indexed_workspace(stream, plan_select(source, y, call->in[1], call->ints[0]), source,
                                 y, {true, call->floats[0]});
}

}  // namespace

void register_index(dt_registry* registry) {
  add(registry, "index", index);
  add(registry, "index_put", index_put, index_put_workspace);
  add(registry, "index_select", index_select);
  add(registry, "index_add", index_add, index_add_workspace);
}

}  // namespace dt::cuda
