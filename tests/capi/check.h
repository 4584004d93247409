/* A test program's few words: CHECK says what failed and goes on, test_end gives main's result. */
#ifndef DT_TESTS_CAPI_CHECK_H
#define DT_TESTS_CAPI_CHECK_H

#include <dumbtorch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int checks, failures;

#define CHECK(condition)                                                               \
  do {                                                                                 \
    ++checks;                                                                          \
    if (!(condition)) {                                                                \
      ++failures;                                                                      \
      fprintf(stderr, "%s:%d: %s\n  last error: %s\n", __FILE__, __LINE__, #condition, \
              dt_error_message());                                                     \
    }                                                                                  \
  } while (0)

#define OK(call) CHECK((call) == DT_STATUS_OK)
#define FAILS(code, call) CHECK((call) == DT_STATUS_##code && dt_error_code() == DT_STATUS_##code)

static inline int message_has(const char* words) {
  return strstr(dt_error_message(), words) != NULL;
}

static inline dt_tensor* new_tensor(int64_t n) {
  dt_tensor* t = NULL;
  OK(dt_zeros(&n, 1, DT_DTYPE_FLOAT32, 0, 0, 0, &t));
  return t;
}

/* Nothing may be left over at the end. */
static inline int test_end(const char* name) {
  CHECK(dt_live_handles(NULL) == 0);
  printf("%s: %d checks, %d failures\n", name, checks, failures);
  return failures != 0;
}

#endif
