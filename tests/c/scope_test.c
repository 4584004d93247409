/* dt.h: scopes, the first error, named arguments, callbacks. What the functions compute is tested
 * by conformance_test.c. */
#define _XOPEN_SOURCE 700 /* mkstemp, P_tmpdir */
#include <dt.h>
#include <unistd.h>

static int failures;

#define CHECK(condition) check_((condition), #condition, __LINE__)
static void check_(int condition, const char* text, int line) {
  if (condition) return;
  failures++;
  fprintf(stderr, "line %d: %s (%s)\n", line, text, T_message());
}

static int64_t live(void) {
  return dt_live_handles(NULL);
}

static void test_scope_releases_what_it_made(void) {
  T_SCOPE {
    dt_tensor* x = T_ones(T_DIMS(2, 3));
    for (int i = 0; i < 100; i++) x = T_add(x, 1); /* more than a scope has room for at first */
    CHECK(T_item_double(T_sum(x)) == 606);
    CHECK(live() > 100);
  }
  CHECK(live() == 0);
}

static int leave_early(int how) {
  T_SCOPE {
    dt_tensor* x = T_zeros(T_NO_DIMS);
    if (how == 1) return 1;
    if (how == 2) break;
    if (how == 3) goto end;
    T_add(x, 1);
  }
end:
  return 0;
}

static void test_every_way_out_releases(void) {
  for (int how = 0; how < 4; how++) leave_early(how);
  CHECK(live() == 0);
}

static dt_tensor* sum_of_squares(dt_tensor* x) {
  dt_tensor* result = NULL;
  T_SCOPE {
    result = (dt_tensor*)T_pass_out(T_sum(T_square(x)));
  }
  return result;
}

static void test_results_outlive_their_scope(void) {
  dt_tensor* kept = NULL;
  T_SCOPE {
    CHECK(T_item_double(sum_of_squares(T_FLOATS(T_DIMS(3), 1, 2, 3))) == 14);
    CHECK(live() == 2); /* the input and the result */
    kept = (dt_tensor*)T_keep(T_full(T_DIMS(2), 7));
  }
  CHECK(live() == 1);
  CHECK(T_item_int(T_sum(kept)) == 14); /* without a scope, a result is the caller's */
  CHECK(live() == 2);
  dt_tensor_release(kept);
  CHECK(live() == 1);
}

static void test_machine_layer_is_left_alone(void) {
  dt_tensor* other = NULL;
  const int64_t size = 2;
  T_SCOPE {
    CHECK(dt_ones(&size, 1, 0, 0, 0, 0, &other) == 0);
  }
  CHECK(live() == 1);
  dt_tensor_release(other);
}

static void test_first_error_is_kept(void) {
  T_SCOPE {
    dt_tensor* x = T_ones(T_DIMS(2, 3));
    dt_tensor* y = T_relu(T_matmul(T_add(x, 1), x)); /* shapes do not fit */
    CHECK(y == NULL);
    CHECK(T_status() == DT_STATUS_RUNTIME_ERROR);
    CHECK(T_sum(x) == NULL); /* nothing works any more */
    CHECK(isnan(T_item_double(x)));
    T_SCOPE {
      CHECK(T_ones(T_DIMS(1)) == NULL);
    }
    CHECK(strstr(T_message(), "mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)") != NULL);
    CHECK(strncmp(T_message(), "matmul: ", 8) == 0);
    CHECK(T_clear() == DT_STATUS_RUNTIME_ERROR);
    CHECK(T_sum(x) != NULL);
    T_sum(x, .dim = T_DIMS(5));
  }
  CHECK(T_status() == DT_STATUS_INDEX_ERROR); /* can be read after the scope */
  T_SCOPE {
    CHECK(T_status() == 0);
  } /* and is gone with the next */
}

