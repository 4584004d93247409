/* Memory that runs out: the hook of the context is asked to let go of something, and the allocation
 * is tried again. */
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/capi/check.h"

#define MIB (1024 * 1024)

typedef struct {
  dt_tensor* kept; /* what the hook lets go of */
  int64_t bytes;   /* what was asked for */
  int calls, drops;
  int fail; /* 1: reports an error; 2: runs out of memory itself; 3: removes itself */
} host;

static void drop_host(void* p) {
  ++((host*)p)->drops;
}

static dt_status allocate(int64_t bytes, dt_tensor** out) {
  return dt_empty(&bytes, 1, DT_DTYPE_UINT8, 0, 0, 0, 0, out);
}

static dt_status let_go(void* user_data, int64_t bytes, int32_t* out) {
  host* h = user_data;
  dt_tensor* t = NULL;
  ++h->calls;
  h->bytes = bytes;
  if (h->fail == 1) return dt_error_set(DT_STATUS_VALUE_ERROR, "the host has no idea");
  if (h->fail == 2) FAILS(OUT_OF_MEMORY, allocate((int64_t)1 << 60, &t));
  if (h->fail == 3) OK(dt_remove_memory_hook());
  *out = h->kept != NULL;
  dt_tensor_release(h->kept);
  h->kept = NULL;
  return DT_STATUS_OK;
}

/* No more address space than `room` bytes from now on; 0 takes the limit away. */
static void limit_memory(int64_t room) {
  struct rlimit limit;
  FILE* statm = fopen("/proc/self/statm", "r");
  long long pages = 0;
  CHECK(statm != NULL && fscanf(statm, "%lld", &pages) == 1);
  fclose(statm);
  CHECK(getrlimit(RLIMIT_AS, &limit) == 0);
  limit.rlim_cur = room ? (rlim_t)(pages * sysconf(_SC_PAGESIZE) + room) : limit.rlim_max;
  CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
}

static void test_tried_again(void) {
  host h = {0};
  dt_tensor* t = NULL;
  OK(allocate(256 * MIB, &h.kept));
  OK(dt_set_memory_hook(let_go, &h, drop_host));
  limit_memory(128 * MIB);
  OK(allocate(300 * MIB, &t)); /* fits once the kept tensor is gone */
  CHECK(h.calls == 1 && h.kept == NULL && h.bytes >= 300 * MIB);
  dt_tensor_release(t);
  FAILS(OUT_OF_MEMORY, allocate(1024 * (int64_t)MIB, &t)); /* nothing left to let go of */
  CHECK(t == NULL && h.calls == 2 && message_has("can't allocate memory"));
  limit_memory(0);
  OK(dt_remove_memory_hook());
  CHECK(h.drops == 1);
  FAILS(OUT_OF_MEMORY, allocate((int64_t)1 << 60, &t));
  CHECK(h.calls == 2);
}

static void test_failing_hooks(void) {
  host h = {.fail = 1};
  dt_tensor* t = NULL;
  OK(dt_set_memory_hook(let_go, &h, drop_host));
  FAILS(VALUE_ERROR, allocate((int64_t)1 << 60, &t));
  CHECK(h.calls == 1 && message_has("the host has no idea"));
  h.fail = 2; /* a hook is not called for what it allocates itself */
  FAILS(OUT_OF_MEMORY, allocate((int64_t)1 << 60, &t));
  CHECK(h.calls == 2);
  h.fail = 3; /* its user data lives until it has returned */
  FAILS(OUT_OF_MEMORY, allocate((int64_t)1 << 60, &t));
  CHECK(h.calls == 3 && h.drops == 1);
}

static void* allocate_elsewhere(void* unused) {
  dt_tensor* t = NULL;
  (void)unused;
  FAILS(OUT_OF_MEMORY, allocate((int64_t)1 << 60, &t));
  return NULL;
}

/* A hook belongs to a context: other threads do not call it, a swapped-in context has its own. */
static void test_contexts(void) {
  host h = {0}, other = {0};
  dt_context *fresh = NULL, *before = NULL, *again = NULL;
  dt_tensor* t = NULL;
  pthread_t thread;
  OK(dt_set_memory_hook(let_go, &h, drop_host));
  pthread_create(&thread, NULL, allocate_elsewhere, NULL);
  pthread_join(thread, NULL);
  OK(dt_context_new(&fresh));
  OK(dt_context_swap(fresh, &before));
  OK(dt_set_memory_hook(let_go, &other, drop_host));
  FAILS(OUT_OF_MEMORY, allocate((int64_t)1 << 60, &t));
  OK(dt_context_swap(before, &again));
  CHECK(h.calls == 0 && other.calls == 1 && other.drops == 0);
  dt_context_release(fresh);
  dt_context_release(before);
  dt_context_release(again);
  OK(dt_set_memory_hook(let_go, &h, drop_host)); /* replaces the first */
  CHECK(h.drops == 1 && other.drops == 1);
  OK(dt_remove_memory_hook());
  CHECK(h.drops == 2);
}

static void test_peak(void) {
  int64_t before = 0, after = 0, reserved = 0, peak = 0;
  dt_tensor* t = NULL;
  OK(dt_memory_stats(0, 0, &before, &reserved, &peak));
  OK(allocate(8 * MIB, &t));
  dt_tensor_release(t);
  OK(dt_memory_stats(0, 0, &after, &reserved, &peak));
  CHECK(after == before && peak >= before + 8 * MIB && reserved >= 8 * MIB);
  OK(dt_reset_peak_memory_stats(0, 0));
  OK(dt_memory_stats(0, 0, &after, &reserved, &peak));
  CHECK(peak == after);
}

/* An expanded tensor has more than 64 bits can count. */
static void test_uncountable_bytes(void) {
  const int64_t one = 1, many = (INT64_C(1) << 62) + 16;
  char few[4];
  dt_tensor *x = NULL, *y = NULL;
  OK(dt_ones(&one, 1, DT_DTYPE_FLOAT32, 0, 0, 0, &x));
  OK(dt_expand(x, &many, 1, &y));
  FAILS(RUNTIME_ERROR, dt_tensor_read(y, few, sizeof few));
  dt_tensor_release(y);
  dt_tensor_release(x);
}

int main(void) {
  test_tried_again();
  test_failing_hooks();
  test_contexts();
  test_peak();
  test_uncountable_bytes();
  return test_end("memory");
}
