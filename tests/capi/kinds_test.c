/* One call for each kind of argument and result of the schema's alphabet, absent and present. */
#define _XOPEN_SOURCE 700 /* mkstemp, P_tmpdir */
#include <unistd.h>

#include "tests/capi/check.h"

static dt_tensor* numbers(int n, const double* values) {
  dt_tensor* t = NULL;
  OK(dt_from_numbers(values, n, NULL, 0, DT_DTYPE_FLOAT64, 0, 0, 0, &t));
  return t;
}

/* The only element of t, which is released. */
static double value(dt_tensor* t) {
  dt_scalar_kind kind;
  int64_t i = 0;
  double f = 0;
  OK(dt_tensor_item(t, &kind, &i, &f));
  dt_tensor_release(t);
  return kind == DT_SCALAR_KIND_FLOAT ? f : (double)i;
}

static void test_scalars_and_operands(void) {
  const double values[] = {1, 2, 3, 4};
  dt_tensor *x = numbers(4, values), *y = NULL, *s = NULL;
  OK(dt_var(x, NULL, 0, 0, 0, 0, 0, &y));
  CHECK(value(y) == 5.0 / 3);
  OK(dt_var(x, NULL, 0, DT_SCALAR_KIND_INT, 0, 0, 0, &y));
  CHECK(value(y) == 1.25);
  OK(dt_clamp(x, NULL, 0, 0, 0, NULL, DT_SCALAR_KIND_FLOAT, 0, 2.5, &y));
  OK(dt_sum(y, NULL, 0, 0, 0, &s));
  CHECK(value(s) == 8);
  dt_tensor_release(y);
  FAILS(RUNTIME_ERROR, dt_clamp(x, NULL, 0, 0, 0, NULL, 0, 0, 0, &y));
  OK(dt_sub(x, x, 0, 0, 0, DT_SCALAR_KIND_FLOAT, 0, 0.5, &y));
  OK(dt_sum(y, NULL, 0, 0, 0, &s));
  CHECK(value(s) == 5);
  dt_tensor_release(y);
  dt_tensor_release(x);
}

static void test_lists(void) {
  const double values[] = {1, 2, 3, 4, 5, 6};
  const int64_t size[] = {2, 3}, dim = 0;
  dt_tensor *x = NULL, *y = NULL, *part = NULL, *indices[2] = {NULL, NULL};
  dt_tensor_list* parts = NULL;
  int64_t n = 0;
  OK(dt_from_numbers(values, 6, size, 2, 0, 0, 0, 0, &x));
  FAILS(RUNTIME_ERROR, dt_from_numbers(values, 5, size, 2, 0, 0, 0, 0, &y));
  OK(dt_sum(x, &dim, 1, 0, 0, &y));
  OK(dt_tensor_numel(y, &n));
  CHECK(n == 3);
  dt_tensor_release(y);
  OK(dt_split(x, 2, 1, &parts));
  OK(dt_tensor_list_len(parts, &n));
  CHECK(n == 2);
  OK(dt_tensor_list_get(parts, 1, &part));
  OK(dt_sum(part, NULL, 0, 0, 0, &y));
  CHECK(value(y) == 9);
  dt_tensor_release(part);
  dt_tensor_list_release(parts);
  /* An absent index takes the whole dimension: x[:, [2]]. */
  OK(dt_from_data(&(int64_t){2}, 8, &(int64_t){1}, 1, DT_DTYPE_INT64, 0, 0, &indices[1]));
  OK(dt_index(x, indices, 2, &y));
  OK(dt_sum(y, NULL, 0, 0, 0, &part));
  CHECK(value(part) == 9);
  dt_tensor_release(y);
  dt_tensor_release(indices[1]);
  dt_tensor_release(x);
}

