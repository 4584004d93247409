// index, index_put, index_select, index_add and index_sum.
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

WriteMode add_mode(const dt_call* call) {
  return {true, call->floats[0]};
}

constexpr WriteMode kSumMode = {true, 1, true};

int32_t add_slices(const dt_stream* stream, const dt_call* call, WriteMode mode) {
  const dt_view &y = call->out[0], &source = call->in[0];
  return write_indexed(stream, call, plan_select(source, y, call->in[1], call->ints[0]), source, y,
                       mode);
}

int64_t add_slices_workspace(const dt_stream* stream, const dt_call* call, WriteMode mode) {
  const dt_view &y = call->out[0], &source = call->in[0];
  return write_indexed_workspace(stream, plan_select(source, y, call->in[1], call->ints[0]), source,
                                 y, mode);
}

int32_t index_add(const dt_stream* stream, const dt_call* call) {
  return add_slices(stream, call, add_mode(call));
}

int64_t index_add_workspace(const dt_stream* stream, const dt_call* call) {
  return add_slices_workspace(stream, call, add_mode(call));
}

int32_t index_sum(const dt_stream* stream, const dt_call* call) {
  return add_slices(stream, call, kSumMode);
}

int64_t index_sum_workspace(const dt_stream* stream, const dt_call* call) {
  return add_slices_workspace(stream, call, kSumMode);
}

}  // namespace

void register_index(dt_registry* registry) {
  add(registry, "index", index);
  add(registry, "index_put", index_put, index_put_workspace);
  add(registry, "index_select", index_select);
  add(registry, "index_add", index_add, index_add_workspace);
  add(registry, "index_sum", index_sum, index_sum_workspace);
}

}  // namespace dt::cuda
