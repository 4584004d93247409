/* Callbacks: errors come back with their text, calls may nest, and user data is dropped exactly
 * once. */
#define _XOPEN_SOURCE 700 /* mkstemp, P_tmpdir */
#include <unistd.h>

#include "tests/capi/check.h"

typedef struct {
  int calls, drops;
  int fail; /* 1: with dt_error_set; 2: with a failing call's status; 3: with a bare number; 4:
               foreign result */
} probe;

static void drop_probe(void* p) {
  ++((probe*)p)->drops;
}

static dt_status double_gradient(void* user_data, dt_tensor* grad, dt_tensor** out) {
  probe* p = user_data;
  int64_t n;
  ++p->calls;
  if (p->fail == 1) return dt_error_set(DT_STATUS_VALUE_ERROR, "the hook does not like it");
  if (p->fail == 2) return dt_tensor_size(grad, 99, &n);
  if (p->fail == 3) return 4242;
  if (p->fail == 4) return dt_default_generator(DT_DEVICE_TYPE_CPU, 0, (dt_generator**)out);
  return dt_mul(grad, NULL, DT_SCALAR_KIND_INT, 2, 0, out);
}

static dt_status same_tensor(void* user_data, dt_tensor* kept, dt_tensor** out) {
  (void)kept, (void)out; /* nothing is given: it stays as it is */
  ++((probe*)user_data)->calls;
  return DT_STATUS_OK;
}

/* The gradient of sum(3 * x) after the hook has seen it. */
static dt_status hooked_backward(probe* p, float* gradient) {
  const int64_t two = 2;
  dt_tensor *x = NULL, *y = NULL, *s = NULL, *g = NULL;
  dt_hook* hook = NULL;
  dt_status status;
  OK(dt_ones(&two, 1, DT_DTYPE_FLOAT32, 0, 0, 1, &x));
  OK(dt_tensor_register_hook(x, double_gradient, p, drop_probe, &hook));
  OK(dt_mul(x, NULL, DT_SCALAR_KIND_INT, 3, 0, &y));
  OK(dt_sum(y, NULL, 0, 0, 0, &s));
  status = dt_tensor_backward(s, NULL, NULL, 0, NULL, 0);
  if (status == DT_STATUS_OK && gradient) {
    float values[2];
    OK(dt_tensor_grad(x, &g));
    OK(dt_tensor_read(g, values, sizeof values));
    *gradient = values[1];
  }
  dt_tensor_release(g);
  dt_tensor_release(s);
  dt_tensor_release(y);
  dt_tensor_release(x);
  CHECK(p->drops == 1); /* the hook's handle keeps neither the tensor nor the function */
  OK(dt_hook_remove(hook));
  dt_hook_release(hook);
  return status;
}

static void test_hook(void) {
  probe p = {0, 0, 0};
  float gradient = 0;
  OK(hooked_backward(&p, &gradient));
  CHECK(p.calls == 1 && p.drops == 1 && gradient == 6);
}

static void test_errors(void) {
  probe p = {0, 0, 1};
  FAILS(VALUE_ERROR, hooked_backward(&p, NULL));
  CHECK(message_has("the hook does not like it") && p.drops == 1);
  p = (probe){0, 0, 2};
  FAILS(INDEX_ERROR, hooked_backward(&p, NULL));
  CHECK(message_has("Dimension out of range") && p.drops == 1);
  p = (probe){0, 0, 3};
  FAILS(CALLBACK, hooked_backward(&p, NULL));
  CHECK(message_has("4242") && p.drops == 1);
  p = (probe){0, 0, 4};
  FAILS(HANDLE, hooked_backward(&p, NULL));
  CHECK(p.drops == 1);
}

static void test_remove(void) {
  probe p = {0, 0, 1};
  const int64_t one = 1;
  dt_tensor* x = NULL;
  dt_hook* hook = NULL;
  OK(dt_ones(&one, 1, DT_DTYPE_FLOAT32, 0, 0, 1, &x));
  OK(dt_tensor_register_hook(x, double_gradient, &p, drop_probe, &hook));
  OK(dt_hook_remove(hook));
  CHECK(p.drops == 1);
  OK(dt_hook_remove(hook));
  OK(dt_tensor_backward(x, NULL, NULL, 0, NULL, 0));
  CHECK(p.calls == 0 && p.drops == 1);
  dt_hook_release(hook);
  dt_tensor_release(x);
}

