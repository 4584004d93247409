/* Errors: codes and texts, the thread's own, and what is in force in a context. */
#include <pthread.h>

#include "tests/capi/check.h"

static void test_message(void) {
  int64_t n;
  dt_tensor *t = new_tensor(3), *out = t;
  dt_error_clear();
  CHECK(dt_error_code() == DT_STATUS_OK && strcmp(dt_error_message(), "") == 0);
  FAILS(INDEX_ERROR, dt_tensor_size(t, 5, &n));
  CHECK(strncmp(dt_error_message(), "tensor_size: Dimension out of range", 35) == 0);
  /* A call that succeeds leaves the last error alone. */
  OK(dt_tensor_size(t, 0, &n));
  CHECK(n == 3 && dt_error_code() == DT_STATUS_INDEX_ERROR);
  FAILS(RUNTIME_ERROR, dt_view(t, (const int64_t[]){2, 2}, 2, &out));
  CHECK(out == NULL);
  CHECK(message_has("view: ") && message_has("3"));
  dt_tensor_release(t);
}

static void test_error_set(void) {
  CHECK(dt_error_set(DT_STATUS_VALUE_ERROR, "mine") == DT_STATUS_VALUE_ERROR);
  CHECK(dt_error_code() == DT_STATUS_VALUE_ERROR && strcmp(dt_error_message(), "mine") == 0);
  CHECK(dt_error_set(0, "no error is an error too") == DT_STATUS_CALLBACK);
  CHECK(dt_error_set(DT_STATUS_LINALG_ERROR, "singular") == DT_STATUS_LINALG_ERROR);
  CHECK(dt_error_set(DT_STATUS_GRADCHECK_ERROR, "wrong") == DT_STATUS_GRADCHECK_ERROR);
  CHECK(dt_error_set(DT_STATUS_ASSERTION_ERROR, "no") == DT_STATUS_ASSERTION_ERROR);
  CHECK(dt_error_set(1234, NULL) == DT_STATUS_CALLBACK && strcmp(dt_error_message(), "") == 0);
  dt_error_clear();
}

static void* fail_elsewhere(void* unused) {
  int64_t n;
  (void)unused;
  CHECK(dt_error_code() == DT_STATUS_OK);
  FAILS(HANDLE, dt_tensor_numel(NULL, &n));
  return NULL;
}

static void test_threads(void) {
  pthread_t thread;
  (void)dt_error_set(DT_STATUS_IO, "of the first thread");
  pthread_create(&thread, NULL, fail_elsewhere, NULL);
  pthread_join(thread, NULL);
  CHECK(dt_error_code() == DT_STATUS_IO && message_has("of the first thread"));
  dt_error_clear();
}

static void test_context(void) {
  dt_context *fresh = NULL, *before = NULL, *again = NULL;
  int32_t on = 1;
  dt_dtype dtype = 0;
  OK(dt_set_grad_enabled(0));
  (void)dt_error_set(DT_STATUS_IO, "outside");
  OK(dt_context_new(&fresh));
  OK(dt_context_swap(fresh, &before));
  OK(dt_is_grad_enabled(&on));
  CHECK(on == 1 && dt_error_code() == DT_STATUS_OK);
  OK(dt_set_default_dtype(DT_DTYPE_FLOAT64));
  FAILS(TYPE_ERROR, dt_set_default_dtype(DT_DTYPE_INT64));
  OK(dt_context_swap(before, &again));
  OK(dt_is_grad_enabled(&on));
  OK(dt_get_default_dtype(&dtype));
  CHECK(on == 0 && dtype == DT_DTYPE_FLOAT32 && message_has("outside"));
  OK(dt_set_grad_enabled(1));
  dt_context_release(fresh);
  dt_context_release(before);
  dt_context_release(again);
}

static void test_text(void) {
  dt_bytes* info = NULL;
  const void* text = NULL;
  int64_t n = 0;
  OK(dt_build_info(&info));
  OK(dt_bytes_data(info, &text, &n));
  CHECK(n > 10 && ((const char*)text)[n] == 0 && strstr(text, "dumbtorch") != NULL);
  dt_bytes_release(info);
  CHECK(dt_abi_version() == DT_API_VERSION);
}

static int logged, dropped;

static dt_status count_log(void* user_data, dt_log_level level, const char* message) {
  CHECK(user_data == &logged && level != 0 && message != NULL);
  ++logged;
  return DT_STATUS_OK;
}

static void count_drop(void* user_data) {
  CHECK(user_data == &logged);
  ++dropped;
}

static void test_log(void) {
  OK(dt_set_log(count_log, &logged, count_drop));
  CHECK(dropped == 0);
  OK(dt_set_log(NULL, &logged, count_drop));
  CHECK(dropped == 2);
}

/* ---- status and message belong together, whatever runs after the failure */

static int drops;

static void fail_in_drop(void* stale) {
  dt_tensor* out = NULL;
  int64_t n;
  drops++;
  CHECK(dt_error_code() == DT_STATUS_OK); /* nobody's errors begin from nothing */
  FAILS(HANDLE, dt_relu(NULL, &out));
  FAILS(HANDLE, dt_tensor_numel(stale, &n));
  dt_tensor_release(stale);
}

static dt_tensor* stale_in_log;

static dt_status fail_in_log(void* user_data, dt_log_level level, const char* message) {
  CHECK(level == DT_LOG_LEVEL_WARNING);
  CHECK(strcmp(message, "tensor_release: handle is a tensor that was released") == 0);
  ++*(int*)user_data;
  FAILS(TYPE_ERROR, dt_context_new(NULL));
  dt_tensor_release(stale_in_log); /* a warning that the log does not hear of */
  return DT_STATUS_OK;
}

