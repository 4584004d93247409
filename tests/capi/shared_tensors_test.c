/* Tensors that several threads use at once, and a process that is forked meanwhile. */
#define _POSIX_C_SOURCE 200809L

#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/capi/check.h"

enum { kThreads = 2 };

static void run_at_once(void* (*body)(void*), void* argument) {
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, body, argument);
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
}

static double item(dt_tensor* t) {
  dt_scalar_kind kind;
  int64_t integer;
  double number = -1;
  OK(dt_tensor_item(t, &kind, &integer, &number));
  return number;
}

static double sum_of(dt_tensor* t) {
  dt_tensor* sum = NULL;
  OK(dt_sum(t, NULL, 0, 0, DT_DTYPE_FLOAT64, &sum));
  const double result = item(sum);
  dt_tensor_release(sum);
  return result;
}

/* ---- a view whose base has been written since is read by several threads */

static pthread_barrier_t together;
static dt_tensor *view, *sums[kThreads];
static atomic_int readers;

static void* read_view(void* unused) {
  (void)unused;
  const int own = atomic_fetch_add(&readers, 1);
  for (;;) {
    pthread_barrier_wait(&together);
    if (!view) return NULL;
    if (dt_sum(view, NULL, 0, 0, 0, &sums[own])) sums[own] = NULL;
    pthread_barrier_wait(&together);
  }
}

static void test_stale_view(void) {
  const int64_t three = 3;
  pthread_t threads[kThreads];
  const int32_t keep = 1;
  int wrong = 0;
  pthread_barrier_init(&together, NULL, kThreads + 1);
  for (int i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, read_view, NULL);
  for (int round = 0; round < 20000; ++round) {
    dt_tensor *x = NULL, *y = NULL;
    OK(dt_ones(&three, 1, 0, 0, 0, 1, &x));
    OK(dt_mul(x, NULL, DT_SCALAR_KIND_INT, 1, 0, &y));
    OK(dt_view(y, &three, 1, &view));
    OK(dt_mul_(y, NULL, DT_SCALAR_KIND_INT, 2, 0));
    pthread_barrier_wait(&together);
    pthread_barrier_wait(&together);
    for (int i = 0; i < kThreads; ++i) {
      dt_tensor* gradient = NULL;
      OK(dt_autograd_backward(&sums[i], 1, NULL, 0, &keep, 0, NULL, 0));
      OK(dt_tensor_grad(x, &gradient));
      wrong += sum_of(gradient) != 6 * (i + 1);
      dt_tensor_release(gradient);
      dt_tensor_release(sums[i]);
    }
    dt_tensor_release(view);
    dt_tensor_release(y);
    dt_tensor_release(x);
  }
  view = NULL;
  pthread_barrier_wait(&together);
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  pthread_barrier_destroy(&together);
  CHECK(wrong == 0);
}

/* ---- several threads add to one gradient: it is there all the time */

enum { kSteps = 2000 };
static dt_tensor* leaf;
static atomic_int calls, missing;

static dt_status see(void* user_data, dt_tensor* gradient, dt_tensor** result) {
  (void)user_data;
  *result = NULL;
  atomic_fetch_add(&calls, 1);
  if (!gradient) atomic_fetch_add(&missing, 1);
  return DT_STATUS_OK;
}

static void* add_steps(void* unused) {
  (void)unused;
  for (int i = 0; i < kSteps; ++i) {
    dt_tensor *product = NULL, *sum = NULL, *gradient = NULL;
    if (dt_mul(leaf, NULL, DT_SCALAR_KIND_INT, 1, 0, &product) ||
        dt_sum(product, NULL, 0, 0, 0, &sum) ||
        dt_autograd_backward(&sum, 1, NULL, 0, NULL, 0, NULL, 0) ||
        dt_tensor_grad(leaf, &gradient) || !gradient)
      atomic_fetch_add(&missing, 1);
    dt_tensor_release(gradient);
    dt_tensor_release(sum);
    dt_tensor_release(product);
  }
  return NULL;
}

static void test_shared_gradient(void) {
  const int64_t size = 100000;
  dt_tensor* gradient = NULL;
  dt_hook* hook = NULL;
  OK(dt_ones(&size, 1, 0, 0, 0, 1, &leaf));
  OK(dt_tensor_register_post_accumulate_grad_hook(leaf, see, NULL, NULL, &hook));
  run_at_once(add_steps, NULL);
  CHECK(calls == kThreads * kSteps);
  CHECK(missing == 0);
  OK(dt_tensor_grad(leaf, &gradient));
  CHECK(sum_of(gradient) == (double)size * kThreads * kSteps);
  dt_tensor_release(gradient);
  dt_hook_release(hook);
  dt_tensor_release(leaf);
}

/* ---- a child of a fork uses what other threads of its parent were using */

typedef struct {
  void (*use)(void);
  atomic_int stop;
} Busy;

static void draw(void) {
  const int64_t one = 1;
  dt_tensor* x = NULL;
  if (dt_rand(&one, 1, NULL, 0, 0, 0, 0, &x)) abort();
  dt_tensor_release(x);
}

static void warn(void) {
  dt_tensor_release((dt_tensor*)(uintptr_t)0x4000000000000001);
}

static void read_gradient(void) {
  dt_tensor* gradient = NULL;
  if (dt_tensor_grad(leaf, &gradient)) abort();
  dt_tensor_release(gradient);
}

static void* keep_busy(void* argument) {
  Busy* const busy = argument;
  while (!atomic_load(&busy->stop)) busy->use();
  return NULL;
}

static dt_status be_silent(void* user_data, dt_log_level level, const char* message) {
  (void)user_data, (void)level, (void)message;
  return DT_STATUS_OK;
}

/* A child that waits for ever is ended by its alarm. */
static void test_fork(void (*use)(void)) {
  Busy busy = {use, 0};
  pthread_t thread;
  int hung = 0;
  use();
  pthread_create(&thread, NULL, keep_busy, &busy);
  for (int i = 0; i < 100 && hung == 0; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      use();
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    hung += !WIFEXITED(status);
  }
  atomic_store(&busy.stop, 1);
  pthread_join(thread, NULL);
  CHECK(hung == 0);
}

int main(void) {
  const int64_t one = 1;
  test_stale_view();
  test_shared_gradient();
  OK(dt_set_log(be_silent, NULL, NULL));
  OK(dt_ones(&one, 1, 0, 0, 0, 1, &leaf));
  test_fork(draw);
  test_fork(warn);
  test_fork(read_gradient);
  dt_tensor_release(leaf);
  return test_end("shared_tensors_test");
}
