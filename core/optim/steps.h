// The arithmetic of optimizers, over lists of tensors: one kernel call for all of them. Core's
// optimizers and Python's (which own their state there) call the same functions. The parameters may
// lie on several devices. A learning rate that is a tensor on the parameters' device is read there
// at each run, so that a captured step obeys a schedule.
#pragma once

#include "core/tensor/tensor.h"

namespace dt {

// torch.optim.SGD's step. `momentum_buffers` is empty without momentum, else one per parameter;
// with `first_step` they are written before they are read.
void sgd_step(TensorList params, TensorList grads, TensorList momentum_buffers, const Operand& lr,
              double momentum, double dampening, double weight_decay, bool nesterov, bool maximize,
              bool first_step);

// torch.optim.Adam's step, or AdamW's when `decoupled`. `steps` holds a 0-d float32 per parameter,
// incremented here; `max_exp_avg_sqs` is empty without amsgrad.
void adam_step(TensorList params, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs,
               TensorList max_exp_avg_sqs, TensorList steps, const Operand& lr, double beta1,
               double beta2, double eps, double weight_decay, bool amsgrad, bool maximize,
               bool decoupled);

// torch.nn.utils.clip_grad_norm_: scales the gradients of `params` so that the norm of all together
// is at most `max_norm`. Returns the norm before.
Tensor clip_grad_norm_(TensorList params, double max_norm, double norm_type,
                       bool error_if_nonfinite);

}  // namespace dt
