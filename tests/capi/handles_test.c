/* Handles: every wrong one is an error, never undefined behaviour, however often slots are reused.
 */
#define _POSIX_C_SOURCE 200809L

#include <pthread.h>

#include "tests/capi/check.h"

static void test_null_and_foreign(void) {
  dt_generator* g = NULL;
  int64_t n = 7;
  OK(dt_default_generator(DT_DEVICE_TYPE_CPU, 0, &g));
  FAILS(HANDLE, dt_tensor_numel(NULL, &n));
  CHECK(n == 0 && message_has("input is NULL, expected a tensor"));
  FAILS(HANDLE, dt_tensor_numel((dt_tensor*)g, &n));
  CHECK(message_has("input is a generator, expected a tensor"));
  FAILS(HANDLE, dt_tensor_numel((dt_tensor*)&n, &n));
  CHECK(message_has("is not a handle"));
  FAILS(HANDLE, dt_tensor_numel((dt_tensor*)(uintptr_t)-1, &n));
  FAILS(HANDLE, dt_tensor_numel((dt_tensor*)(uintptr_t)1, &n));
  dt_generator_release(g);
}

/* Bits of a good handle, changed one at a time, name nothing. */
static void test_changed_bits(void) {
  dt_tensor* t = new_tensor(2);
  int64_t n;
  for (int bit = 0; bit < 64; ++bit) {
    dt_tensor* other = (dt_tensor*)((uintptr_t)t ^ (uintptr_t)1 << bit);
    FAILS(HANDLE, dt_tensor_numel(other, &n));
  }
  dt_tensor_release(t);
}

static char warning[200];

static dt_status keep_warning(void* user_data, dt_log_level level, const char* message) {
  (void)user_data;
  CHECK(level == DT_LOG_LEVEL_WARNING);
  snprintf(warning, sizeof warning, "%s", message);
  return DT_STATUS_OK;
}

static void test_release(void) {
  dt_tensor* t = new_tensor(3);
  int64_t n;
  dt_tensor_release(NULL);
  CHECK(dt_live_handles("tensor") == 1);
  dt_tensor_release(t);
  CHECK(dt_live_handles("tensor") == 0);
  FAILS(HANDLE, dt_tensor_numel(t, &n));
  CHECK(message_has("released"));
  dt_error_clear();
  OK(dt_set_log(keep_warning, NULL, NULL));
  dt_tensor_release(t);
  CHECK(strcmp(warning, "tensor_release: handle is a tensor that was released") == 0);
  dt_generator_release((dt_generator*)t);
  CHECK(strcmp(warning, "generator_release: handle is a tensor, expected a generator") == 0);
  dt_tensor_release((dt_tensor*)&n);
  CHECK(strcmp(warning, "tensor_release: handle is not a handle, expected a tensor") == 0);
  OK(dt_set_log(NULL, NULL, NULL));
  CHECK(dt_error_code() == DT_STATUS_OK); /* a release never fails */
}

/* A slot that is used again gives another handle; the old ones stay dead. */
static void test_reuse(void) {
  enum { kOld = 1000 };
  static dt_tensor* old[kOld];
  int64_t n;
  for (int i = 0; i < kOld; ++i) {
    old[i] = new_tensor(1);
    dt_tensor_release(old[i]);
  }
  dt_tensor* t = new_tensor(1);
  for (int i = 0; i < kOld; ++i) {
    CHECK(old[i] != t);
    FAILS(HANDLE, dt_tensor_numel(old[i], &n));
  }
  dt_tensor_release(t);
}

static void test_many(void) {
  enum { kMany = 20000 }; /* several chunks of slots */
  static dt_tensor* many[kMany];
  const int64_t one = 1;
  int64_t n;
  for (int i = 0; i < kMany; ++i) {
    if (dt_empty(&one, 1, 0, 0, 0, 0, 0, &many[i]) != DT_STATUS_OK) abort();
  }
  CHECK(dt_live_handles("tensor") == kMany);
  OK(dt_tensor_numel(many[kMany - 1], &n));
  for (int i = 0; i < kMany; ++i) dt_tensor_release(many[i]);
  CHECK(dt_live_handles("tensor") == 0);
}

/* Handles of one tensor are released on their own. */
/* ---- threads that create what another releases find the slots that are free */

enum { kMakers = 2 };
static pthread_barrier_t together;
static dt_tensor *original, *made[kMakers];

static void* make_aliases(void* place) {
  dt_tensor** const own = place;
  for (;;) {
    pthread_barrier_wait(&together);
    if (!original) return NULL;
    if (dt_tensor_alias(original, own)) *own = NULL;
    pthread_barrier_wait(&together);
  }
}

