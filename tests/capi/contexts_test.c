/* Contexts: a thread's own never leaves it, others follow tasks from thread to thread and are in
 * force on one at a time. */
#define _XOPEN_SOURCE 700 /* pthread_barrier_t */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/capi/check.h"

static dt_context* new_context(void) {
  dt_context* context = NULL;
  OK(dt_context_new(&context));
  return context;
}

static int32_t grad_mode(void) {
  int32_t mode = -1;
  OK(dt_is_grad_enabled(&mode));
  return mode;
}

/* Swaps and forgets what was in force: how most tasks begin and end. */
static void swap(dt_context* next) {
  dt_context* before = NULL;
  OK(dt_context_swap(next, &before));
  dt_context_release(before);
}

static void* in_thread(void* (*body)(void*), void* argument) {
  pthread_t thread;
  void* result = NULL;
  CHECK(pthread_create(&thread, NULL, body, argument) == 0);
  pthread_join(thread, &result); /* no CHECK, which would count while the thread does */
  return result;
}

static void test_own_is_null(void) {
  dt_context *a = new_context(), *b = new_context(), *out = a;
  OK(dt_context_swap(NULL, &out)); /* to where it is */
  CHECK(out == NULL);
  OK(dt_context_swap(a, &out));
  CHECK(out == NULL);
  OK(dt_set_grad_enabled(0));
  OK(dt_context_swap(b, &out)); /* a's, as a handle of its own */
  CHECK(out != NULL && out != a && grad_mode() == 1);
  dt_context_release(a);
  OK(dt_context_swap(out, &a));
  CHECK(a != NULL && grad_mode() == 0);
  dt_context_release(a);
  OK(dt_context_swap(out, &a)); /* to where it is, and to the end of all handles */
  CHECK(a != NULL && grad_mode() == 0);
  dt_context_release(a);
  dt_context_release(out);
  CHECK(grad_mode() == 0);
  OK(dt_context_swap(NULL, &out));
  CHECK(out != NULL && grad_mode() == 1);
  dt_context_release(out);
  dt_context_release(b);
}

/* ---- tasks that move between threads */

typedef struct {
  dt_context* context;
  int steps;
} Task;

/* What each step finds is what the one before it left, on whichever thread that was. */
static void* step(void* task) {
  Task* t = task;
  int64_t n;
  CHECK(grad_mode() == 1 && dt_error_code() == DT_STATUS_OK); /* the thread's own */
  swap(t->context);
  CHECK(grad_mode() == (t->steps % 2 == 0));
  if (t->steps) CHECK(message_has("tensor_numel"));
  FAILS(HANDLE, dt_tensor_numel(NULL, &n));
  OK(dt_set_grad_enabled(t->steps++ % 2));
  swap(NULL);
  return NULL;
}

static void test_tasks_move(void) {
  Task task = {new_context(), 0};
  dt_error_clear();
  for (int i = 0; i < 6; i++) i % 3 ? (void)in_thread(step, &task) : (void)step(&task);
  CHECK(task.steps == 6);
  dt_context_release(task.context);
}

/* ---- on one thread at a time */

static void* try_to_take(void* context) {
  dt_context *before = context, *mine = new_context();
  FAILS(RUNTIME_ERROR, dt_context_swap(context, &before));
  CHECK(before == NULL && message_has("in force on another thread"));
  swap(mine); /* nothing has happened to the thread */
  FAILS(RUNTIME_ERROR, dt_context_swap(context, &before));
  OK(dt_context_swap(NULL, &before));
  CHECK(before != NULL);
  dt_context_release(before);
  dt_context_release(mine);
  return NULL;
}

static void* take_and_end(void* context) {
  swap(context);
  return NULL;
}

static void test_one_thread_at_a_time(void) {
  dt_context* context = new_context();
  swap(context);
  in_thread(try_to_take, context);
  swap(NULL);
  in_thread(take_and_end, context);
  in_thread(take_and_end, context); /* the thread before has ended and left it */
  swap(context);
  swap(NULL);
  dt_context_release(context);
}

enum { kThreads = 4, kRounds = 2000 };
static int64_t taken;