static void test_named_arguments(void) {
  T_SCOPE {
    dt_tensor* x = T_FLOATS(T_DIMS(2, 3), 1, 2, 3, 4, 5, 6);
    dt_tensor* indices = NULL;
    CHECK(T_dim(T_sum(x, .keepdim = 1, .dim = T_DIMS(1))) == 2);
    CHECK(T_item_double(T_prod(T_sum(x, .dim = T_DIMS(0)), .dim = T_INT(0))) == 5 * 7 * 9);
    CHECK(T_dtype(T_sum(x, .dtype = DT_DTYPE_FLOAT64)) == DT_DTYPE_FLOAT64);
    CHECK(T_item_double(T_sum(T_add(x, x, .alpha = T_NUM(0.5)))) == 31.5);
    CHECK(T_item_double(T_sum(T_clamp(x, .max = T_OP(2)))) == 11);
    CHECK(T_item_int(T_sum(T_max_dim(x, 1, .indices = &indices))) == 9);
    CHECK(T_item_int(T_sum(indices)) == 4);
    CHECK(T_item_double(T_sum(T_pow(2, x))) == 126);
    CHECK(T_dtype(T_full(T_DIMS(1), (_Bool)1)) == DT_DTYPE_BOOL);
    CHECK(T_dtype(T_full(T_DIMS(1), 1)) == DT_DTYPE_INT64);
    CHECK(T_shape(T_eye(2, .m = T_INT(5))).v[1] == 5);
    CHECK(T_size(T_max_pool2d(T_ones(T_DIMS(1, 4, 4)), T_DIMS(2)), 2) == 2);
    CHECK(T_size(T_cat(T_LIST(x, x), .dim = 1), 1) == 6);
    CHECK(T_add_(x, 1) == x);
    CHECK(T_device(T_cpu(x)).type == DT_DEVICE_TYPE_CPU && T_is_same(T_cpu(x), x));
    CHECK(T_stream_native(T_current_stream(.device = T_CPU)) == 0);
    CHECK(strstr(T_text(T_to_string(x)), "tensor([[2., 3., 4.]") != NULL);
    CHECK(T_status() == 0);
  }
  CHECK(live() == 0);
}

static void test_lists_and_modules(void) {
  T_SCOPE {
    dt_tensor_list* pieces = T_chunk(T_arange(0, 6), 3);
    CHECK(T_tensor_list_len(pieces) == 3);
    CHECK(T_item_int(T_sum(T_cat(T_entries(pieces)))) == 15);
    dt_tensor_list* state = NULL;
    dt_module* net = T_SEQUENTIAL(T_nn_linear(3, 2, .bias = 0), T_nn_relu());
    dt_string_list* names = T_module_state_dict(net, .tensors = &state);
    CHECK(T_string_list_len(names) == 1);
    CHECK(T_size(T_tensor_list_get_named(names, state, "0.weight"), 0) == 2);
    CHECK(T_tensor_list_get_named(names, state, "0.bias") == NULL);
    CHECK(T_status() == DT_STATUS_INDEX_ERROR);
  }
  CHECK(live() == 0);
}

static void test_module_files(void) {
  char path[] = P_tmpdir "/dt-module-XXXXXX";
  const int file = mkstemp(path);
  CHECK(file >= 0);
  T_SCOPE {
    dt_tensor* x = T_randn(T_DIMS(4, 3));
    dt_module *a = T_nn_linear(3, 2), *b = T_nn_linear(3, 2);
    T_module_save(a, path);
    T_module_load(b, path);
    CHECK(T_item_double(T_sum(T_abs(T_sub(T_module_forward(a, x), T_module_forward(b, x))))) == 0);
    dt_module* plain = T_nn_linear(3, 2, .bias = 0);
    T_module_load(plain, path, .strict = 0);
    CHECK(T_status() == 0);
    T_module_load(plain, path);
    CHECK(T_status() == DT_STATUS_RUNTIME_ERROR);
    CHECK(strstr(T_message(), "module_load: Error(s) in loading state_dict for Linear") != NULL);
  }
  CHECK(live() == 0);
  close(file);
  remove(path);
}

/* The first running mean after a batch of ones and one of threes. */
static double running_mean(dt_module* norm) {
  double mean = -1;
  T_SCOPE {
    dt_tensor_list* buffers = NULL;
    dt_string_list* names = T_module_named_buffers(norm, .tensors = &buffers);
    T_module_forward(norm, T_ones(T_DIMS(4, 1)));
    T_module_forward(norm, T_full(T_DIMS(4, 1), 3.0));
    mean = T_item_double(T_tensor_list_get_named(names, buffers, "running_mean"));
  }
  return mean;
}

