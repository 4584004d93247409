/* What one small operation costs from C: the machine layer (dumbtorch.h) and the layer for people
 * (dt.h). */
#include <dt.h>
#include <stdio.h>
#include <stdlib.h>

#include "native.h"

static void stop_on_error(void) {
  if (!T_status()) return;
  fprintf(stderr, "%s\n", T_message());
  exit(1);
}

/* c = a + b and its release, on 8 floats. */
static void add_8(int64_t n) {
  static dt_tensor *a, *b;
  if (!a) {
    a = T_randn(T_DIMS(8));
    b = T_randn(T_DIMS(8));
    stop_on_error();
  }
  for (int64_t i = 0; i < n; ++i) {
    dt_tensor* c;
    must(dt_add(a, b, 0, 0, 0, DT_SCALAR_KIND_INT, 1, 0, &c));
    dt_tensor_release(c);
  }
}

/* One training step of examples/c/xor.c. */
static void xor_step(int64_t n) {
  static dt_tensor *x, *y;
  static dt_module* model;
  static dt_optimizer* optimizer;
  if (!x) {
    T_SCOPE {
      x = T_keep(T_FLOATS(T_DIMS(4, 2), 0, 0, 0, 1, 1, 0, 1, 1));
      y = T_keep(T_FLOATS(T_DIMS(4, 1), 0, 1, 1, 0));
      model = T_keep(T_SEQUENTIAL(T_nn_linear(2, 4), T_nn_tanh(), T_nn_linear(4, 1)));
      optimizer = T_keep(T_optim_sgd(T_entries(T_module_parameters(model)), .lr = 0.1));
    }
    stop_on_error();
  }
  for (int64_t i = 0; i < n; ++i) {
    T_SCOPE {
      T_optimizer_zero_grad(optimizer);
      T_backward(T_mse_loss(T_module_forward(model, x), y));
      T_optimizer_step(optimizer);
    }
  }
  stop_on_error();
}

const Case overhead_cases[] = {{"add_8", add_8}, {"xor_step", xor_step}, {0}};
