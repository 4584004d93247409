/* Calls while the process exits: exit() may be called from anywhere, and what is registered with
 * atexit, which runs after the thread's other variables are gone, saves models and trains on. The
 * child of a fork exits in the same way. */
#define _XOPEN_SOURCE 700 /* mkdtemp, P_tmpdir */
#include <dt.h>
#include <sys/wait.h>
#include <unistd.h>

static dt_module* net;
static char path[64];

#define CHECK(condition) check_((condition), #condition, __LINE__)
static void check_(int condition, const char* text, int line) {
  if (condition) return;
  fprintf(stderr, "process %d, line %d: %s (%s)\n", (int)getpid(), line, text, T_message());
  _exit(1);
}

/* Large enough for the threads of the pool. */
static double train(void) {
  double loss = -1;
  T_SCOPE {
    dt_tensor* x = T_randn(T_DIMS(300, 300));
    dt_optimizer* optimizer = T_optim_adam(T_entries(T_module_parameters(net)));
    T_optimizer_zero_grad(optimizer);
    dt_tensor* y = T_mse_loss(T_module_forward(net, x), T_dropout(x));
    T_backward(y);
    T_optimizer_step(optimizer);
    loss = T_item_double(y);
  }
  return loss;
}

static void load_batches(void) {
  T_SCOPE {
    dt_dataset* data = T_dataset_new(T_LIST(T_arange(0, 100)));
    dt_data_loader* loader =
        T_data_loader_new(data, .batch_size = 10, .shuffle = 1, .num_workers = 2);
    T_data_loader_start(loader);
    CHECK(T_entries(T_data_loader_next(loader)).n == 1);
  }
}

static void at_exit(void) {
  dt_bytes* info = NULL;
  CHECK(train() > 0);
  load_batches();
  T_module_save(net, path);
  T_module_load(net, path);
  CHECK(T_clear() == 0);
  CHECK(dt_module_save(net, "/nowhere/x") == DT_STATUS_IO);
  CHECK(dt_error_code() == DT_STATUS_IO && strstr(dt_error_message(), "'/nowhere/x'"));
  CHECK(dt_build_info(&info) == 0);
  dt_bytes_release(info);
  CHECK(T_device_is_available(T_CUDA(99)) == 0);
  T_set_num_threads(3);
  T_set_own_generators(1);
  CHECK(train() > 0 && T_clear() == 0);
  dt_module_release(net);
  dt_tensor* never = NULL;
  dt_tensor_release(never);
  CHECK(dt_live_handles(NULL) == 0);
  CHECK(unlink(path) == 0);
}

#ifndef __SANITIZE_THREAD__ /* which takes no new threads in a fork's child */
static void test_child(void) {
  int status = -1;
  const pid_t child = fork();
  if (child == 0) {
    snprintf(path, sizeof path, "%s/dt_exit_test_%d", P_tmpdir, (int)getpid());
    exit(0);
  }
  CHECK(waitpid(child, &status, 0) == child && status == 0);
}
#else
static void test_child(void) {}
#endif

int main(void) {
  snprintf(path, sizeof path, "%s/dt_exit_test_%d", P_tmpdir, (int)getpid());
  CHECK(atexit(at_exit) == 0); /* before the library has anything of its own: it runs last */
  net = T_nn_linear(300, 300);
  T_set_num_threads(2);
  train();
  load_batches();
  T_relu(NULL); /* a failure, so that there is a message to free */
  T_clear();
  test_child();
  exit(0);
}