static void test_results(void) {
  const double values[] = {1, 9, 4};
  const int32_t no = 0;
  dt_tensor *x = numbers(3, values), *largest = NULL, *where = NULL, *grad = x;
  dt_device_type type = 0;
  int64_t index = -1;
  dt_dtype dtype = 0;
  void* data = NULL;
  OK(dt_max_dim(x, -1, 0, &largest, &where));
  CHECK(value(largest) == 9 && value(where) == 1);
  OK(dt_tensor_device(x, &type, &index));
  CHECK(type == DT_DEVICE_TYPE_CPU && index == 0);
  OK(dt_tensor_dtype(x, &dtype));
  CHECK(dtype == DT_DTYPE_FLOAT64);
  OK(dt_tensor_data_ptr(x, &data));
  CHECK(((double*)data)[1] == 9);
  OK(dt_tensor_grad(x, &grad));
  CHECK(grad == NULL);
  OK(dt_tensor_requires_grad_(x, 1));
  OK(dt_sum(x, NULL, 0, 0, 0, &largest));
  OK(dt_tensor_backward(largest, NULL, &no, 0, NULL, 0));
  OK(dt_tensor_grad(x, &grad));
  CHECK(grad != NULL);
  dt_tensor_release(grad);
  dt_tensor_release(largest);
  dt_tensor_release(x);
}

/* A safetensors file of one tensor, w = [1.0, 2.0], in memory. */
static void test_bytes_and_strings(void) {
  static const char header[] = "{\"w\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}";
  const uint64_t length = sizeof header - 1;
  const float data[2] = {1, 2};
  char blob[256];
  dt_string_list* names = NULL;
  dt_tensor_list* tensors = NULL;
  const char* name = NULL;
  int64_t n = 0;
  memcpy(blob, &length, 8);
  memcpy(blob + 8, header, length);
  memcpy(blob + 8 + length, data, sizeof data);
  OK(dt_load_safetensors_bytes(blob, (int64_t)(16 + length), &names, &tensors));
  OK(dt_string_list_len(names, &n));
  OK(dt_string_list_get(names, 0, &name));
  CHECK(n == 1 && strcmp(name, "w") == 0);
  FAILS(INDEX_ERROR, dt_string_list_get(names, 1, &name));
  dt_string_list_release(names);
  dt_tensor_list_release(tensors);
  for (int64_t cut = 0; cut < (int64_t)(16 + length); ++cut) {
    FAILS(IO, dt_load_safetensors_bytes(blob, cut, &names, &tensors));
    CHECK(names == NULL && tensors == NULL);
  }
}

static void test_truth_values(void) {
  const int32_t values[] = {1, 0, 7, 0};
  const int64_t size[] = {2, 2};
  dt_tensor *x = NULL, *s = NULL;
  dt_dtype dtype = 0;
  uint8_t read[4];
  int64_t n = 0;
  OK(dt_from_bools(values, 4, size, 2, 0, 0, &x));
  OK(dt_tensor_dtype(x, &dtype));
  OK(dt_tensor_read(x, read, sizeof read));
  CHECK(dtype == DT_DTYPE_BOOL && memcmp(read, "\1\0\1\0", 4) == 0);
  dt_tensor_release(x);
  OK(dt_from_bools(NULL, 0, NULL, 0, 0, 0, &x));
  OK(dt_tensor_numel(x, &n));
  CHECK(n == 0);
  dt_tensor_release(x);
  FAILS(RUNTIME_ERROR, dt_from_bools(values, 3, size, 2, 0, 0, &s));
  CHECK(message_has("from_bools: shape [2, 2] does not hold 3 truth values"));
}

/* One number stands for all dimensions; an absent list leaves its part to the other one. */
static void test_optional_real_numbers(void) {
  const int64_t size[] = {1, 1, 2, 3}, to = 4;
  const double factors[] = {2, 1}, values[] = {1, 2, 3, 4, 5, 6};
  double read[16];
  int64_t n = 0;
  dt_tensor *x = NULL, *y = NULL;
  OK(dt_from_numbers(values, 6, size, 4, DT_DTYPE_FLOAT64, 0, 0, 0, &x));
  OK(dt_interpolate(x, NULL, 0, factors, 2, DT_INTERPOLATION_NEAREST, &y));
  OK(dt_tensor_read(y, read, 12 * sizeof *read));
  CHECK(read[0] == 1 && read[3] == 1 && read[6] == 4 && read[11] == 6);
  dt_tensor_release(y);
  OK(dt_interpolate(x, &to, 1, NULL, 0, DT_INTERPOLATION_NEAREST_EXACT, &y));
  OK(dt_tensor_numel(y, &n));
  CHECK(n == 16);
  dt_tensor_release(y);
  FAILS(VALUE_ERROR, dt_interpolate(x, &to, 1, factors, 2, DT_INTERPOLATION_NEAREST, &y));
  FAILS(VALUE_ERROR, dt_interpolate(x, &to, 1, factors, -2, DT_INTERPOLATION_NEAREST, &y));
  dt_tensor_release(x);
}

