/* What a collector is told that handles hold: sums of sizes, in bytes. */
#include "tests/capi/check.h"

enum { FLOAT = 4, WEIGHTS = (3 * 5 + 5) * FLOAT };

static void test_tensors(void) {
  dt_tensor *x = new_tensor(6), *view = NULL, *pair[2];
  dt_tensor_list* list = NULL;
  dt_dataset* dataset = NULL;
  dt_data_loader* loader = NULL;
  OK(dt_narrow(x, 0, 2, 3, &view));
  CHECK(dt_handle_nbytes(x) == 6 * FLOAT && dt_handle_nbytes(view) == 6 * FLOAT);
  pair[0] = x;
  pair[1] = view;
  OK(dt_tensor_list_new(pair, 2, &list));
  CHECK(dt_handle_nbytes(list) == 6 * FLOAT); /* one storage */
  dt_tensor_list_release(list);
  pair[1] = new_tensor(6);
  OK(dt_tensor_list_new(pair, 2, &list));
  OK(dt_dataset_new(pair, 2, &dataset));
  OK(dt_data_loader_new(dataset, NULL, &loader));
  CHECK(dt_handle_nbytes(list) == 12 * FLOAT && dt_handle_nbytes(dataset) == 12 * FLOAT);
  CHECK(dt_handle_nbytes(loader) == 12 * FLOAT);
  dt_data_loader_release(loader);
  dt_dataset_release(dataset);
  dt_tensor_list_release(list);
  dt_tensor_release(pair[1]);
  dt_tensor_release(view);
  dt_tensor_release(x);
}

static void test_texts(void) {
  dt_bytes* text = NULL;
  const void* data;
  int64_t n = 0;
  OK(dt_build_info(&text));
  OK(dt_bytes_data(text, &data, &n));
  CHECK(n > 0 && dt_handle_nbytes(text) == n);
  dt_bytes_release(text);
}

static void test_modules(void) {
  dt_module *all = NULL, *linear = NULL, *norm = NULL;
  OK(dt_nn_sequential(&all));
  OK(dt_nn_linear(3, 5, NULL, &linear));
  OK(dt_nn_batch_norm1d(5, NULL, &norm));
  OK(dt_module_append(all, linear));
  OK(dt_module_append(all, norm));
  CHECK(dt_handle_nbytes(linear) == WEIGHTS);
  CHECK(dt_handle_nbytes(norm) == 4 * 5 * FLOAT + 8); /* and how many batches it has seen */
  CHECK(dt_handle_nbytes(all) == WEIGHTS + 4 * 5 * FLOAT + 8);
  OK(dt_module_append(all, linear)); /* the same again */
  CHECK(dt_handle_nbytes(all) == WEIGHTS + 4 * 5 * FLOAT + 8);
  dt_module_release(all);
  dt_module_release(linear);
  dt_module_release(norm);
}

static void test_optimizers(void) {
  const int64_t size[2] = {5, 3};
  dt_tensor* params[2] = {NULL, new_tensor(5)};
  dt_optimizer* adam = NULL;
  dt_lr_scheduler* schedule = NULL;
  OK(dt_zeros(size, 2, 0, 0, 0, 0, &params[0]));
  for (int i = 0; i < 2; ++i) OK(dt_tensor_requires_grad_(params[i], 1));
  OK(dt_optim_adam(params, 2, NULL, &adam));
  OK(dt_optim_step_lr(adam, 1, 0.5, &schedule));
  CHECK(dt_handle_nbytes(adam) == WEIGHTS);
  for (int i = 0; i < 2; ++i) {
    dt_tensor* grad = NULL;
    OK(dt_zeros_like(params[i], 0, 0, 0, 0, 0, &grad));
    OK(dt_tensor_set_grad(params[i], grad));
    dt_tensor_release(grad);
  }
  OK(dt_optimizer_step(adam));
  CHECK(dt_handle_nbytes(adam) == 3 * WEIGHTS + 2 * FLOAT); /* two averages, and two counts */
  CHECK(dt_handle_nbytes(schedule) == 3 * WEIGHTS + 2 * FLOAT);
  dt_lr_scheduler_release(schedule);
  dt_optimizer_release(adam);
  for (int i = 0; i < 2; ++i) dt_tensor_release(params[i]);
}

static void test_caches(void) {
  const int64_t size[2] = {1, 3};
  dt_tensor *key = NULL, *keys = NULL, *values = NULL;
  dt_kv_cache* cache = NULL;
  OK(dt_kv_cache_new(8, &cache));
  CHECK(dt_handle_nbytes(cache) == 0);
  OK(dt_zeros(size, 2, 0, 0, 0, 0, &key));
  OK(dt_kv_cache_update(cache, key, key, &keys, &values));
  CHECK(dt_handle_nbytes(cache) == 2 * 8 * 3 * FLOAT);
  dt_tensor_release(key);
  dt_tensor_release(keys);
  dt_tensor_release(values);
  dt_kv_cache_release(cache);
}

/* A collector has nothing to do with errors. */
static void test_no_handles(void) {
  dt_tensor* x = new_tensor(3);
  dt_generator* g = NULL;
  int64_t n = 7;
  OK(dt_default_generator(DT_DEVICE_TYPE_CPU, 0, &g));
  CHECK(dt_handle_nbytes(g) == 0);
  dt_generator_release(g);
  dt_tensor_release(x);
  FAILS(HANDLE, dt_tensor_numel(NULL, &n));
  CHECK(dt_handle_nbytes(NULL) == 0 && dt_handle_nbytes(x) == 0 && dt_handle_nbytes(&n) == 0);
  CHECK(message_has("input is NULL"));
  dt_error_clear();
}

int main(void) {
  test_tensors();
  test_texts();
  test_modules();
  test_optimizers();
  test_caches();
  test_no_handles();
  return test_end("held");
}