static void test_other_threads_slots(void) {
  const uintptr_t slot_bits = (1u << 28) - 1, slots_of_a_chunk = 4096;
  pthread_t threads[kMakers];
  uintptr_t last = 0;
  dt_tensor* const keep = original = new_tensor(1);
  const uintptr_t first = (uintptr_t)keep & slot_bits;
  pthread_barrier_init(&together, NULL, kMakers + 1);
  for (int i = 0; i < kMakers; ++i) pthread_create(&threads[i], NULL, make_aliases, &made[i]);
  for (int round = 0; round < 30000; ++round) {
    dt_tensor* own = NULL;
    pthread_barrier_wait(&together);
    OK(dt_tensor_alias(original, &own));
    pthread_barrier_wait(&together);
    for (int i = 0; i < kMakers; ++i) {
      const uintptr_t slot = (uintptr_t)made[i] & slot_bits;
      if (slot > last) last = slot;
      dt_tensor_release(made[i]);
    }
    dt_tensor_release(own);
  }
  original = NULL;
  pthread_barrier_wait(&together);
  for (int i = 0; i < kMakers; ++i) pthread_join(threads[i], NULL);
  pthread_barrier_destroy(&together);
  dt_tensor_release(keep);
  CHECK(last / slots_of_a_chunk == first / slots_of_a_chunk);
}

static void test_alias(void) {
  dt_tensor *a = new_tensor(4), *b = NULL;
  int32_t same = 0;
  int64_t n = 0;
  OK(dt_tensor_alias(a, &b));
  CHECK(a != b);
  OK(dt_tensor_is_same(a, b, &same));
  CHECK(same == 1);
  dt_tensor_release(a);
  OK(dt_tensor_numel(b, &n));
  CHECK(n == 4);
  dt_tensor_release(b);
}

/* And so handles of whatever kind, which need not be known. */
static void test_alias_of_any_kind(void) {
  dt_generator *g = NULL, *other = NULL;
  dt_tensor* t = new_tensor(1);
  void* none = t;
  int64_t seed = 0;
  OK(dt_generator_new(DT_DEVICE_TYPE_CPU, 0, &g));
  OK(dt_handle_alias(g, (void**)&other));
  OK(dt_generator_manual_seed(g, 7));
  dt_handle_release(g);
  OK(dt_generator_initial_seed(other, &seed));
  CHECK(seed == 7 && dt_live_handles("generator") == 1);
  FAILS(HANDLE, dt_handle_alias(g, &none));
  CHECK(!none && message_has("handle is a generator that was released"));
  FAILS(HANDLE, dt_handle_alias(NULL, &none));
  FAILS(HANDLE, dt_handle_alias(&seed, &none));
  CHECK(message_has("handle is not a handle"));
  FAILS(TYPE_ERROR, dt_handle_alias(t, NULL));
  dt_error_clear();
  dt_handle_release(g);
  dt_handle_release(NULL);
  dt_handle_release(&seed);
  dt_handle_release(t);
  dt_handle_release(other);
  CHECK(dt_error_code() == DT_STATUS_OK && dt_live_handles(NULL) == 0);
}

static void test_lists(void) {
  dt_tensor *t = new_tensor(2), *entries[2], *got = t;
  dt_tensor_list* list = NULL;
  int64_t n = 0;
  entries[0] = t;
  entries[1] = NULL;
  OK(dt_tensor_list_new(entries, 2, &list));
  OK(dt_tensor_list_len(list, &n));
  CHECK(n == 2);
  OK(dt_tensor_list_get(list, 1, &got));
  CHECK(got == NULL);
  OK(dt_tensor_list_get(list, 0, &got));
  CHECK(got != NULL && got != t);
  dt_tensor_release(got);
  FAILS(INDEX_ERROR, dt_tensor_list_get(list, 2, &got));
  FAILS(INDEX_ERROR, dt_tensor_list_get(list, -1, &got));
  dt_tensor_list_release(list);
  dt_tensor_release(t);
}

static void test_shape(void) {
  const int64_t size[3] = {2, 3, 4};
  int64_t got[3] = {0, 0, 0}, n = 0;
  dt_tensor* t = NULL;
  OK(dt_zeros(size, 3, 0, 0, 0, 0, &t));
  OK(dt_tensor_shape(t, NULL, 0, &n));
  CHECK(n == 3);
  OK(dt_tensor_shape(t, got, 2, &n));
  CHECK(n == 3 && got[0] == 2 && got[1] == 3 && got[2] == 0);
  FAILS(VALUE_ERROR, dt_tensor_shape(t, got, -1, &n));
  FAILS(TYPE_ERROR, dt_tensor_shape(t, NULL, 3, &n));
  dt_tensor_release(t);
}

int main(void) {
  test_other_threads_slots(); /* first: what other tests use, and in which order, is seen in it */
  test_null_and_foreign();
  test_changed_bits();
  test_release();
  test_reuse();
  test_many();
  test_alias();
  test_alias_of_any_kind();
  test_lists();
  test_shape();
  CHECK(dt_live_handles("tensor") == 0 && dt_live_handles("no such kind") == -1);
  return test_end("handles");
}
