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

static void count_log(void* user_data, dt_log_level level, const char* message) {
  CHECK(user_data == &logged && level != 0 && message != NULL);
  ++logged;
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

int main(void) {
  test_message();
  test_error_set();
  test_threads();
  test_context();
  test_text();
  test_log();
  return test_end("errors");
}
