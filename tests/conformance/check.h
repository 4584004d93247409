/* Comparing the results of recorded calls: what tests/c/conformance_test.c is made of. */
#ifndef TESTS_CONFORMANCE_CHECK_H
#define TESTS_CONFORMANCE_CHECK_H

#include <dt.h>

static int failures, current;

static inline void fail(const char* what) {
  failures++;
  fprintf(stderr, "case %d: %s: %s\n", current, what, T_message());
}

static inline int same_sizes(T_Sizes a, T_Dims b) {
  return a.n == b.n && (a.n == 0 || memcmp(a.v, b.p, (size_t)a.n * sizeof *a.v) == 0);
}

static inline void expect(dt_tensor* x, dt_dtype dtype, T_Dims size, T_Reals data) {
  double values[512];
  const double tolerance = dtype == DT_DTYPE_FLOAT64 ? 1e-8 : 1e-5;
  if (T_dtype(x) != dtype) fail("dtype");
  if (!same_sizes(T_shape(x), size)) {
    fail("shape");
    return;
  }
  if (T_read(T_to(x, .dtype = DT_DTYPE_FLOAT64), values, data.n * 8)) {
    fail("read");
    return;
  }
  for (int64_t i = 0; i < data.n; i++) {
    if (!(fabs(values[i] - data.p[i]) <= tolerance * (1 + fabs(data.p[i])))) {
      fprintf(stderr, "case %d: element %d is %.9g, not %.9g\n", current, (int)i, values[i],
              data.p[i]);
      failures++;
      return;
    }
  }
}

static inline void expect_bool(int32_t value, int expected) {
  if (value != expected) fail("truth value");
}

static inline void expect_count(dt_tensor_list* list, int64_t count) {
  if (T_tensor_list_len(list) != count) fail("length of the list");
}

static inline void expect_error(const char* text) {
  if (!T_status() || !strstr(T_message(), text)) {
    fprintf(stderr, "case %d: expected the error '%s', not '%s'\n", current, text, T_message());
    failures++;
  }
  T_clear();
}

/* Applies the layer of a row of tests/layer_rows.py to inputs, with the parameters in
 * FOLDER/ROW.state. */
static inline void try_layer(const char* folder, int row, dt_module* layer) {
  static const char* const names[] = {"1", "2", "3"};
  char path[4096];
  dt_tensor_list *inputs, *outputs;
  snprintf(path, sizeof path, "%s/%d.state", folder, row);
  T_module_load(layer, path);
  snprintf(path, sizeof path, "%s/%d.in", folder, row);
  T_load_checkpoint(path, .tensors = &inputs);
  outputs = T_module_forward_outputs(layer, T_entries(inputs));
  snprintf(path, sizeof path, "%s/%d.out", folder, row);
  T_save_checkpoint(path, T_strings_(names, T_tensor_list_len(outputs)), T_entries(outputs));
}

/* The same of tests/model_rows.py, in evaluation. */
static inline void try_model(const char* folder, int row, dt_module* model) {
  T_module_train(model, .mode = 0);
  try_layer(folder, row, model);
}

static inline int run_cases(void (*const cases[])(void), int count) {
  for (current = 0; current < count; current++) {
    T_SCOPE {
      cases[current]();
      if (T_status()) fail("error");
    }
  }
  if (dt_live_handles(NULL) != 0) fail("handles are left");
  if (failures) fprintf(stderr, "%d failures\n", failures);
  return failures != 0;
}

#endif
