/* Threads that use, replace and release shared handles at once: each call works or says that the
 * handle is gone. */
#include <pthread.h>
#include <stdatomic.h>

#include "tests/capi/check.h"

enum { kThreads = 4, kRounds = 3000 };

static _Atomic(dt_tensor*) shared;
static atomic_int unexpected;

static int is_fine(dt_status status) {
  return status == DT_STATUS_OK || status == DT_STATUS_HANDLE;
}

static dt_tensor* make(void) {
  const int64_t size = 8;
  dt_tensor* t = NULL;
  if (dt_ones(&size, 1, DT_DTYPE_FLOAT32, 0, 0, 0, &t)) atomic_fetch_add(&unexpected, 1);
  return t;
}

static void* use(void* unused) {
  (void)unused;
  for (int i = 0; i < kRounds; ++i) {
    dt_tensor *t = atomic_load(&shared), *sum = NULL;
    int64_t n = 0;
    float values[8] = {0};
    if (!is_fine(dt_add(t, t, 0, 0, 0, DT_SCALAR_KIND_INT, 1, 0, &sum)))
      atomic_fetch_add(&unexpected, 1);
    if (sum && (dt_tensor_read(sum, values, sizeof values) || values[7] != 2))
      atomic_fetch_add(&unexpected, 1);
    dt_tensor_release(sum);
    if (!is_fine(dt_tensor_numel(t, &n)) || (n != 0 && n != 8)) atomic_fetch_add(&unexpected, 1);
  }
  return NULL;
}

static void* replace(void* unused) {
  (void)unused;
  for (int i = 0; i < kRounds; ++i) dt_tensor_release(atomic_exchange(&shared, make()));
  return NULL;
}

/* One handle released by all threads: exactly one of them succeeds, the others are warned. */
static atomic_int warnings;

static dt_status count_warning(void* user_data, dt_log_level level, const char* message) {
  (void)user_data, (void)message;
  if (level == DT_LOG_LEVEL_WARNING) atomic_fetch_add(&warnings, 1);
  return DT_STATUS_OK;
}

static void* release_same(void* handle) {
  dt_tensor_release(handle);
  return NULL;
}

static void run(void* (*body)(void*), void* argument) {
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, body, argument);
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
}

static void* mixed(void* counter) {
  return atomic_fetch_add((atomic_int*)counter, 1) % 2 ? use(NULL) : replace(NULL);
}

/* What one thread makes and another releases must not pile up slots. */
static _Atomic(dt_tensor*) mailbox;

static void* produce(void* unused) {
  (void)unused;
  for (int i = 0; i < kRounds; ++i) {
    dt_tensor *t = make(), *empty = NULL;
    while (!atomic_compare_exchange_weak(&mailbox, &empty, t)) empty = NULL;
  }
  return NULL;
}

static void test_producer(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, produce, NULL);
  for (int i = 0; i < kRounds;) {
    dt_tensor* t = atomic_exchange(&mailbox, NULL);
    if (!t) continue;
    dt_tensor_release(t);
    ++i;
  }
  pthread_join(thread, NULL);
}

/* ---- hooks that come and go while other threads run backward through their tensor */

static atomic_int hook_calls, hook_drops;

static dt_status count_call(void* user_data, dt_tensor* grad, dt_tensor** out) {
  (void)user_data, (void)grad;
  atomic_fetch_add(&hook_calls, 1);
  *out = NULL;
  return DT_STATUS_OK;
}

static void count_drop(void* user_data) {
  (void)user_data;
  atomic_fetch_add(&hook_drops, 1);
}

/* The leaf's gradient is asked for, so nothing is added to .grad. */
static void* differentiate(void* leaf) {
  dt_tensor *x = leaf, *y = NULL, *sum = NULL;
  dt_tensor_list* grads = NULL;
  for (int i = 0; i < kRounds / 10; ++i) {
    if (dt_mul(x, NULL, DT_SCALAR_KIND_INT, 3, 0, &y) || dt_sum(y, NULL, 0, 0, 0, &sum) ||
        dt_autograd_grad(&sum, 1, &x, 1, NULL, 0, NULL, 0, 0, &grads))
      atomic_fetch_add(&unexpected, 1);
    dt_tensor_list_release(grads);
    dt_tensor_release(sum);
    dt_tensor_release(y);
    grads = NULL;
  }
  return NULL;
}

static void* hook_and_unhook(void* leaf) {
  for (int i = 0; i < kRounds / 10; ++i) {
    dt_hook* hook = NULL;
    if (dt_tensor_register_hook(leaf, count_call, &unexpected, count_drop, &hook) ||
        dt_hook_remove(hook))
      atomic_fetch_add(&unexpected, 1);
    dt_hook_release(hook);
  }
  return NULL;
}

static void test_hooks(void) {
  const int64_t size = 8;
  dt_tensor* x = NULL;
  pthread_t threads[kThreads];
  OK(dt_ones(&size, 1, DT_DTYPE_FLOAT32, 0, 0, 1, &x));
  for (int i = 0; i < kThreads; ++i)
    pthread_create(&threads[i], NULL, i % 2 ? differentiate : hook_and_unhook, x);
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  dt_tensor_release(x);
  CHECK(atomic_load(&hook_drops) == kThreads / 2 * (kRounds / 10));
}

int main(void) {
  atomic_int counter = 0;
  atomic_store(&shared, make());
  run(mixed, &counter);
  CHECK(atomic_load(&unexpected) == 0);
  dt_tensor_release(atomic_load(&shared));
  OK(dt_set_log(count_warning, NULL, NULL));
  for (int i = 1; i <= 200; ++i) {
    run(release_same, make());
    CHECK(atomic_load(&warnings) == i * (kThreads - 1));
  }
  OK(dt_set_log(NULL, NULL, NULL));
  test_producer();
  test_hooks();
  CHECK(atomic_load(&unexpected) == 0);
  return test_end("threads");
}