/* User data is the library's from the call on, also when the call fails. */
static void test_drop_on_failure(void) {
  probe p = {0, 0, 0};
  dt_tensor* x = new_tensor(1);
  dt_hook* hook = NULL;
  FAILS(HANDLE, dt_tensor_register_hook(NULL, double_gradient, &p, drop_probe, &hook));
  CHECK(p.drops == 1);
  FAILS(TYPE_ERROR, dt_tensor_register_hook(x, NULL, &p, drop_probe, &hook));
  CHECK(p.drops == 2);
  FAILS(TYPE_ERROR, dt_tensor_register_hook(x, double_gradient, &p, drop_probe, NULL));
  CHECK(p.drops == 3);
  FAILS(RUNTIME_ERROR, dt_tensor_register_hook(x, double_gradient, &p, drop_probe, &hook));
  CHECK(p.drops == 4 && hook == NULL);
  dt_tensor_release(x);
}

/* What x * x saves, x = 1 and 1, is kept doubled, and unpacked as it is: the gradient 2 x doubles.
 */
static void test_saved_tensors(void) {
  probe packed = {0, 0, 0}, unpacked = {0, 0, 0};
  const int64_t two = 2;
  float values[2];
  dt_tensor *x = NULL, *y = NULL, *s = NULL, *g = NULL;
  OK(dt_ones(&two, 1, DT_DTYPE_FLOAT32, 0, 0, 1, &x));
  OK(dt_autograd_push_saved_tensors_hooks(double_gradient, &packed, drop_probe, same_tensor,
                                          &unpacked, drop_probe));
  OK(dt_mul(x, x, 0, 0, 0, &y));
  OK(dt_autograd_pop_saved_tensors_hooks());
  FAILS(RUNTIME_ERROR, dt_autograd_pop_saved_tensors_hooks());
  CHECK(packed.calls > 0 && unpacked.calls == 0 && packed.drops == 0);
  OK(dt_sum(y, NULL, 0, 0, 0, &s));
  OK(dt_tensor_backward(s, NULL, NULL, 0, NULL, 0));
  CHECK(unpacked.calls == packed.calls);
  OK(dt_tensor_grad(x, &g));
  OK(dt_tensor_read(g, values, sizeof values));
  CHECK(values[0] == 4.0f && values[1] == 4.0f);
  dt_tensor_release(g);
  dt_tensor_release(s);
  dt_tensor_release(y);
  dt_tensor_release(x);
  CHECK(packed.drops == 1 && unpacked.drops == 1);
}

/* y = x^3 with the backward 3 * x^2 * grad of our own. */
static dt_status cube_backward(void* user_data, dt_tensor* const* grads, int64_t grads_n,
                               dt_tensor* const* saved, int64_t saved_n, dt_tensor_list** out) {
  probe* p = user_data;
  dt_tensor *square = NULL, *scaled = NULL, *result = NULL;
  dt_status status;
  ++p->calls;
  CHECK(grads_n == 1 && saved_n == 1);
  status = dt_square(saved[0], &square);
  if (!status) status = dt_mul(square, NULL, DT_SCALAR_KIND_INT, 3, 0, &scaled);
  if (!status) status = dt_mul(scaled, grads[0], 0, 0, 0, &result);
  if (!status) status = dt_tensor_list_new(&result, 1, out);
  dt_tensor_release(square);
  dt_tensor_release(scaled);
  dt_tensor_release(result);
  return status;
}

static dt_tensor* cube(dt_tensor* x, probe* p) {
  dt_tensor *square = NULL, *y = NULL, *recorded = NULL;
  dt_tensor_list* list = NULL;
  OK(dt_set_grad_enabled(0));
  OK(dt_square(x, &square));
  OK(dt_mul(square, x, 0, 0, 0, &y));
  OK(dt_set_grad_enabled(1));
  OK(dt_custom_function("Cube", &x, 1, &y, 1, &x, 1, cube_backward, p, drop_probe, NULL, 0, &list));
  OK(dt_tensor_list_get(list, 0, &recorded));
  dt_tensor_list_release(list);
  dt_tensor_release(square);
  dt_tensor_release(y);
  return recorded;
}