/* Whoever gets it has it alone: they all count in one plain variable. */
static void* take_often(void* context) {
  intptr_t got = 0;
  for (int i = 0; i < kRounds; i++) {
    dt_context* before = NULL;
    if (dt_context_swap(context, &before)) continue;
    taken++;
    got++;
    if (dt_set_grad_enabled(i % 2) || dt_context_swap(NULL, &before)) got = -kRounds * kThreads;
    dt_context_release(before);
  }
  return (void*)got;
}

static void test_many_want_one(void) {
  pthread_t threads[kThreads];
  dt_context* context = new_context();
  int64_t sum = 0;
  for (int i = 0; i < kThreads; i++) pthread_create(&threads[i], NULL, take_often, context);
  for (int i = 0; i < kThreads; i++) {
    void* got;
    pthread_join(threads[i], &got);
    sum += (intptr_t)got;
  }
  CHECK(sum == taken && taken > 0);
  dt_context_release(context);
}

/* ---- callbacks that leave another context in force: the call around them goes on in its own */

static dt_status leave_another(void* user_data, dt_tensor* grad, dt_tensor** out) {
  (void)grad, (void)out;
  dt_context* fresh = new_context();
  swap(fresh);
  dt_context_release(fresh);
  return user_data ? dt_error_set(DT_STATUS_IO, "said in another context") : DT_STATUS_OK;
}

static void backward_with(dt_tensor_hook function, void* user_data, dt_status expected) {
  const int64_t one = 1;
  dt_tensor *x = NULL, *y = NULL;
  dt_hook* hook = NULL;
  OK(dt_ones(&one, 1, 0, 0, 0, 1, &x));
  OK(dt_neg(x, &y));
  OK(dt_tensor_register_hook(y, function, user_data, NULL, &hook));
  dt_error_clear();
  const dt_status status = dt_tensor_backward(y, NULL, NULL, 0, NULL, 0);
  CHECK(status == expected && dt_error_code() == expected);
  dt_hook_release(hook);
  dt_tensor_release(y);
  dt_tensor_release(x);
}

static void check_in_force(dt_context* expected) {
  dt_context* out = NULL;
  CHECK(grad_mode() == 1);
  OK(dt_context_swap(expected, &out));
  CHECK((out == NULL) == (expected == NULL));
  dt_context_release(out);
}

static void test_callbacks_leave_another(void) {
  int error;
  dt_context* context = new_context();
  for (int i = 0; i < 2; i++) {
    backward_with(leave_another, NULL, DT_STATUS_OK);
    check_in_force(i ? context : NULL);
    backward_with(leave_another, &error, DT_STATUS_IO);
    CHECK(message_has("said in another context"));
    check_in_force(i ? context : NULL);
    swap(context);
  }
  swap(NULL);
  dt_context_release(context);
}

/* ---- the child of a fork has one thread: what other threads had in force is free there */

typedef struct {
  dt_context *here, *there;
  pthread_barrier_t start, end;
} Shared;

static void* hold(void* shared) {
  Shared* s = shared;
  swap(s->there);
  pthread_barrier_wait(&s->start);
  pthread_barrier_wait(&s->end);
  swap(NULL);
  return NULL;
}

static void check_child(Shared* s) {
#ifndef __SANITIZE_THREAD__        /* which takes no new threads in a fork's child */
  in_thread(try_to_take, s->here); /* still in force on this thread */
#endif
  swap(s->there);
  swap(NULL);
  _exit(failures != 0);
}

static void test_fork(void) {
  Shared s = {.here = new_context(), .there = new_context()};
  pthread_t thread;
  int status = -1;
  pthread_barrier_init(&s.start, NULL, 2);
  pthread_barrier_init(&s.end, NULL, 2);
  pthread_create(&thread, NULL, hold, &s);
  pthread_barrier_wait(&s.start);
  swap(s.here);
  const pid_t child = fork();
  if (child == 0) check_child(&s);
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  pthread_barrier_wait(&s.end);
  pthread_join(thread, NULL);
  swap(NULL);
  dt_context_release(s.here);
  dt_context_release(s.there);
}

int main(void) {
  test_own_is_null();
  test_tasks_move();
  test_one_thread_at_a_time();
  test_many_want_one();
  test_callbacks_leave_another();
  test_fork();
  return test_end("contexts");
}
