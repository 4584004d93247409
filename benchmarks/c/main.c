/* Times cases on request: reads lines "NAME SECONDS" and answers each with the seconds that one
 * call takes, measured over about that time. bench.py asks, so that C and Python rows take turns.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "dumbtorch.h"
#include "native.h"

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double seconds_for(const Case* c, int64_t n) {
  const double start = now();
  c->run(n);
  return now() - start;
}

void must(int32_t status) {
  if (status == 0) return;
  fprintf(stderr, "%s\n", dt_error_message());
  exit(1);
}

static const Case* find(const char* name) {
  const Case* lists[] = {overhead_cases, broadcast_cases, limit_cases};
  for (size_t i = 0; i < sizeof lists / sizeof *lists; ++i) {
    for (const Case* c = lists[i]; c->name; ++c) {
      if (strcmp(c->name, name) == 0) return c;
    }
  }
  return NULL;
}

/* The first call warms up and sets up; then the count doubles until it fills the time. */
static double seconds_per_call(const Case* c, double budget) {
  int64_t n = 1;
  c->run(1);
  for (;;) {
    const double took = seconds_for(c, n);
    if (took >= budget / 2) return took / (double)n;
    n *= 2;
  }
}

int main(void) {
  char name[64];
  double budget;
  must(dt_set_num_threads(1));
  while (scanf("%63s %lf", name, &budget) == 2) {
    const Case* c = find(name);
    if (!c) {
      fprintf(stderr, "no case is named %s\n", name);
      return 1;
    }
    printf("%.9e\n", seconds_per_call(c, budget));
    fflush(stdout);
  }
  return 0;
}