static void test_custom_function(void) {
  probe p = {0, 0, 0};
  const double three = 3;
  double first = 0, second = 0;
  dt_tensor *x = NULL, *y, *g = NULL, *gg = NULL;
  dt_tensor_list* list = NULL;
  OK(dt_from_data(&three, sizeof three, NULL, 0, DT_DTYPE_FLOAT64, 0, 0, &x));
  OK(dt_tensor_requires_grad_(x, 1));
  y = cube(x, &p);
  OK(dt_autograd_grad(&y, 1, &x, 1, NULL, 0, NULL, 1, 0, &list));
  OK(dt_tensor_list_get(list, 0, &g));
  dt_tensor_list_release(list);
  OK(dt_tensor_read(g, &first, sizeof first));
  OK(dt_autograd_grad(&g, 1, &x, 1, NULL, 0, NULL, 0, 0, &list));
  OK(dt_tensor_list_get(list, 0, &gg));
  dt_tensor_list_release(list);
  OK(dt_tensor_read(gg, &second, sizeof second));
  CHECK(first == 27 && second == 18 && p.calls == 1);
  dt_tensor_release(gg);
  dt_tensor_release(g);
  dt_tensor_release(y);
  dt_tensor_release(x);
  CHECK(p.drops == 1); /* freeing the graph drops the user data */
}

static void test_blob(void) {
  probe p = {0, 0, 0};
  float memory[6] = {1, 2, 3, 4, 5, 6}, read[4];
  const int64_t size[2] = {2, 2}, stride[2] = {3, 1};
  dt_tensor *x = NULL, *view = NULL;
  FAILS(VALUE_ERROR,
        dt_from_blob(memory, 16, size, 2, stride, 2, DT_DTYPE_FLOAT32, 0, 0, &p, drop_probe, &x));
  CHECK(p.drops == 1 && x == NULL);
  OK(dt_from_blob(memory, sizeof memory, size, 2, stride, 2, DT_DTYPE_FLOAT32, 0, 0, &p, drop_probe,
                  &x));
  OK(dt_mul_(x, NULL, DT_SCALAR_KIND_INT, 10, 0));
  CHECK(memory[0] == 10 && memory[2] == 3 && memory[4] == 50);
  OK(dt_t(x, &view));
  OK(dt_tensor_read(view, read, sizeof read));
  CHECK(read[0] == 10 && read[1] == 40 && read[2] == 20 && read[3] == 50);
  FAILS(VALUE_ERROR, dt_tensor_read(view, read, 4));
  dt_tensor_release(x);
  CHECK(p.drops == 1);
  dt_tensor_release(view);
  CHECK(p.drops == 2);
}

static void test_dlpack(void) {
  float memory[4] = {1, 2, 3, 4}, read[4];
  const int64_t size[2] = {2, 2};
  void* managed = NULL;
  dt_tensor *x = NULL, *y = NULL;
  OK(dt_from_data(memory, sizeof memory, size, 2, DT_DTYPE_FLOAT32, 0, 0, &x));
  OK(dt_to_dlpack(x, &managed));
  OK(dt_from_dlpack(managed, &y));
  dt_tensor_release(x);
  OK(dt_tensor_read(y, read, sizeof read));
  CHECK(memcmp(memory, read, sizeof read) == 0);
  dt_tensor_release(y);
  FAILS(TYPE_ERROR, dt_from_dlpack(NULL, &y));
}

/* DLManagedTensorVersioned, as https://dmlc.github.io/dlpack lays it out. */
typedef struct managed_tensor {
  uint32_t major, minor;
  void* context;
  void (*deleter)(struct managed_tensor*);
  uint64_t flags;
  void* data;
  int32_t device_type, device_index, ndim;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t *shape, *strides;
  uint64_t byte_offset;
} managed_tensor;

/* The last element of a tensor that lies: its distance is the largest number, of elements or bytes.
 */
