/* Several copies of the library in one process, as from a wheel beside a system's package: opened
 * late and closed early, each computes and releases undisturbed by the others. */
#define _GNU_SOURCE /* dladdr */
#include <dlfcn.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/capi/check.h"

enum { kCopies = 5 };

#ifdef __SANITIZE_ADDRESS__
/* LeakSanitizer crashes where libraries that were opened late have thread-local memory. */
const char* __asan_default_options(void) __attribute__((visibility("default")));
const char* __asan_default_options(void) {
  return "detect_leaks=0";
}
#endif

#define FUNCTIONS(F)     \
  F(dt_ones)             \
  F(dt_matmul)           \
  F(dt_tensor_read)      \
  F(dt_tensor_release)   \
  F(dt_tensor_numel)     \
  F(dt_error_message)    \
  F(dt_live_handles)     \
  F(dt_set_num_threads)  \
  F(dt_set_grad_enabled) \
  F(dt_is_grad_enabled)

#define DECLARE(name) __typeof__(name)* name;
#define FIND(name) c.name = (__typeof__(name)*)dlsym(c.library, #name);

typedef struct {
  void* library;
  FUNCTIONS(DECLARE)
} Copy;

static void copy_file(const char* from, const char* to) {
  static char buffer[1 << 16];
  FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
  size_t n;
  CHECK(in && out);
  while ((n = fread(buffer, 1, sizeof buffer, in)) > 0) CHECK(fwrite(buffer, 1, n, out) == n);
  CHECK(fclose(in) == 0 && fclose(out) == 0);
}

static Copy open_copy(int number) {
  Copy c;
  Dl_info own;
  char path[64];
  CHECK(dladdr((void*)&dt_abi_version, &own));
  snprintf(path, sizeof path, "%s/dt_copy_%d_%d.so", P_tmpdir, (int)getpid(), number);
  copy_file(own.dli_fname, path);
  c.library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!c.library) fprintf(stderr, "%s\n", dlerror());
  unlink(path);
  CHECK(c.library);
  FUNCTIONS(FIND)
  return c;
}

/* 300 ones in a row times 300 in a column, by several threads. */
static dt_tensor* multiply(const Copy* c) {
  const int64_t size[2] = {300, 300};
  static float values[300 * 300];
  dt_tensor *x = NULL, *y = NULL;
  CHECK(c->dt_ones(size, 2, 0, 0, 0, 0, &x) == 0);
  CHECK(c->dt_matmul(x, x, &y) == 0);
  CHECK(c->dt_tensor_read(y, values, sizeof values) == 0 && values[300 * 300 - 1] == 300);
  c->dt_tensor_release(x);
  return y;
}

static void* on_a_thread(void* copies) {
  Copy* all = copies;
  for (int i = 0; i < kCopies; i++) {
    int32_t mode = -1;
    CHECK(all[i].dt_is_grad_enabled(&mode) == 0 && mode == 1);
    all[i].dt_tensor_release(multiply(&all[i]));
  }
  for (int i = 0; i < kCopies; i++) CHECK(dlclose(all[i].library) == 0);
  return NULL; /* the thread's end runs code of all copies */
}

/* All copies hear of a fork, also those that are closed. */
static int fork_and_exit(void) {
  int status = -1;
  const pid_t child = fork();
  if (child == 0) {
    dt_tensor_release(new_tensor(1));
    _exit(failures != 0);
  }
  return waitpid(child, &status, 0) == child ? status : -1;
}

int main(void) {
  Copy copies[kCopies];
  dt_tensor *kept[kCopies], *mine = new_tensor(3);
  pthread_t thread;
  int64_t n;
  int32_t mode;
  for (int i = 0; i < kCopies; i++) {
    copies[i] = open_copy(i);
    if (!copies[i].library) return 1;
    CHECK(copies[i].dt_ones != (i ? copies[i - 1].dt_ones : dt_ones));
  }
  for (int i = 0; i < kCopies; i++) {
    CHECK(copies[i].dt_set_num_threads(2) == 0);
    kept[i] = multiply(&copies[i]);
  }
  for (int i = 0; i < kCopies; i++) {
    CHECK(copies[i].dt_live_handles(NULL) == 1);
    CHECK(copies[i].dt_tensor_numel(NULL, &n) == DT_STATUS_HANDLE);
    CHECK(strstr(copies[i].dt_error_message(), "input is NULL"));
    CHECK(copies[i].dt_set_grad_enabled(i % 2) == 0);
  }
  CHECK(strcmp(dt_error_message(), "") == 0);
  for (int i = 0; i < kCopies; i++) {
    CHECK(copies[i].dt_is_grad_enabled(&mode) == 0 && mode == i % 2);
    copies[i].dt_tensor_release(kept[i]);
    CHECK(copies[i].dt_live_handles(NULL) == 0);
  }
  pthread_create(&thread, NULL, on_a_thread, copies);
  pthread_join(thread, NULL);
  CHECK(fork_and_exit() == 0);
  dt_tensor_release(mine);
  return test_end("copies");
}
