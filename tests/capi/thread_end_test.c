/* Calls on a thread that ends: from the destructors of pthread keys, which run before the library's
 * own and after it, in every round that the system makes through the keys. */
#define _XOPEN_SOURCE 700 /* PTHREAD_DESTRUCTOR_ITERATIONS */
#include <limits.h>
#include <pthread.h>

#include "tests/capi/check.h"

enum { kRounds = PTHREAD_DESTRUCTOR_ITERATIONS, kThreads = 4 };

#ifdef __SANITIZE_THREAD__ /* which itself ends in the last round, and must see what it frees */
enum { kRoundsToTest = kRounds - 2 };
#else
enum { kRoundsToTest = kRounds };
#endif

static pthread_key_t before_key, after_key; /* made before the library's key, and after it */

typedef struct {
  dt_tensor* tensor; /* released in the first round */
  int rounds;        /* in which the destructor wants to run */
  int round;
  int ended; /* the rounds in which the library refused */
} Guest;

/* Enough of other sizes to overwrite memory that has been freed. */
static void stir(void) {
  void* junk[64];
  for (int i = 0; i < 64; i++) junk[i] = memset(malloc(16 * (size_t)(i + 1)), 0x41, 16);
  for (int i = 0; i < 64; i++) free(junk[i]);
}

static void use_everything(Guest* g) {
  const int64_t size = 300;
  int32_t grad_mode = -1;
  dt_tensor *x = NULL, *y = NULL, *sum = NULL;
  dt_generator* generator = NULL;
  if (dt_is_grad_enabled(&grad_mode)) { /* after the last round */
    g->ended++;
    CHECK(dt_error_code() == DT_STATUS_RUNTIME_ERROR && message_has("the thread has ended"));
    CHECK(dt_ones(&size, 1, 0, 0, 0, 0, &x) == DT_STATUS_RUNTIME_ERROR && !x);
    CHECK(dt_error_set(DT_STATUS_IO, "mine") == DT_STATUS_RUNTIME_ERROR);
    dt_error_clear();
    return;
  }
  CHECK(grad_mode == 1);
  FAILS(HANDLE, dt_relu(NULL, &y));
  CHECK(message_has("relu: input is NULL"));
  OK(dt_rand(&size, 1, NULL, 0, 0, 0, 1, &x));
  OK(dt_mul(x, x, 0, 0, 0, &y));
  OK(dt_sum(y, NULL, 0, 0, 0, &sum));
  OK(dt_tensor_backward(sum, NULL, NULL, 0, NULL, 0));
  OK(dt_set_own_generators(1));
  OK(dt_default_generator(DT_DEVICE_TYPE_CPU, 0, &generator));
  dt_generator_release(generator);
  dt_tensor_release(sum);
  dt_tensor_release(y);
  dt_tensor_release(x);
}

static void end(Guest* g, pthread_key_t key) {
  stir();
  dt_tensor_release(g->tensor);
  g->tensor = NULL;
  use_everything(g);
  stir();
  if (++g->round < g->rounds) CHECK(pthread_setspecific(key, g) == 0);
}

static void end_before(void* guest) {
  end(guest, before_key);
}
static void end_after(void* guest) {
  end(guest, after_key);
}

static void* live_and_end(void* both) {
  Guest* guests = both;
  use_everything(&guests[0]);
  for (int i = 0; i < 2; i++) guests[i].tensor = new_tensor(1000);
  CHECK(pthread_setspecific(before_key, &guests[0]) == 0);
  CHECK(pthread_setspecific(after_key, &guests[1]) == 0);
  return NULL;
}

/* The threads run one after another, since CHECK counts in plain variables. */
static void test_rounds(int rounds) {
  for (int i = 0; i < kThreads; i++) {
    pthread_t thread;
    Guest guests[2] = {{NULL, rounds, 0, 0}, {NULL, rounds, 0, 0}};
    CHECK(pthread_create(&thread, NULL, live_and_end, guests) == 0);
    pthread_join(thread, NULL); /* no CHECK, which would count while the thread does */
    CHECK(guests[0].round == rounds && guests[1].round == rounds);
    /* Whose key comes before the library's is always followed by a round of the library's. */
    CHECK(guests[0].ended == 0 && guests[1].ended == (rounds == kRounds));
  }
}

/* A thread whose first call is its last. */
static void* only_end(void* guest) {
  CHECK(pthread_setspecific(after_key, guest) == 0);
  return NULL;
}

static void test_first_call_at_the_end(void) {
  pthread_t thread;
  Guest guest = {NULL, 1, 0, 0};
  CHECK(pthread_create(&thread, NULL, only_end, &guest) == 0);
  pthread_join(thread, NULL);
  CHECK(guest.round == 1 && guest.ended == 0);
}

/* ---- what a thread had goes with it */

static int drops;
static dt_status never(void* user_data, int64_t bytes, int32_t* out) {
  (void)user_data, (void)bytes, (void)out;
  return DT_STATUS_OK;
}
static void count_drop(void* user_data) {
  (void)user_data;
  drops++;
}

static void* end_with_a_context(void* context) {
  dt_context* before = NULL;
  OK(dt_set_memory_hook(never, NULL, count_drop));
  OK(dt_context_swap(context, &before));
  CHECK(before == NULL);
  return NULL;
}

static void test_what_ends_with_it(void) {
  pthread_t thread;
  dt_context *context = NULL, *before = NULL, *same = NULL;
  OK(dt_context_new(&context));
  CHECK(pthread_create(&thread, NULL, end_with_a_context, context) == 0);
  pthread_join(thread, NULL);
  OK(dt_context_swap(context, &before)); /* nobody's any more */
  CHECK(drops == 1);                     /* by this thread, which was inside of a call */
  OK(dt_context_swap(NULL, &same));
  dt_context_release(same);
  dt_context_release(context);
}

int main(void) {
  CHECK(pthread_key_create(&before_key, end_before) == 0);
  dt_tensor_release(new_tensor(1)); /* the library makes its key here at the latest */
  CHECK(pthread_key_create(&after_key, end_after) == 0);
  for (int rounds = 1; rounds <= kRoundsToTest; rounds++) test_rounds(rounds);
  test_first_call_at_the_end();
  test_what_ends_with_it();
  return test_end("thread_end");
}