static void test_dlpack_that_lies(void) {
  const uint8_t memory[2] = {1, 2};
  float value = 1;
  const int64_t size = 2;
  void* managed = NULL;
  dt_tensor *x = NULL, *y = NULL;
  OK(dt_from_data(memory, sizeof memory, &size, 1, DT_DTYPE_UINT8, 0, 0, &x));
  OK(dt_to_dlpack(x, &managed));
  managed_tensor* m = managed;
  int64_t* const shape = m->shape;
  m->strides[0] = INT64_MAX;
  FAILS(RUNTIME_ERROR, dt_from_dlpack(m, &y));
  m->code = 0, m->bits = 64; /* int64 */
  m->strides[0] = INT64_MAX / 8;
  FAILS(RUNTIME_ERROR, dt_from_dlpack(m, &y));
  m->strides[0] = 1;
  m->shape = NULL;
  FAILS(RUNTIME_ERROR, dt_from_dlpack(m, &y));
  CHECK(message_has("shape is NULL"));
  m->device_type = 2, m->device_index = 99; /* a GPU that is not there */
  FAILS(RUNTIME_ERROR, dt_from_dlpack(m, &y));
  m->shape = shape;
  FAILS(RUNTIME_ERROR, dt_from_dlpack(m, &y));
  CHECK(message_has("device 'cuda:99' is not available"));
  m->deleter(m);
  FAILS(RUNTIME_ERROR, dt_from_blob(&value, sizeof value, NULL, 0, NULL, 0, DT_DTYPE_FLOAT32,
                                    DT_DEVICE_TYPE_CUDA, 99, NULL, NULL, &y));
  CHECK(message_has("device 'cuda:99' is not available"));
  dt_tensor_release(x);
}

/* There is one CPU, whatever number it is called by, as in PyTorch. */
static void test_numbers_of_the_cpu(void) {
  const float memory[2] = {1, 2};
  float read[2] = {0};
  const int64_t two = 2;
  void* managed = NULL;
  dt_tensor *x = NULL, *y = NULL, *z = NULL;
  OK(dt_from_data(memory, sizeof memory, &two, 1, DT_DTYPE_FLOAT32, DT_DEVICE_TYPE_CPU, 5, &x));
  OK(dt_to_dlpack(x, &managed));
  ((managed_tensor*)managed)->device_index = 7;
  OK(dt_from_dlpack(managed, &y));
  OK(dt_add(x, y, 0, 0, 0, DT_SCALAR_KIND_INT, 1, 0, &z));
  OK(dt_tensor_read(z, read, sizeof read));
  CHECK(read[1] == 4);
  dt_tensor_release(z);
  dt_tensor_release(y);
  dt_tensor_release(x);
}

/* ---- progress */

enum { kMany = 5 << 20 }; /* float32 elements: 20 MiB, which is more than one piece */
static char path[] = P_tmpdir "/dt-progress-XXXXXX";

typedef struct {
  probe p;
  int64_t done[8], total;
  int64_t stop_at; /* the call that stops the work; 0: none does */
} watch;

static dt_status watching(void* user_data, int64_t done, int64_t total, int32_t* stop) {
  watch* w = user_data;
  w->total = total;
  w->done[w->p.calls++] = done;
  if (w->p.fail) return dt_error_set(DT_STATUS_VALUE_ERROR, "the watcher does not like it");
  *stop = w->p.calls == w->stop_at;
  return DT_STATUS_OK;
}

static dt_status save(int64_t elements, watch* w) {
  const char* name = "x";
  dt_tensor* x = new_tensor(elements);
  const dt_status status =
      dt_save_safetensors(path, &name, 1, &x, 1, w ? watching : NULL, w, w ? drop_probe : NULL);
  dt_tensor_release(x);
  return status;
}

static dt_status load(watch* w, int64_t* elements) {
  dt_string_list* names = NULL;
  dt_tensor_list* tensors = NULL;
  dt_tensor* x = NULL;
  const dt_status status = dt_load_safetensors(path, NULL, 0, w ? watching : NULL, w,
                                               w ? drop_probe : NULL, &names, &tensors);
  CHECK((status == 0) == (names != NULL) && (status == 0) == (tensors != NULL));
  if (status) return status;
  OK(dt_tensor_list_get(tensors, 0, &x));
  OK(dt_tensor_numel(x, elements));
  dt_tensor_release(x);
  dt_string_list_release(names);
  dt_tensor_list_release(tensors);
  return status;
}

static void test_progress(void) {
  const int64_t piece = 16 << 20, total = 4 * (int64_t)kMany;
  watch w = {0}, r = {0};
  int64_t n = 0;
  OK(save(kMany, &w));
  OK(load(&r, &n));
  CHECK(n == kMany && w.p.drops == 1 && r.p.drops == 1);
  CHECK(w.p.calls == 3 && w.total == total && w.done[0] == 0 && w.done[1] == piece);
  CHECK(w.done[2] == total && r.p.calls == 3 && !memcmp(w.done, r.done, sizeof w.done));
  w = (watch){0};
  OK(save(0, &w));
  CHECK(w.p.calls == 1 && w.total == 0 && w.p.drops == 1);
}

