// The arithmetic of optimizers, over lists of tensors: one kernel call for all of them. Core's
// optimizers and Python's (which own their state there) call the same functions. The parameters may
// lie on several devices. A learning rate that is a tensor on the parameters' device is read there
// at each run, so that a captured step obeys a schedule.
#pragma once

#include "core/optim/row.h"
#include "core/tensor/tensor.h"

namespace dt {

// One step. `states` has a tensor of each of the row's states for each parameter, state by state;
// undefined where these settings need none. `first`: the parameters have not stepped before.
// `found_inf`, if given, is one number; nothing is done where it is not 0.
void update_parameters(const OptimizerRow& row, TensorList params, TensorList grads,
                       TensorList states, const Operand& lr, const Settings& settings, bool first,
                       const Tensor& found_inf);
// The same by the row's name.
void optimizer_update(const std::string& optimizer, TensorList params, TensorList grads,
                      TensorList states, const Operand& lr, Span<const double> settings,
                      bool first);
void optimizer_update_unless(const std::string& optimizer, TensorList params, TensorList grads,
                             TensorList states, const Operand& lr, Span<const double> settings,
                             bool first, const Tensor& found_inf);

// Multiplies tensors of any devices by one number, in one call for each device.
void multiply_(TensorList tensors, const Tensor& factor);

// Of a step that makes state: it would make it anew at each replay of a captured graph.
void check_not_capturing();

// torch.nn.utils.clip_grad_norm_: scales the gradients of `params` so that the norm of all together
// is at most `max_norm`. Returns the norm before.
Tensor clip_grad_norm_(TensorList params, double max_norm, double norm_type,
                       bool error_if_nonfinite);

}  // namespace dt