/* More rates than there is room for: as many as fit, and how many there are. */
static void test_real_numbers_back(void) {
  double rates[20] = {0};
  int64_t n = 0;
  dt_tensor* x = new_tensor(1);
  dt_optimizer* optimizer = NULL;
  dt_lr_scheduler* schedule = NULL;
  OK(dt_optim_sgd(&x, 1, NULL, &optimizer));
  dt_tensor_release(x);
  for (int64_t group = 1; group < 20; ++group) {
    x = new_tensor(1);
    OK(dt_optimizer_add_param_group(optimizer, &x, 1));
    OK(dt_optimizer_set(optimizer, "lr", (double)group, group));
    dt_tensor_release(x);
  }
  OK(dt_optim_step_lr(optimizer, 1, 0.5, &schedule));
  OK(dt_lr_scheduler_get_last_lr(schedule, rates, 2, &n));
  CHECK(n == 20 && rates[1] == 1 && rates[2] == 0);
  OK(dt_lr_scheduler_step(schedule));
  OK(dt_lr_scheduler_get_last_lr(schedule, rates, 20, &n));
  CHECK(rates[0] == 0.0005 && rates[19] == 9.5);
  FAILS(TYPE_ERROR, dt_lr_scheduler_get_last_lr(schedule, NULL, 20, &n));
  FAILS(VALUE_ERROR, dt_lr_scheduler_get_last_lr(schedule, rates, -1, &n));
  OK(dt_lr_scheduler_get_last_lr(schedule, NULL, 0, &n));
  CHECK(n == 20);
  dt_lr_scheduler_release(schedule);
  dt_optimizer_release(optimizer);
}

static void test_optional_strings(void) {
  const char *names[] = {"a", "b", "c"}, *wanted[] = {"c", "a"}, *unknown[] = {"a", "nobody"};
  char path[] = P_tmpdir "/dt-kinds-XXXXXX";
  const int file = mkstemp(path);
  const char* name = NULL;
  dt_tensor* tensors[] = {new_tensor(1), new_tensor(2), new_tensor(3)};
  dt_tensor* part = NULL;
  dt_string_list* found = NULL;
  dt_tensor_list* parts = NULL;
  int64_t n = 0;
  CHECK(file >= 0);
  OK(dt_save_safetensors(path, names, 3, tensors, 3, NULL, NULL, NULL));
  OK(dt_load_safetensors(path, wanted, 2, NULL, NULL, NULL, &found, &parts));
  OK(dt_string_list_get(found, 0, &name));
  OK(dt_tensor_list_get(parts, 0, &part));
  OK(dt_tensor_numel(part, &n));
  CHECK(strcmp(name, "c") == 0 && n == 3);
  dt_tensor_release(part);
  dt_string_list_release(found);
  dt_tensor_list_release(parts);
  FAILS(INDEX_ERROR, dt_load_safetensors(path, unknown, 2, NULL, NULL, NULL, &found, &parts));
  CHECK(message_has("does not contain tensor 'nobody'") && found == NULL && parts == NULL);
  OK(dt_load_safetensors(path, wanted, 0, NULL, NULL, NULL, &found, &parts)); /* of no name */
  OK(dt_string_list_len(found, &n));
  CHECK(n == 0);
  dt_string_list_release(found);
  dt_tensor_list_release(parts);
  OK(dt_load_safetensors(path, NULL, 0, NULL, NULL, NULL, &found, &parts)); /* of every name */
  OK(dt_string_list_len(found, &n));
  CHECK(n == 3);
  dt_string_list_release(found);
  dt_tensor_list_release(parts);
  OK(dt_safetensors_names(path, &found));
  OK(dt_string_list_len(found, &n));
  CHECK(n == 3);
  dt_string_list_release(found);
  for (int i = 0; i < 3; ++i) dt_tensor_release(tensors[i]);
  close(file);
  remove(path);
}

int main(void) {
  test_scalars_and_operands();
  test_lists();
  test_results();
  test_bytes_and_strings();
  test_truth_values();
  test_optional_real_numbers();
  test_real_numbers_back();
  test_optional_strings();
  return test_end("kinds");
}
