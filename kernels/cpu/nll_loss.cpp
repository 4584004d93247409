// nll_loss, which is compiled once for all instruction sets.
#include "kernels/cpu/nll_loss_once.h"

namespace dt::cpu {

int32_t kernels::nll_loss(const dt_stream* stream, const calls::NllLoss& call) {
  return dt_pick_losses(stream, call);
}
int64_t kernels::nll_loss_workspace(const dt_stream*, const calls::NllLoss& call) {
  return dt_pick_losses_workspace(call);
}
int32_t kernels::nll_loss_backward(const dt_stream* stream, const calls::NllLossBackward& call) {
  return dt_pick_losses_backward(stream, call);
}

}  // namespace dt::cpu
