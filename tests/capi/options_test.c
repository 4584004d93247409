/* Options structs: older and newer callers, and the _INIT macros. */
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
  OK(dt_requires_grad_(x, 1));
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
  return test_end("options");
}
