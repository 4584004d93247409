/* What the generated misuse tests share: good objects, bad ones, outputs, and the check of a
 * failing call.
 *
 * Each test program is one translation unit, so this header holds the objects themselves. */
#ifndef DT_TESTS_CAPI_MISUSE_H
#define DT_TESTS_CAPI_MISUSE_H

#include <dumbtorch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One good object of every handle kind, and of everything else that arguments are made of. */
static struct {
  dt_tensor *tensor, *tensors[2];
  dt_tensor_list* tensor_list;
  dt_string_list* string_list;
  dt_bytes* bytes;
  dt_generator* generator;
  dt_context* context;
  dt_hook* hook;
  dt_node* node;
#define MISUSE_KIND(kind) dt_##kind* kind;
#include "tests/capi/misuse_kinds.def"
#undef MISUSE_KIND
  int64_t i64s[1];
  double f64s[1];
  int32_t bools[1];
  const char* strs[1];
  int drops;
} good;

static struct {
  void *released, *garbage, *foreign;
  dt_tensor *released_tensors[2], *foreign_tensors[2], *null_tensors[2];
  int64_t size_zero[64];
  int64_t size_newer[8192];
} bad;

/* Outputs. Those of one call are different ones. */
#define MISUSE_OUTS 4
static struct {
  void* pointer[MISUSE_OUTS];
  int64_t i64[MISUSE_OUTS], i64s[4];
  double f64[MISUSE_OUTS], f64s[4];
  int32_t i32[MISUSE_OUTS];
} out;

static int misuse_calls, misuse_failures;

/* Every callback ends up here, and none should. */
static inline dt_status called(void) {
  ++misuse_failures;
  return dt_error_set(DT_STATUS_CALLBACK, "a callback ran although the call had a bad argument");
}

static inline int count_of(const char* word, const char* text) {
  int n = 0;
  while ((text = strstr(text, word)) != NULL) ++n, ++text;
  return n;
}

static inline void count_drop(void* drops) {
  ++*(int*)drops;
}

static void must(dt_status status, int line) {
  if (status == DT_STATUS_OK) return;
  fprintf(stderr, "misuse.h:%d: %s\n", line, dt_error_message());
  exit(2);
}
#define MUST(call) must((call), __LINE__)

/* Marks the outputs, so that a call which leaves them alone is seen. */
static void poison(void) {
  for (int i = 0; i < MISUSE_OUTS; ++i) {
    out.pointer[i] = &out;
    out.i64[i] = out.i32[i] = 77;
    out.f64[i] = 77;
  }
}

static int names(const char* call, const char* member, int i) {
  char text[32];
  snprintf(text, sizeof text, "&out.%s[%d]", member, i);
  return strstr(call, text) != NULL;
}

/* After a failure every output that the call names is NULL or 0. */
static void check_outputs(const char* call) {
  for (int i = 0; i < MISUSE_OUTS; ++i) {
    const int kept = (names(call, "pointer", i) && out.pointer[i] != NULL) ||
                     (names(call, "i64", i) && out.i64[i] != 0) ||
                     (names(call, "f64", i) && out.f64[i] != 0) ||
                     (names(call, "i32", i) && out.i32[i] != 0);
    if (!kept) continue;
    fprintf(stderr, "%s\n  left output %d of a kind alone\n", call, i);
    ++misuse_failures;
  }
}

static void check(dt_status got, dt_status expected, const char* function, const char* call) {
  const char* message = dt_error_message();
  ++misuse_calls;
  if (got != expected || dt_error_code() != expected ||
      strncmp(message, function, strlen(function)) != 0 || strlen(message) < strlen(function) + 5) {
    fprintf(stderr, "%s\n  gave %d, expected %d; message: %s\n", call, got, expected, message);
    ++misuse_failures;
  }
  dt_error_clear();
}

/* Through a second macro, so that outputs which a macro names are seen in the call's text.
 * Every callback's user data is dropped exactly once, whatever was wrong. */
#define EXPECT(status, function, call) EXPECT_CALL(status, function, call)
#define EXPECT_CALL(status, function, call)                                   \
  do {                                                                        \
    const int drops = good.drops;                                             \
    poison();                                                                 \
    check((call), DT_STATUS_##status, function, #call);                       \
    if (good.drops != drops + count_of("count_drop", #call)) {                \
      fprintf(stderr, "%s\n  dropped %d times\n", #call, good.drops - drops); \
      ++misuse_failures;                                                      \
    }                                                                         \
    check_outputs(#call);                                                     \
  } while (0)

static dt_status keep_gradient(void* user_data, dt_tensor* grad, dt_tensor** result) {
  (void)user_data, (void)grad, (void)result;
  return DT_STATUS_OK;
}

#include "tests/capi/misuse_objects.h"

static void misuse_begin(void) {
  const int64_t one = 1;
  dt_tensor* gone = NULL;
  MUST(dt_zeros(&one, 1, DT_DTYPE_FLOAT32, 0, 0, 1, &good.tensor));
  good.tensors[0] = good.tensors[1] = good.tensor;
  MUST(dt_tensor_list_new(good.tensors, 2, &good.tensor_list));
  MUST(dt_build_info(&good.bytes));
  MUST(dt_default_generator(DT_DEVICE_TYPE_CPU, 0, &good.generator));
  MUST(dt_context_new(&good.context));
  MUST(dt_tensor_register_hook(good.tensor, keep_gradient, NULL, NULL, &good.hook));
  MUST(dt_tensor_node(good.tensor, &good.node));
  misuse_make_objects();
  good.i64s[0] = 1;
  good.f64s[0] = 1;
  good.bools[0] = 1;
  good.strs[0] = "text";

  MUST(dt_zeros(&one, 1, DT_DTYPE_FLOAT32, 0, 0, 0, &gone));
  dt_tensor_release(gone);
  bad.released = gone;
  bad.garbage = &bad; /* an address, not a handle */
  bad.foreign = good.generator;
  for (int i = 0; i < 2; ++i) {
    bad.released_tensors[i] = i ? gone : good.tensor;
    bad.foreign_tensors[i] = i ? (dt_tensor*)bad.foreign : good.tensor;
    bad.null_tensors[i] = i ? NULL : good.tensor;
  }
  bad.size_newer[0] = sizeof bad.size_newer;
  bad.size_newer[8191] = 1;
}

static int misuse_end(void) {
  misuse_release_objects();
  dt_node_release(good.node);
  dt_hook_release(good.hook);
  dt_context_release(good.context);
  dt_generator_release(good.generator);
  dt_bytes_release(good.bytes);
  dt_tensor_list_release(good.tensor_list);
  dt_tensor_release(good.tensor);
  if (dt_live_handles(NULL) != 0) {
    fprintf(stderr, "%lld handles are not released\n", (long long)dt_live_handles(NULL));
    ++misuse_failures;
  }
  printf("%d wrong calls, %d failures\n", misuse_calls, misuse_failures);
  return misuse_failures != 0;
}

#endif
