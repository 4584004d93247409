/* Options structs: older and newer callers, the _INIT macros and the functions that do the same. */
#include <stddef.h>

#include "tests/capi/check.h"

typedef struct { /* what a program built against an older header passes */
  int64_t struct_size;
  double lr;
} old_sgd_options;

typedef struct { /* and one built against a newer header */
  dt_sgd_options known;
  int64_t added;
} new_sgd_options;

static dt_optimizer* make(const void* options) {
  dt_tensor* x = new_tensor(1);
  dt_optimizer* o = NULL;
  OK(dt_tensor_requires_grad_(x, 1));
  if (dt_optim_sgd(&x, 1, options, &o) != DT_STATUS_OK) CHECK(o == NULL);
  dt_tensor_release(x);
  return o;
}

static double setting(dt_optimizer* o, const char* name) {
  double value = -1;
  OK(dt_optimizer_get(o, name, 0, &value));
  dt_optimizer_release(o);
  return value;
}

/* What a caller leaves in the space between members is seen. */
static void test_reserved_space(void) {
  dt_nn_relu_options options;
  dt_module* m = NULL;
  memset(&options, 0x77, sizeof options);
  options.struct_size = sizeof options;
  options.inplace = 0;
  CHECK(dt_nn_relu(&options, &m) == DT_STATUS_VALUE_ERROR && m == NULL);
  CHECK(message_has("reserved space; start from the _INIT macro"));
  options.reserved1 = 0;
  OK(dt_nn_relu(&options, &m));
  dt_module_release(m);
}

/* The function writes what the macro says, as far as the caller's struct goes, and zeros behind
 * what the library knows. */
static void test_init_functions(void) {
  const dt_sgd_options macro = DT_SGD_OPTIONS_INIT;
  dt_sgd_options options;
  old_sgd_options old = {-1, -1};
  new_sgd_options newer;
  memset(&options, 0x77, sizeof options);
  OK(dt_sgd_options_init(&options, sizeof options));
  CHECK(memcmp(&options, &macro, sizeof macro) == 0);
  OK(dt_sgd_options_init((dt_sgd_options*)&old, sizeof old));
  CHECK(old.struct_size == sizeof old && old.lr == macro.lr);
  memset(&newer, 0x77, sizeof newer);
  OK(dt_sgd_options_init(&newer.known, sizeof newer));
  CHECK(newer.known.struct_size == sizeof newer && newer.known.lr == macro.lr && newer.added == 0);
  CHECK(dt_sgd_options_init(NULL, sizeof options) == DT_STATUS_TYPE_ERROR);
  CHECK(dt_sgd_options_init(&options, 7) == DT_STATUS_VALUE_ERROR);
  CHECK(dt_sgd_options_init(&options, -8) == DT_STATUS_VALUE_ERROR);
}

/* 0 is the default of what has no 0 of its own. */
static void test_zeros(void) {
  dt_nn_conv2d_options options = DT_NN_CONV2D_OPTIONS_INIT;
  dt_nn_mse_loss_options loss = {sizeof loss, 0, 0};
  const int64_t size = 3;
  dt_module* m = NULL;
  options.padding_mode = NULL;
  OK(dt_nn_conv2d(1, 1, &size, 1, &options, &m));
  dt_module_release(m);
  OK(dt_nn_mse_loss(&loss, &m));
  dt_module_release(m);
}

int main(void) {
  const dt_sgd_options init = DT_SGD_OPTIONS_INIT;
  dt_sgd_options changed = DT_SGD_OPTIONS_INIT;
  old_sgd_options old = {sizeof old, 0.25};
  new_sgd_options newer = {DT_SGD_OPTIONS_INIT, 0};
  CHECK(init.struct_size == (int64_t)sizeof init);
  CHECK(setting(make(NULL), "lr") == setting(make(&init), "lr"));
  changed.momentum = 0.5;
  CHECK(setting(make(&changed), "momentum") == 0.5);
  CHECK(setting(make(&old), "lr") == 0.25 && setting(make(&old), "momentum") == 0);
  newer.known.struct_size = sizeof newer;
  newer.known.lr = 0.75;
  CHECK(setting(make(&newer), "lr") == 0.75);
  newer.added = 1;
  CHECK(make(&newer) == NULL && dt_error_code() == DT_STATUS_NOT_IMPLEMENTED);
  changed.struct_size = 0;
  CHECK(make(&changed) == NULL && dt_error_code() == DT_STATUS_VALUE_ERROR);
  changed.struct_size = -8;
  CHECK(make(&changed) == NULL && dt_error_code() == DT_STATUS_VALUE_ERROR);
  test_reserved_space();
  test_init_functions();
  test_zeros();
  return test_end("options");
}
