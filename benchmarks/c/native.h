/* A benchmark case: a name, and a function that does the thing n times. */
#ifndef BENCHMARKS_C_NATIVE_H
#define BENCHMARKS_C_NATIVE_H

#include <stdint.h>

typedef struct Case {
  const char* name;
  void (*run)(int64_t n);
} Case;

/* Each file's cases, ended by a case without a name. */
extern const Case overhead_cases[], broadcast_cases[], limit_cases[];

/* Ends the program with the library's message if a call failed. */
void must(int32_t status);

#endif