/* At every place: the file is the old one, and load gives nothing back. */
static void test_cancelled(void) {
  int64_t n = 0;
  for (int64_t stop_at = 1; stop_at <= 3; ++stop_at) {
    watch w = {.stop_at = stop_at}, failing = {.p = {.fail = 1}};
    OK(save(3, NULL));
    FAILS(CANCELLED, save(kMany, &w));
    CHECK(message_has("save_safetensors: the progress function asked to stop"));
    CHECK(w.p.calls == stop_at && w.p.drops == 1);
    FAILS(VALUE_ERROR, save(kMany, &failing));
    CHECK(message_has("the watcher does not like it") && failing.p.drops == 1);
    OK(load(NULL, &n));
    CHECK(n == 3);
    OK(save(kMany, NULL));
    w = (watch){.stop_at = stop_at};
    FAILS(CANCELLED, load(&w, &n));
    CHECK(w.p.calls == stop_at && w.p.drops == 1);
  }
}

static dt_status see_and_give_five(void* user_data, dt_tensor* grad, dt_tensor** out) {
  const int64_t five = 5;
  const dt_status status = dt_tensor_read(grad, user_data, 2 * sizeof(float));
  return status ? status : dt_ones(&five, 1, DT_DTYPE_FLOAT32, 0, 0, 0, out);
}

/* Functions that are called once .grad has grown give nothing to each other. */
static void test_after_accumulation(void) {
  const int64_t two = 2;
  dt_tensor *x = NULL, *s = NULL;
  dt_hook *first = NULL, *second = NULL;
  float seen[2][2] = {{0}};
  OK(dt_ones(&two, 1, DT_DTYPE_FLOAT32, 0, 0, 1, &x));
  OK(dt_tensor_register_post_accumulate_grad_hook(x, see_and_give_five, seen[0], NULL, &first));
  OK(dt_tensor_register_post_accumulate_grad_hook(x, see_and_give_five, seen[1], NULL, &second));
  OK(dt_sum(x, NULL, 0, 0, 0, &s));
  OK(dt_tensor_backward(s, NULL, NULL, 0, NULL, 0));
  CHECK(seen[0][1] == 1 && seen[1][1] == 1);
  dt_tensor_release(s);
  dt_tensor_release(x);
  dt_hook_release(second);
  dt_hook_release(first);
}

/* Of an operation with one output and one input: before it arrived_n is 0. */
static dt_status double_all(void* user_data, dt_tensor* const* grads, int64_t grads_n,
                            dt_tensor* const* arrived, int64_t arrived_n, dt_tensor_list** out) {
  probe* p = user_data;
  dt_tensor* twice = NULL;
  dt_status status;
  (void)arrived;
  ++p->calls;
  CHECK(grads_n == 1 && (p->fail >= 9 || arrived_n == (p->fail == 8)));
  if (p->fail == 8) return dt_tensor_list_new(NULL, 0, out); /* changes nothing */
  status = dt_mul(grads[0], NULL, DT_SCALAR_KIND_INT, 2, 0, &twice);
  if (!status && p->fail == 10) {
    dt_tensor* const nothing[] = {NULL};
    status = dt_tensor_list_new(nothing, 1, out);
  } else if (!status && p->fail == 9) {
    dt_tensor* const several[] = {twice, twice};
    status = dt_tensor_list_new(several, 2, out);
  } else if (!status) {
    status = dt_tensor_list_new(&twice, 1, out);
  }
  dt_tensor_release(twice);
  return status;
}

