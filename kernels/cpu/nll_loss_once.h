// What nll_loss picks one by one, at targets, no instruction set does faster:
// kernels/cpu/once/nll_loss.cpp is compiled once, for any processor.
#pragma once

#include "kernels/calls/loss.gen.h"

extern "C" {
int32_t dt_pick_losses(const dt_stream* stream, const dt::calls::NllLoss& call);
int64_t dt_pick_losses_workspace(const dt::calls::NllLoss& call);
int32_t dt_pick_losses_backward(const dt_stream* stream, const dt::calls::NllLossBackward& call);
}
