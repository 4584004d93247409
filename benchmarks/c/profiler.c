/* How much a profiler slows down training from C: what a step takes without one and with one, in
 * turns, and what the profiler takes when it stops.
 *
 *   profiler [TURNS]
 *
 * Times are the thread's own: what a busy machine does meanwhile does not count. */
#include <dt.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef struct {
  const char* name;
  int rows, in, hidden, out;
  int steps; /* in a turn */
} Network;

/* A step that is nearly all calls, examples/c/xor.c's, and one that calculates. */
static const Network networks[] = {
    {"XOR", 4, 2, 4, 1, 2000},
    {"MLP 64-64-10", 72, 64, 64, 10, 400},
};

typedef struct {
  const char* name;
  int is_on, memory, shapes;
} Mode;

static const Mode modes[] = {
    {"no profiler", 0, 0, 0},
    {"profiler", 1, 0, 0},
    {"with memory", 1, 1, 0},
    {"with memory and shapes", 1, 1, 1},
};
enum { kModes = sizeof modes / sizeof *modes, kMostTurns = 1000 };

static double microseconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

static int compare(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

/* Sorts. */
static double median(double* values, int n) {
  qsort(values, (size_t)n, sizeof *values, compare);
  return values[n / 2];
}

static void stop_on_error(void) {
  if (!T_status()) return;
  fprintf(stderr, "%s\n", T_message());
  exit(1);
}

typedef struct {
  dt_tensor *x, *y;
  dt_module* model;
  dt_optimizer* optimizer;
} Training;

static double time_of_steps(const Training* t, int steps) {
  const double start = microseconds();
  for (int i = 0; i < steps; ++i) {
    T_SCOPE {
      T_optimizer_zero_grad(t->optimizer);
      T_backward(T_mse_loss(T_module_forward(t->model, t->x), t->y));
      T_optimizer_step(t->optimizer);
    }
  }
  return microseconds() - start;
}

/* How many activities the profiler has. */
static double count(dt_profiler* p) {
  dt_tensor* numbers = NULL;
  T_profiler_activities(p, .numbers = &numbers);
  return (double)T_size(numbers, 0);
}

static void measure(const Network* n, int turns) {
  static double step[kModes][kMostTurns], ratio[kModes][kMostTurns], stop[kModes][kMostTurns];
  double activities = 0;
  Training t;
  t.x = T_randn(T_DIMS(n->rows, n->in));
  t.y = T_randn(T_DIMS(n->rows, n->out));
  t.model =
      T_SEQUENTIAL(T_nn_linear(n->in, n->hidden), T_nn_tanh(), T_nn_linear(n->hidden, n->out));
  t.optimizer = T_optim_sgd(T_entries(T_module_parameters(t.model)), .lr = 0.01);
  time_of_steps(&t, n->steps); /* warms up */
  for (int turn = 0; turn < turns; ++turn) {
    for (int m = 0; m < kModes; ++m) {
      T_SCOPE {
        dt_profiler* p = NULL;
        if (modes[m].is_on)
          p = T_profiler_start(.profile_memory = modes[m].memory, .record_shapes = modes[m].shapes);
        step[m][turn] = time_of_steps(&t, n->steps) / n->steps;
        ratio[m][turn] = step[m][turn] / step[0][turn];
        const double begin = microseconds();
        if (p) T_profiler_stop(p);
        stop[m][turn] = microseconds() - begin;
        if (p && turn == 0) activities = count(p);
      }
      stop_on_error();
    }
  }
  printf("%s: %.0f activities a step\n", n->name, activities / n->steps);
  for (int m = 0; m < kModes; ++m) {
    const double middle = median(step[m], turns), slower = median(ratio[m], turns);
    printf("  %-24s best %7.2f us, median %7.2f us", modes[m].name, step[m][0], middle);
    if (modes[m].is_on)
      printf(", %+5.1f %% (best %+5.1f %%), stop %.0f ns an activity", 100 * (slower - 1),
             100 * (step[m][0] / step[0][0] - 1), 1e3 * median(stop[m], turns) / activities);
    printf("\n");
  }
}

int main(int argc, char** argv) {
  int turns = argc > 1 ? atoi(argv[1]) : 60;
  turns = turns < 1 ? 1 : turns > kMostTurns ? kMostTurns : turns;
  T_SCOPE {
    T_set_num_threads(1);
    for (size_t i = 0; i < sizeof networks / sizeof *networks; ++i) measure(&networks[i], turns);
  }
  stop_on_error();
  return 0;
}
