// The one symbol that an instruction set's object exports.
#include "kernels/cpu/register.h"

extern "C" void DT_CPU_ENTRY(dt_backend* table) {
  using namespace dt::cpu;
  table->struct_size = sizeof(dt_backend);
  table->name = DT_CPU_ISA_NAME;
  register_pointwise(table);
  register_reduce(table);
  register_arg_reduce(table);
  register_scan(table);
  register_sort(table);
  register_nonzero(table);
  register_create(table);
  register_softmax(table);
  register_layer_norm(table);
  register_batch_norm(table);
  register_cross_entropy(table);
  register_index(table);
  register_gather(table);
  register_random(table);
  register_optim(table);
  register_matmul(table);
  register_conv(table);
  register_pool(table);
}
