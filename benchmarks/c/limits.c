/* What the machine can do at most, measured on all its cores at once: multiply-adds per second in
 * registers, and bytes per second of c = a + b over arrays larger than any cache. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "native.h"

#if defined(__AVX512F__)
enum { kLanes = 16 };
#elif defined(__AVX__)
enum { kLanes = 8 };
#else
enum { kLanes = 4 };
#endif
enum { kMaxThreads = 256, kChains = 12, kFlopRounds = (1 << 20) / kLanes };
enum { kFloats = 1 << 22 }; /* of one array, in every thread: 16 MiB */

typedef float Lanes __attribute__((vector_size(sizeof(float) * kLanes)));

/* Independent chains hide the latency of each multiply-add. */
static void multiply_add(int64_t n) {
  Lanes sum[kChains] = {{0}}, x = {0}, y = {0};
  for (int i = 0; i < kLanes; ++i) {
    x[i] = 0.5f;
    y[i] = 1.0f;
  }
  for (int64_t i = 0; i < n * kFlopRounds; ++i) {
    for (int c = 0; c < kChains; ++c) {
      sum[c] = sum[c] * x + y;
      __asm__ volatile("" : "+x"(sum[c])); /* keeps the compiler from working the sum out */
    }
  }
}

static void stream(int64_t n) {
  static _Thread_local float* memory;
  if (!memory) {
    memory = aligned_alloc(64, 3 * sizeof(float) * kFloats);
    if (!memory) abort();
    for (int64_t i = 0; i < 3 * (int64_t)kFloats; ++i) memory[i] = 1;
  }
  const float *a = memory, *b = memory + kFloats;
  float* c = memory + 2 * kFloats;
  for (int64_t r = 0; r < n; ++r) {
    for (int64_t i = 0; i < kFloats; ++i) c[i] = a[i] + b[i];
    __asm__ volatile("" ::: "memory");
  }
}

/* Worker threads live as long as the program, so that each keeps its memory. */
typedef struct Team {
  pthread_barrier_t start, end;
  int threads;
  void (*work)(int64_t n);
  int64_t n;
} Team;

static void* worker(void* context) {
  Team* team = context;
  for (;;) {
    pthread_barrier_wait(&team->start);
    team->work(team->n);
    pthread_barrier_wait(&team->end);
  }
  return NULL;
}

static Team* make_team(void) {
  static Team team;
  if (team.threads) return &team;
  const long cores = sysconf(_SC_NPROCESSORS_ONLN);
  team.threads = cores < 1 ? 1 : cores < kMaxThreads ? (int)cores : kMaxThreads;
  pthread_barrier_init(&team.start, NULL, (unsigned)team.threads + 1);
  pthread_barrier_init(&team.end, NULL, (unsigned)team.threads + 1);
  for (int i = 0; i < team.threads; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, worker, &team)) abort();
  }
  return &team;
}

static void run_on_all(void (*work)(int64_t), int64_t n) {
  Team* team = make_team();
  team->work = work;
  team->n = n;
  pthread_barrier_wait(&team->start);
  pthread_barrier_wait(&team->end);
}

/* One call: 2 * 12 * 2^20 operations in each core. */
static void flops(int64_t n) {
  run_on_all(multiply_add, n);
}

/* One call: 3 * 16 MiB in each core. */
static void bandwidth(int64_t n) {
  run_on_all(stream, n);
}

const Case limit_cases[] = {{"limit_flops", flops}, {"limit_bandwidth", bandwidth}, {0}};
