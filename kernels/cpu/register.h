// Every file of kernels/cpu is compiled once per instruction set and linked into one object that
// exports a single symbol (see CMakeLists.txt). Each file fills its slots of the backend's table
// through one of these functions; everything else in it lives in an anonymous namespace, so no code
// of one instruction set can replace another's.
#pragma once

#include "kernels/abi.h"

namespace dt::cpu {

void register_pointwise(dt_backend* table);    // functors.gen.h, copy
void register_pointwise_0(dt_backend* table);  // called by register_pointwise: a third each
void register_pointwise_1(dt_backend* table);
void register_pointwise_2(dt_backend* table);
void register_copy(dt_backend* table);           // also called by register_pointwise
void register_reduce(dt_backend* table);         // sum mean prod amax amin any all var norm
void register_arg_reduce(dt_backend* table);     // max_dim, min_dim
void register_scan(dt_backend* table);           // cumsum
void register_sort(dt_backend* table);           // argsort
void register_nonzero(dt_backend* table);        // nonzero_count, nonzero
void register_create(dt_backend* table);         // arange, linspace, triangle
void register_softmax(dt_backend* table);        // softmax, log_softmax and their gradients
void register_layer_norm(dt_backend* table);     // layer_norm and its gradients
void register_batch_norm(dt_backend* table);     // batch_norm and its gradients
void register_cross_entropy(dt_backend* table);  // cross_entropy and its gradient
void register_index(dt_backend* table);          // index, index_put, index_select, index_add
void register_gather(dt_backend* table);         // gather, scatter
void register_random(dt_backend* table);         // uniform ... dropout
void register_optim(dt_backend* table);          // sgd, adam, scale_by
void register_matmul(dt_backend* table);         // matmul
void register_conv(dt_backend* table);           // conv2d and its gradients
void register_pool(dt_backend* table);           // max_pool2d, avg_pool2d and their gradients

}  // namespace dt::cpu