static void test_absent_where_it_is_not_the_default(void) {
  T_SCOPE {
    CHECK(running_mean(T_nn_batch_norm1d(1, .momentum = T_NO_NUM)) == 2);
    CHECK(running_mean(T_nn_batch_norm1d(1, .momentum = T_NUM(1))) == 3);
    const double usual = running_mean(T_nn_batch_norm1d(1)); /* 0.9 * 0.1 + 0.3 */
    CHECK(usual > 0.3899 && usual < 0.3901);
    CHECK(T_status() == 0);
  }
  CHECK(live() == 0);
}

static void test_memory_of_the_program(void) {
  double numbers[] = {1, 2, 3, 4};
  const double others[] = {5, 6, 7, 8};
  double copy[4] = {0};
  T_SCOPE {
    dt_tensor* x = T_from_blob(numbers, sizeof numbers, T_DIMS(2, 2), DT_DTYPE_FLOAT64);
    T_mul_(x, 2);
    CHECK(numbers[3] == 8); /* the tensor looks at the array itself */
    CHECK(T_read(x, copy, sizeof copy) == 0 && copy[2] == 6);
    CHECK(T_write(x, others, sizeof others) == 0 && numbers[0] == 5);
    CHECK(T_item_int(T_sum(T_LONGS(T_DIMS(3), 1, 2, 3))) == 6);
    CHECK(T_dtype(T_LONGS(T_DIMS(1), 1)) == DT_DTYPE_INT64);
    CHECK(T_item_int(T_sum(T_to(x, .device = T_CPU))) == 26);
    CHECK(T_write(x, others, sizeof others - 1) == DT_STATUS_VALUE_ERROR);
  }
  T_clear();
  CHECK(live() == 0);
}

static void test_modules_by_hand(void) {
  T_SCOPE {
    dt_module *outer = T_module_new("Block"), *inner = T_nn_linear(2, 2);
    dt_tensor* scale = T_requires_grad_(T_ones(T_DIMS(2)));
    T_module_register_parameter(outer, "scale", scale);
    T_module_register_buffer(outer, "steps", T_zeros(T_NO_DIMS));
    T_module_register_module(outer, "first", inner);
    T_module_register_module(outer, "second", inner); /* tied: its parameters count once */
    CHECK(T_module_children_len(outer) == 2);
    CHECK(T_tensor_list_len(T_module_parameters(outer)) == 3);
    dt_tensor_list* state = NULL;
    dt_string_list* names = T_module_state_dict(outer, .tensors = &state);
    CHECK(T_string_list_len(names) == 6);
    CHECK(T_is_set_to(T_tensor_list_get_named(names, state, "second.weight"),
                      T_tensor_list_get_named(names, state, "first.weight")));
    T_module_train(outer, .mode = 0);
    CHECK(!T_module_is_training(inner));
    T_module_to(outer, .dtype = DT_DTYPE_FLOAT64);
    CHECK(T_dtype(scale) == DT_DTYPE_FLOAT64);
    dt_optimizer* sgd = T_optim_sgd(T_LIST(scale), .lr = 0.5);
    T_optimizer_add_param_group(sgd, T_entries(T_module_parameters(inner)));
    CHECK(T_optimizer_group_count(sgd) == 2);
    T_optimizer_set(sgd, "lr", 0.25, .group = 1);
    T_backward(T_add(T_sum(scale), T_sum(T_module_forward(
                                       inner, T_ones(T_DIMS(1, 2), .dtype = DT_DTYPE_FLOAT64)))));
    dt_tensor* bias = T_tensor_list_get(T_module_parameters(inner), 1);
    const double before = T_item_double(T_sum(bias));
    T_optimizer_step(sgd);
    CHECK(T_item_double(T_sum(scale)) == 1);
    CHECK(T_item_double(T_sum(bias)) - before + 0.5 < 1e-12);
    T_module_zero_grad(outer);
    CHECK(T_status() == 0);
  }
  CHECK(live() == 0);
}

static int dropped;
static void count_drop(void* user_data) {
  (void)user_data;
  dropped++;
}

static dt_status double_gradient(void* user_data, dt_tensor* grad, dt_tensor** out) {
  *(int*)user_data += 1;
  T_SCOPE {
    *out = (dt_tensor*)T_keep(T_mul(grad, 2));
  }
  return T_status();
}

