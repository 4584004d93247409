/* What a GPU asks of a program: its order, streams, copies, a captured step, and where the time
 * goes.
 *
 *   cuda_tour
 *
 * Without a GPU it says what is missing. One sees that calls return before the work is done, that
 * two streams wait for each other by an event, that copies from page-locked memory are faster, that
 * a captured step costs one launch, and a table of the kernels that took longest. docs/cuda.md has
 * the words; examples/python/cuda_tour.py is the same program.
 */
#define _POSIX_C_SOURCE 199309L
#include <dt.h>
#include <math.h>
#include <time.h>

static double milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

/* Twenty products are sent in less time than the GPU takes for them. */
static void order(void) {
  dt_tensor* x = T_div(T_randn(T_DIMS(2048, 2048), .device = T_CUDA(0)), 45);
  T_synchronize(.device = T_CUDA(0));
  const double begun = milliseconds();
  dt_tensor* y = x;
  for (int i = 0; i < 20; i++) y = T_matmul(y, x);
  const double sent = milliseconds() - begun;
  T_synchronize(.device = T_CUDA(0)); /* reading y would wait too */
  if (T_status()) return;
  printf("order: calls return before the work is done\n");
  printf("  sent after %.2f ms, done after %.2f ms\n", sent, milliseconds() - begun);
}

/* Work of one stream runs in order; between two, an event says what comes first. */
static void streams(void) {
  dt_tensor* x = T_ones(T_DIMS(1000, 1000), .device = T_CUDA(0));
  dt_event *begin = T_event_new(.device = T_CUDA(0), .timing = 1),
           *end = T_event_new(.device = T_CUDA(0), .timing = 1);
  dt_stream* side = T_stream_new(.device = T_CUDA(0));
  dt_event *ready = T_event_new(.device = T_CUDA(0)), *made = T_event_new(.device = T_CUDA(0));
  T_event_record(begin);
  T_event_record(ready); /* x is there */
  T_set_stream(T_CUDA(0), side);
  T_event_wait(ready);
  dt_tensor* y = T_matmul(x, x);
  T_event_record(made, .stream = side);
  T_set_stream(T_CUDA(0), NULL);
  T_event_wait(made); /* the main stream goes on when y is there */
  T_record_stream(y, T_current_stream(.device = T_CUDA(0)));
  dt_tensor* z = T_add(y, 1);
  T_event_record(end);
  T_event_synchronize(end);
  const double first = T_item_double(T_select(T_select(z, 0, 0), 0, 0));
  const double time = T_event_elapsed_time(begin, end);
  if (T_status()) return;
  printf("streams: 1000 ones times 1000 ones, and 1 = %d\n", (int)first);
  printf("  between the two events %.2f ms\n", time);
}

/* The GPU fetches page-locked memory by itself; other memory is copied there first. */
static void copies(void) {
  static const char* const names[] = {"ordinary", "page-locked"};
  dt_tensor* ordinary = T_ones(T_DIMS(16000000));
  dt_tensor* const sources[] = {ordinary, T_pin_memory(ordinary)};
  dt_tensor* target = T_empty(T_DIMS(16000000), .device = T_CUDA(0));
  if (!T_status()) printf("copies: 64 MB to the GPU\n");
  for (int i = 0; i < 2; i++) {
    T_copy_(target, sources[i]);
    T_synchronize(.device = T_CUDA(0));
    const double begun = milliseconds();
    T_copy_(target, sources[i], .non_blocking = 1);
    T_synchronize(.device = T_CUDA(0));
    if (!T_status()) printf("  %s memory %.2f ms\n", names[i], milliseconds() - begun);
  }
  const int arrived = T_item_int(T_all(T_eq(target, 1))) != 0;
  if (!T_status()) printf("  they arrive: %s\n", arrived ? "True" : "False");
}

/* A network of three layers, whose step is a few dozen short kernels. */
typedef struct Training {
  dt_module* model;
  dt_optimizer* optimizer;
  dt_tensor *x, *target;
} Training;

static Training make_training(void) {
  Training t;
  T_manual_seed(0);
  t.model = T_SEQUENTIAL(T_nn_linear(64, 128), T_nn_relu(), T_nn_linear(128, 128), T_nn_relu(),
                         T_nn_linear(128, 10));
  T_module_to(t.model, .device = T_CUDA(0));
  t.optimizer = T_optim_adam(T_entries(T_module_parameters(t.model)), .lr = 0.01);
  t.x = T_to(T_randn(T_DIMS(32, 64)), .device = T_CUDA(0));
  t.target = T_to(T_bitwise_and(T_arange(0, 32), 7), .device = T_CUDA(0));
  return t;
}

static dt_tensor* step(const Training* t) {
  T_optimizer_zero_grad(t->optimizer);
  dt_tensor* loss = T_cross_entropy(T_module_forward(t->model, t->x), t->target);
  T_backward(loss);
  T_optimizer_step(t->optimizer);
  return T_detach(loss);
}

/* A step is run a hundred times: that of `training`, or the graph. */
static double timed(const Training* training, dt_graph* graph) {
  T_synchronize(.device = T_CUDA(0));
  const double begun = milliseconds();
  for (int i = 0; i < 100; i++) {
    T_SCOPE {
      if (graph) {
        T_graph_replay(graph);
      } else {
        step(training);
      }
    }
  }
  T_synchronize(.device = T_CUDA(0));
  return (milliseconds() - begun) / 100;
}

/* The same steps one by one and as a graph: the same loss. */
static void capture(void) {
  const Training eager = make_training(), training = make_training();
  step(&eager); /* the first step makes the optimizer's state */
  step(&training);
  dt_graph* graph = T_graph_new(.device = T_CUDA(0));
  T_graph_begin(graph); /* recorded, not run */
  dt_tensor* loss = step(&training);
  T_graph_end(graph);
  const double one_by_one = timed(&eager, NULL), replayed = timed(&training, graph);
  const double wanted = T_item_double(step(&eager));
  T_graph_replay(graph);
  const double found = T_item_double(loss);
  if (T_status()) return;
  printf("capture: a step of training, one by one and as a graph\n");
  printf("  %.2f ms and %.2f ms\n", one_by_one, replayed);
  printf("  both learn the same: %s\n", fabs(wanted - found) < 1e-4 ? "True" : "False");
}

/* Where the time of a step goes. */
static void profile(void) {
  const Training training = make_training();
  step(&training);
  dt_profiler* profiler = T_profiler_start(.device_times = 1);
  for (int i = 0; i < 10; i++) {
    T_SCOPE {
      step(&training);
    }
  }
  T_profiler_stop(profiler);
  dt_bytes* table = T_profiler_table(profiler, .sort_by = "self_device_time_total", .row_limit = 5);
  if (!T_status())
    printf("profile: the kernels of ten steps that took the GPU longest\n%s\n", T_text(table));
}

int main(void) {
  T_SCOPE {
    if (T_cuda_device_count() > 0) {
      void (*const parts[])(void) = {order, streams, copies, capture, profile};
      for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        T_SCOPE {
          parts[i]();
        }
      }
    } else {
      printf("cuda_tour needs an NVIDIA GPU: %s\n", T_text(T_cuda_reason()));
    }
  }
  if (T_status()) fprintf(stderr, "%s\n", T_message());
  return T_status() != 0;
}