static void test_hooks_of_operations(void) {
  const int64_t two = 2;
  dt_tensor *x = NULL, *y = NULL, *s = NULL, *g = NULL;
  dt_node* node = NULL;
  dt_hook *before = NULL, *after = NULL, *wrong = NULL, *nothing = NULL;
  probe first = {0, 0, 0}, second = {0, 0, 8}, third = {0, 0, 9}, fourth = {0, 0, 10};
  float values[2];
  OK(dt_ones(&two, 1, DT_DTYPE_FLOAT32, 0, 0, 1, &x));
  OK(dt_neg(x, &y));
  OK(dt_tensor_node(y, &node));
  OK(dt_node_register_hook(node, double_all, &first, drop_probe, 1, &before));
  OK(dt_node_register_hook(node, double_all, &second, drop_probe, 0, &after));
  OK(dt_sum(y, NULL, 0, 0, 0, &s));
  OK(dt_tensor_backward(s, NULL, (int32_t[]){1}, 0, NULL, 0));
  OK(dt_tensor_grad(x, &g));
  OK(dt_tensor_read(g, values, sizeof values));
  CHECK(first.calls == 1 && second.calls == 1 && values[1] == -2);
  OK(dt_hook_remove(before));
  CHECK(first.drops == 1 && second.drops == 0);
  OK(dt_node_register_hook(node, double_all, &third, drop_probe, 1, &wrong));
  FAILS(RUNTIME_ERROR, dt_tensor_backward(s, NULL, NULL, 0, NULL, 0));
  CHECK(strstr(dt_error_message(), "incorrect number of values (got 2, but expected 1)"));
  OK(dt_hook_remove(wrong));
  OK(dt_node_register_hook(node, double_all, &fourth, drop_probe, 1, &nothing));
  OK(dt_tensor_backward(s, NULL, NULL, 0, NULL, 0));
  CHECK(fourth.calls == 1 && second.calls == 2);
  OK(dt_tensor_read(g, values, sizeof values)); /* what backward has added to */
  CHECK(values[1] == -2);
  dt_node_release(node);
  dt_hook_release(nothing);
  dt_hook_release(before);
  dt_hook_release(after);
  dt_hook_release(wrong);
  dt_tensor_release(g);
  dt_tensor_release(s);
  dt_tensor_release(y);
  CHECK(second.drops == 1 && third.drops == 1);
  dt_tensor_release(x);
}

/* A function that is absent still hands over its user data. */
static void test_absent_progress(void) {
  const char* name = "x";
  dt_tensor* x = new_tensor(1);
  probe p = {0, 0, 0};
  OK(dt_save_safetensors(path, &name, 1, &x, 1, NULL, &p, drop_probe));
  CHECK(p.drops == 1);
  FAILS(VALUE_ERROR, dt_save_safetensors(path, &name, 1, &x, 0, NULL, &p, drop_probe));
  CHECK(p.drops == 2);
  dt_tensor_release(x);
}

/* What a garbage collector asks: would releasing this handle free the tensor and its node? */
static void test_sole_owner(void) {
  const int64_t two = 2;
  int64_t node = -1, other = -1;
  dt_tensor *x = NULL, *y = NULL, *z = NULL, *again = NULL;
  OK(dt_ones(&two, 1, DT_DTYPE_FLOAT32, 0, 0, 1, &x));
  CHECK(dt_tensor_sole_owner(x, &node) == 1 && node == 0);
  OK(dt_mul(x, NULL, DT_SCALAR_KIND_INT, 3, 0, &y));
  CHECK(dt_tensor_sole_owner(x, NULL) == 0); /* the graph has it too */
  CHECK(dt_tensor_sole_owner(y, &node) == 1 && node > 0);
  OK(dt_mul(y, NULL, DT_SCALAR_KIND_INT, 3, 0, &z));
  CHECK(dt_tensor_sole_owner(y, &other) == 0 && other == node);
  dt_tensor_release(z);
  CHECK(dt_tensor_sole_owner(y, NULL) == 1);
  OK(dt_tensor_alias(y, &again));
  CHECK(dt_tensor_sole_owner(y, NULL) == 0 && dt_tensor_sole_owner(again, NULL) == 0);
  dt_tensor_release(again);
  dt_tensor_release(y);
  dt_error_clear();
  CHECK(dt_tensor_sole_owner(y, &node) == 0 && node == 0 && dt_error_code() == DT_STATUS_OK);
  CHECK(dt_tensor_sole_owner(NULL, NULL) == 0);
  dt_tensor_release(x);
}

int main(void) {
  const int file = mkstemp(path);
  CHECK(file >= 0);
  test_hook();
  test_errors();
  test_remove();
  test_drop_on_failure();
  test_saved_tensors();
  test_custom_function();
  test_blob();
  test_dlpack();
  test_dlpack_that_lies();
  test_numbers_of_the_cpu();
  test_after_accumulation();
  test_hooks_of_operations();
  test_progress();
  test_cancelled();
  test_absent_progress();
  close(file);
  remove(path);
  test_sole_owner();
  return test_end("callbacks");
}