static void test_callbacks(void) {
  int calls = 0;
  T_SCOPE {
    dt_tensor* x = T_requires_grad_(T_ones(T_DIMS(3)));
    T_register_hook(x, T_TENSOR_HOOK(double_gradient, &calls, count_drop));
    T_backward(T_sum(T_mul(x, 3)));
    CHECK(T_item_double(T_sum(T_grad(x))) == 18);
    CHECK(T_status() == 0);
  }
  CHECK(calls == 1);
  CHECK(live() == 0);
  T_SCOPE {
    T_reshape(T_ones(T_DIMS(3)), T_DIMS(2)); /* fails */
    T_register_hook(NULL, T_TENSOR_HOOK(double_gradient, &calls, count_drop));
  }
  CHECK(dropped == 2); /* also where the call did not happen */
}

static dt_status stop_at_once(void* user_data, int64_t done, int64_t total, int32_t* stop) {
  ++*(int*)user_data;
  *stop = done == 0 && total == 12;
  return DT_STATUS_OK;
}

static void test_safetensors(void) {
  char path[] = P_tmpdir "/dt-tensors-XXXXXX";
  const int file = mkstemp(path);
  int calls = 0;
  CHECK(file >= 0);
  dropped = 0;
  T_SCOPE {
    const T_Strings both = T_STRINGS("a", "b");
    dt_tensor_list* found = NULL;
    T_save_safetensors(path, both, T_LIST(T_ones(T_DIMS(2)), T_FLOATS(T_DIMS(1), 7)));
    CHECK(T_status() == 0);
    dt_string_list* names = T_load_safetensors(path, .only = T_STRINGS("b"), .tensors = &found);
    CHECK(T_string_list_len(names) == 1);
    CHECK(T_item_double(T_tensor_list_get(found, 0)) == 7);
    CHECK(T_string_list_len(T_safetensors_names(path)) == 2);
    const T_Progress progress = T_PROGRESS(stop_at_once, &calls, count_drop);
    CHECK(T_load_safetensors(path, .progress = progress, .tensors = &found) == NULL);
    CHECK(T_status() == DT_STATUS_CANCELLED && found == NULL && calls == 1 && dropped == 1);
    CHECK(T_load_safetensors(path, .progress = progress) == NULL);
    T_save_safetensors(path, both, T_LIST(NULL), .progress = progress);
    CHECK(calls == 1 && dropped == 3); /* nothing is called after the error, but dropped */
  }
  CHECK(live() == 0);
  close(file);
  remove(path);
}

static void test_lists_of_other_numbers(void) {
  T_SCOPE {
    dt_tensor* mask = T_BOOLS(T_DIMS(2, 2), 1, 0, 0, 1);
    CHECK(T_dtype(mask) == DT_DTYPE_BOOL && T_size(mask, 1) == 2);
    CHECK(T_item_int(T_sum(mask)) == 2);
    CHECK(T_numel(T_from_bools(T_FLAGS(1, 0, 1))) == 3);
    dt_tensor* x = T_ones(T_DIMS(1, 1, 2, 3));
    CHECK(T_numel(T_interpolate(x, .scale_factor = T_REALS(2))) == 24);
    CHECK(T_numel(T_interpolate(x, .scale_factor = T_REALS(2, 1))) == 12);
    CHECK(T_numel(T_module_forward(T_nn_upsample(.size = T_DIMS(5)), x)) == 25);
    dt_optimizer* sgd = T_optim_sgd(T_LIST(x), .lr = 0.5);
    T_Doubles rates = T_lr_scheduler_get_last_lr(T_optim_step_lr(sgd, 1));
    CHECK(rates.n == 1 && rates.v[0] == 0.5);
    CHECK(T_status() == 0);
  }
  CHECK(live() == 0);
}

static void test_settings(void) {
  int64_t reserved = -1;
  T_SCOPE {
    T_set_grad_enabled(0);
    CHECK(!T_is_grad_enabled());
    T_set_grad_enabled(1);
    CHECK(T_memory_stats(.reserved = &reserved) >= 0);
    CHECK(reserved >= 0);
    CHECK(T_memory_stats() >= 0);
  }
}

int main(void) {
  test_scope_releases_what_it_made();
  test_every_way_out_releases();
  test_machine_layer_is_left_alone();
  test_first_error_is_kept();
  test_named_arguments();
  test_lists_and_modules();
  test_module_files();
  test_absent_where_it_is_not_the_default();
  test_memory_of_the_program();
  test_modules_by_hand();
  test_callbacks();
  test_safetensors();
  test_lists_of_other_numbers();
  test_settings();
  test_results_outlive_their_scope(); /* leaves one handle: last */
  return failures != 0;
}