/* A short message lies in the string itself, a long one in memory of its own. */
static void test_drops_keep_the_error(int with_long_message) {
  const int64_t four = 4, six = 6;
  float memory[4] = {0};
  dt_tensor *stale = new_tensor(1), *view = NULL, *wrong = NULL;
  dt_tensor_release(stale);
  drops = 0;

  /* The failing call itself drops. */
  FAILS(VALUE_ERROR, dt_from_blob(memory, sizeof memory, &six, 1, NULL, 0, DT_DTYPE_FLOAT32, 0, 0,
                                  stale, fail_in_drop, &wrong));
  CHECK(drops == 1 && message_has("from_blob: data has 16 bytes"));

  /* So does a release between the failure and a look at the message. */
  OK(dt_from_blob(memory, sizeof memory, &four, 1, NULL, 0, DT_DTYPE_FLOAT32, 0, 0, stale,
                  fail_in_drop, &view));
  (void)dt_error_set(DT_STATUS_IO, with_long_message ? "a message of more than 15 bytes" : "mine");
  const char* message = dt_error_message();
  dt_tensor_release(view);
  CHECK(drops == 2 && dt_error_code() == DT_STATUS_IO && dt_error_message() == message);
  CHECK(strcmp(message, with_long_message ? "a message of more than 15 bytes" : "mine") == 0);
}

static void leave_another_context(void* unused) {
  dt_context *fresh = NULL, *before = NULL;
  (void)unused;
  OK(dt_context_new(&fresh));
  OK(dt_context_swap(fresh, &before));
  (void)dt_error_set(DT_STATUS_IO, "said in another context");
  dt_context_release(before);
  dt_context_release(fresh);
}

static void test_drops_leave_the_context(void) {
  const int64_t six = 6;
  float memory[4] = {0};
  dt_context* before = NULL;
  dt_tensor* wrong = NULL;
  FAILS(VALUE_ERROR, dt_from_blob(memory, sizeof memory, &six, 1, NULL, 0, DT_DTYPE_FLOAT32, 0, 0,
                                  NULL, leave_another_context, &wrong));
  CHECK(dt_error_code() == DT_STATUS_VALUE_ERROR && message_has("from_blob: data has 16 bytes"));
  OK(dt_context_swap(NULL, &before));
  CHECK(before == NULL);
}

static void release_next(void* tensor) {
  drops++;
  dt_tensor_release(tensor);
}

/* Each tensor's drop releases the next one, more of them than a stack has room for. */
static void test_chains_of_drops(void) {
  enum { kTensors = 300000 };
  static float memory;
  const int64_t one = 1;
  dt_tensor* last = NULL;
  for (int i = 0; i < kTensors; i++) {
    dt_tensor* t = NULL;
    OK(dt_from_blob(&memory, sizeof memory, &one, 1, NULL, 0, DT_DTYPE_FLOAT32, 0, 0, last,
                    release_next, &t));
    last = t;
  }
  drops = 0;
  dt_tensor_release(last);
  CHECK(drops == kTensors);
}

static void test_releases_keep_the_error(void) {
  dt_tensor* stale = new_tensor(1);
  int warnings = 0;
  int64_t n;
  stale_in_log = stale;
  dt_tensor_release(stale);
  FAILS(HANDLE, dt_tensor_numel(NULL, &n));
  dt_tensor_release(stale); /* nobody listens */
  CHECK(dt_error_code() == DT_STATUS_HANDLE && message_has("tensor_numel: input is NULL"));
  OK(dt_set_log(fail_in_log, &warnings, NULL));
  dt_tensor_release(stale);
  CHECK(warnings == 1);
  CHECK(dt_error_code() == DT_STATUS_HANDLE && message_has("tensor_numel: input is NULL"));
  dt_error_clear();
  dt_tensor_release(stale);
  CHECK(warnings == 2 && dt_error_code() == DT_STATUS_OK);
  OK(dt_set_log(NULL, NULL, NULL));
}

/* What a callback reports is the failing call's error, although a drop fails behind it. */
static dt_status report(void* user_data, dt_tensor* grad, dt_tensor** out) {
  (void)user_data, (void)grad, (void)out;
  return dt_error_set(DT_STATUS_VALUE_ERROR, "the hook's own words");
}

static void test_callbacks_and_drops(void) {
  const int64_t one = 1;
  dt_tensor *x = NULL, *y = NULL, *stale = new_tensor(1);
  dt_hook* hook = NULL;
  dt_tensor_release(stale);
  drops = 0;
  OK(dt_ones(&one, 1, 0, 0, 0, 1, &x));
  OK(dt_neg(x, &y));
  OK(dt_tensor_register_hook(y, report, stale, fail_in_drop, &hook));
  FAILS(VALUE_ERROR, dt_tensor_backward(y, NULL, NULL, 0, NULL, 0));
  CHECK(message_has("the hook's own words") && drops == 0);
  dt_hook_release(hook);
  dt_tensor_release(y);
  CHECK(drops == 1 && dt_error_code() == DT_STATUS_VALUE_ERROR);
  CHECK(message_has("the hook's own words"));
  dt_tensor_release(x);
}

int main(void) {
  test_message();
  test_error_set();
  test_threads();
  test_context();
  test_text();
  test_log();
  test_drops_keep_the_error(0);
  test_drops_keep_the_error(1);
  test_drops_leave_the_context();
  test_chains_of_drops();
  test_releases_keep_the_error();
  test_callbacks_and_drops();
  return test_end("errors");
}
