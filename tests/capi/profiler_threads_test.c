/* A profiler that starts and stops while threads work: what it found never contradicts itself. */
#include <pthread.h>
#include <stdatomic.h>

#include "tests/capi/check.h"

enum { kThreads = 3, kSessions = 40, kShort = 300 };
enum { kKind, kThread, kStart, kDuration, kOwn, kParent = 10, kFields };

static atomic_int is_over, unexpected;
static _Atomic int64_t handed_over; /* a range that another thread ends */

static void expect(int is_so) {
  if (!is_so) atomic_fetch_add(&unexpected, 1);
}

/* Kernels, nodes of a backward, ranges within each other. */
static void step(dt_tensor* x) {
  dt_tensor *y = NULL, *sum = NULL;
  int64_t outer = 0, inner = 0;
  expect(!dt_profiler_range_begin("outer", &outer));
  expect(!dt_profiler_range_begin("inner", &inner));
  expect(!dt_mul(x, NULL, DT_SCALAR_KIND_INT, 3, 0, &y) && !dt_sum(y, NULL, 0, 0, 0, &sum));
  expect(!dt_profiler_range_end(atomic_exchange(&handed_over, inner)));
  expect(!dt_tensor_backward(sum, NULL, NULL, 0, NULL, 0));
  expect(!dt_profiler_range_end(outer));
  dt_tensor_release(sum);
  dt_tensor_release(y);
}

static void* work(void* unused) {
  (void)unused;
  const int64_t size = 8;
  dt_tensor* x = NULL;
  expect(!dt_ones(&size, 1, DT_DTYPE_FLOAT32, 0, 0, 1, &x));
  while (!atomic_load(&is_over)) step(x);
  dt_tensor_release(x);
  return NULL;
}

/* Whether what contains an activity began before it, on its thread, and ended no earlier. */
static int is_in_order(const int64_t* rows, int64_t i) {
  const int64_t *a = rows + i * kFields, *around = rows + a[kParent] * kFields;
  const int64_t end = a[kStart] + a[kDuration];
  if (a[kStart] < 0 || a[kDuration] < 0 || (i > 0 && a[kStart] < (a - kFields)[kStart])) return 0;
  if (a[kParent] < 0) return 1;
  return a[kParent] < i && around[kThread] == a[kThread] && around[kKind] != 0 &&
         end <= around[kStart] + around[kDuration];
}

/* How many activities there are. */
static int64_t look_at(dt_profiler* p) {
  dt_string_list *names = NULL, *shapes = NULL;
  dt_tensor* numbers = NULL;
  int64_t n = 0, wrong = 0;
  OK(dt_profiler_activities(p, &names, &shapes, &numbers));
  OK(dt_tensor_numel(numbers, &n));
  int64_t* rows = malloc((size_t)n * sizeof *rows + 1);
  OK(dt_tensor_read(numbers, rows, n * (int64_t)sizeof *rows));
  n /= kFields;
  for (int64_t i = 0; i < n; ++i) {
    const char* name = NULL;
    wrong += !is_in_order(rows, i) || dt_string_list_get(names, i, &name) || !*name;
  }
  CHECK(wrong == 0);
  free(rows);
  dt_tensor_release(numbers);
  dt_string_list_release(names);
  dt_string_list_release(shapes);
  return n;
}

static void pause(void) {
  dt_tensor* x = new_tensor(20000);
  dt_tensor_release(x);
}

static void test_sessions(void) {
  pthread_t threads[kThreads];
  int64_t all = 0;
  for (int i = 0; i < kThreads; ++i) CHECK(pthread_create(&threads[i], NULL, work, NULL) == 0);
  for (int i = 0; i < kSessions; ++i) {
    const int64_t most = i % 4 == 3 ? 50 : 1 << 20;
    dt_profiler* p = NULL;
    OK(dt_profiler_start(i % 2, i % 3 == 0, 0, most, &p));
    for (int j = 0; j < 100; ++j) pause();
    OK(dt_profiler_stop(p));
    const int64_t n = look_at(p);
    CHECK(n <= most);
    all += n;
    dt_profiler_release(p);
  }
  atomic_store(&is_over, 1);
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  CHECK(all > 0 && atomic_load(&unexpected) == 0);
}

/* Threads that end give back the room that they had and did not need. */
static void* work_once(void* x) {
  dt_tensor* y = NULL;
  expect(!dt_mul(x, NULL, DT_SCALAR_KIND_INT, 3, 0, &y));
  dt_tensor_release(y);
  return NULL;
}

static void test_short_threads(void) {
  dt_tensor* x = new_tensor(4);
  dt_profiler* p = NULL;
  OK(dt_profiler_start(0, 0, 0, kShort + 20, &p));
  for (int i = 0; i < kShort; ++i) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, work_once, x) == 0);
    pthread_join(thread, NULL);
  }
  OK(dt_profiler_stop(p));
  CHECK(look_at(p) == kShort && atomic_load(&unexpected) == 0);
  dt_profiler_release(p);
  dt_tensor_release(x);
}

int main(void) {
  test_sessions();
  test_short_threads();
  return test_end("profiler_threads");
}
