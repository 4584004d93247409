/* Whose random numbers: all threads draw from the process's default generators, in whatever order
 * they come, unless a context has its own; then what it computes is the same alone and in company.
 */
#define _XOPEN_SOURCE 700 /* pthread_barrier_t */
#include <dt.h>
#include <pthread.h>

static int failures;

#define CHECK(condition) check_((condition), #condition, __LINE__)
static void check_(int condition, const char* text, int line) {
  if (condition) return;
  __atomic_add_fetch(&failures, 1, __ATOMIC_RELAXED);
  fprintf(stderr, "line %d: %s (%s)\n", line, text, T_message());
}

static double draw(void) {
  double x = 0;
  T_SCOPE {
    x = T_item_double(T_rand(T_DIMS(1), .dtype = DT_DTYPE_FLOAT64));
  }
  return x;
}

/* ---- training: initial values, dropout, shuffled batches and plain draws */

enum { kSteps = 20, kThreads = 4 };

typedef struct {
  int64_t seed;
  int use_context;            /* its own generators in a context that is swapped in */
  pthread_barrier_t* barrier; /* all take their steps together */
  double losses[kSteps];
} Training;

static void train(Training* t) {
  T_SCOPE {
    T_manual_seed(t->seed);
    dt_module* net =
        T_SEQUENTIAL(T_nn_linear(8, 16), T_nn_relu(), T_nn_dropout(), T_nn_linear(16, 1));
    dt_optimizer* optimizer = T_optim_sgd(T_entries(T_module_parameters(net)), .lr = 0.05);
    dt_tensor* x = T_randn(T_DIMS(64, 8));
    dt_dataset* data = T_dataset_new(T_LIST(x, T_sum(x, .dim = T_DIMS(1), .keepdim = 1)));
    dt_data_loader* loader = T_data_loader_new(data, .batch_size = 8, .shuffle = 1);
    for (int i = 0; i < kSteps; i++) {
      if (t->barrier) pthread_barrier_wait(t->barrier);
      T_SCOPE {
        T_Tensors batch = T_entries(T_data_loader_next(loader));
        if (batch.n == 0) batch = T_entries(T_data_loader_next(loader)); /* the next epoch */
        dt_tensor* noisy = T_add(batch.p[0], T_mul(T_randn_like(batch.p[0]), 0.01));
        T_optimizer_zero_grad(optimizer);
        dt_tensor* loss = T_mse_loss(T_module_forward(net, noisy), batch.p[1]);
        T_backward(loss);
        T_optimizer_step(optimizer);
        t->losses[i] = T_item_double(loss);
      }
    }
  }
  CHECK(T_status() == 0);
}

static void* run(void* training) {
  Training* t = training;
  dt_context *context = NULL, *before = NULL;
  if (t->use_context) {
    CHECK(dt_context_new(&context) == 0 && dt_context_swap(context, &before) == 0 && !before);
  }
  T_set_own_generators(1);
  CHECK(T_has_own_generators());
  train(t);
  if (t->use_context) {
    CHECK(dt_context_swap(NULL, &before) == 0);
    CHECK(!T_has_own_generators()); /* the thread's own context has none */
    dt_context_release(before);
    dt_context_release(context);
  }
  return NULL;
}

static void test_the_same_alone_and_in_company(void) {
  pthread_t threads[kThreads];
  pthread_barrier_t barrier;
  Training company[kThreads], alone;
  const double first = (T_manual_seed(5), draw()), second = draw();
  T_manual_seed(5);
  CHECK(draw() == first);
  pthread_barrier_init(&barrier, NULL, kThreads);
  for (int i = 0; i < kThreads; i++) {
    company[i] = (Training){i / 2, i % 2, &barrier, {0}}; /* each seed twice */
    pthread_create(&threads[i], NULL, run, &company[i]);
  }
  for (int i = 0; i < kThreads; i++) pthread_join(threads[i], NULL);
  CHECK(draw() == second); /* nobody has drawn from the process's */
  for (int i = 0; i < kThreads; i++) {
    alone = (Training){i / 2, 0, NULL, {0}};
    train(&alone); /* with the process's generators, which nobody else uses now */
    CHECK(memcmp(alone.losses, company[i].losses, sizeof alone.losses) == 0);
    CHECK(alone.losses[kSteps - 1] == alone.losses[kSteps - 1]);
  }
  CHECK(memcmp(company[0].losses, company[2].losses, sizeof alone.losses) != 0);
}

/* ---- the switch */

static void* seed_elsewhere(void* own) {
  if (own) T_set_own_generators(1);
  T_manual_seed(99);
  return NULL;
}

static void seed_on_another_thread(int own) {
  pthread_t thread;
  pthread_create(&thread, NULL, seed_elsewhere, own ? &thread : NULL);
  pthread_join(thread, NULL);
}

static void test_the_switch(void) {
  double shared[3], own;
  T_manual_seed(7);
  for (int i = 0; i < 3; i++) shared[i] = draw();
  T_manual_seed(7);
  CHECK(draw() == shared[0]);
  seed_on_another_thread(1); /* does not concern us */
  CHECK(draw() == shared[1]);

  T_set_own_generators(1);
  own = draw();
  CHECK(own != shared[2]); /* not the same sequence in every thread */
  T_manual_seed(7);
  T_set_own_generators(1); /* has them already */
  CHECK(draw() == shared[0]);
  seed_on_another_thread(0);
  CHECK(draw() == shared[1]);

  T_set_own_generators(0);
  T_manual_seed(7);
  CHECK(draw() == shared[0] && !T_has_own_generators());
  T_set_own_generators(1);
  CHECK(draw() != own); /* others than before */
  T_set_own_generators(0);
  CHECK(draw() == shared[1]);
}

/* A handle keeps its generator, whatever becomes of the context. */
static void test_handles(void) {
  dt_generator *of_process = T_default_generator(), *own = NULL;
  T_set_own_generators(1);
  own = T_default_generator();
  T_generator_manual_seed(of_process, 1);
  T_generator_manual_seed(own, 2);
  CHECK(T_generator_initial_seed(T_default_generator()) == 2);
  T_set_own_generators(0);
  CHECK(T_generator_initial_seed(own) == 2);
  CHECK(T_generator_initial_seed(T_default_generator()) == 1);
}

int main(void) {
  test_the_same_alone_and_in_company();
  test_the_switch();
  T_SCOPE {
    test_handles();
  }
  CHECK(dt_live_handles(NULL) == 0);
  return failures != 0;
}
