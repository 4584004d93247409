/* The product of two matrices in five ways, and how near each comes to what the processor can do.
 *
 *   matmul [size, a multiple of 48]
 *
 * One sees, for each way, how many billion additions and multiplications it does in a second, and
 * its share of the limit, which is measured too: sums that never leave the registers. The naive way
 * reaches a percent or two, the library comes nearest. Where there is a GPU one sees its speed
 * too, with and without its tensor cores. examples/python/matmul.py is the lesson for Python.
 */
#define _POSIX_C_SOURCE 199309L
#include <dt.h>
#include <math.h>
#include <time.h>

enum { TILE = 48, ROWS = 6, LANES = 8, DEPTH = 240, SUMS = 12 };

/* Numbers that are computed with at once, in one register: 8 in those of AVX2. */
#define VECTOR(lanes) __attribute__((vector_size(4 * (lanes)), aligned(4))) float
typedef VECTOR(LANES) Vector;

/* Compiled for each of these processors; the best that fits is taken when the program starts. */
#if defined(__x86_64__) && defined(__linux__) && !defined(__clang__)
#define EACH_PROCESSOR __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define EACH_PROCESSOR
#endif

typedef void (*Product)(const float* a, const float* b, float* c, int n);

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Each element is a row of a times a column of b. The column lies all over the memory. */
static void naive(const float* a, const float* b, float* c, int n) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      float sum = 0;
      for (int k = 0; k < n; k++) sum += a[i * n + k] * b[k * n + j];
      c[i * n + j] = sum;
    }
}

/* The same in blocks of which three fit into the first cache. */
static void tiled(const float* a, const float* b, float* c, int n) {
  memset(c, 0, (size_t)n * (size_t)n * sizeof *c);
  for (int i0 = 0; i0 < n; i0 += TILE)
    for (int j0 = 0; j0 < n; j0 += TILE)
      for (int k0 = 0; k0 < n; k0 += TILE)
        for (int i = i0; i < i0 + TILE; i++)
          for (int j = j0; j < j0 + TILE; j++) {
            float sum = c[i * n + j];
            for (int k = k0; k < k0 + TILE; k++) sum += a[i * n + k] * b[k * n + j];
            c[i * n + j] = sum;
          }
}

/* 6 rows of 16 sums stay in registers while a strip of b, which stays in the cache, goes by. */
EACH_PROCESSOR static void vectorised(const float* a, const float* b, float* c, int n) {
  memset(c, 0, (size_t)n * (size_t)n * sizeof *c);
  for (int k0 = 0; k0 < n; k0 += DEPTH)
    for (int j = 0; j < n; j += 2 * LANES)
      for (int i = 0; i < n; i += ROWS) {
        const int end = k0 + DEPTH < n ? k0 + DEPTH : n;
        Vector sums[ROWS][2];
        for (int r = 0; r < ROWS; r++) memcpy(sums[r], c + (i + r) * n + j, sizeof sums[r]);
        for (int k = k0; k < end; k++) {
          const Vector* row = (const Vector*)(b + k * n + j);
          for (int r = 0; r < ROWS; r++) {
            sums[r][0] += a[(i + r) * n + k] * row[0];
            sums[r][1] += a[(i + r) * n + k] * row[1];
          }
        }
        for (int r = 0; r < ROWS; r++) memcpy(c + (i + r) * n + j, sums[r], sizeof sums[r]);
      }
}

/* Sums in registers of so many numbers, `rounds` times; what they come to, so that they are really
 * computed. */
#define ADD_IN_REGISTERS(lanes)                                           \
  EACH_PROCESSOR static float add_by_##lanes(long rounds, float factor) { \
    VECTOR(lanes) sums[SUMS], x = {0};                                    \
    float total = 0;                                                      \
    x += factor;                                                          \
    for (int i = 0; i < SUMS; i++) sums[i] = x * (float)i;                \
    for (long r = 0; r < rounds; r++)                                     \
      for (int i = 0; i < SUMS; i++) sums[i] = sums[i] * x + x;           \
    for (int i = 0; i < SUMS; i++) total += sums[i][0];                   \
    return total;                                                         \
  }
ADD_IN_REGISTERS(4)  /* SSE */
ADD_IN_REGISTERS(8)  /* AVX2 */
ADD_IN_REGISTERS(16) /* AVX-512 */

static double speed_of(float (*add)(long, float), int lanes) {
  const long rounds = 100000;
  double best = 0;
  for (int i = 0; i < 100; i++) { /* so often that one try is not disturbed */
    const double begun = seconds();
    const volatile float kept = add(rounds, 0.5F);
    (void)kept;
    best = fmax(best, 2e-9 * SUMS * lanes * (double)rounds / (seconds() - begun));
  }
  return best;
}

/* The most that one thread can do, in GFLOP/s: with registers that the processor really has. */
static double measure_limit(void) {
  return fmax(fmax(speed_of(add_by_4, 4), speed_of(add_by_8, 8)), speed_of(add_by_16, 16));
}

static void report(const char* name, double speed, double limit, double off) {
  printf("%-28s %8.1f GFLOP/s  %5.1f %% of the limit  %s\n", name, speed, 100 * speed / limit,
         off < 1e-3 ? "right" : "WRONG");
  fflush(stdout);
}

static void try_own(const char* name, Product product, const float* a, const float* b, int n,
                    const float* right, double limit) {
  double best = 0, off = 0;
  float* c = malloc((size_t)n * (size_t)n * sizeof *c);
  if (!c) {
    T_check(dt_error_set(DT_STATUS_OUT_OF_MEMORY, "no memory for the product"));
    return;
  }
  for (int i = 0; i < 3; i++) {
    const double begun = seconds();
    product(a, b, c, n);
    best = fmax(best, 2e-9 * pow(n, 3) / (seconds() - begun));
  }
  for (int i = 0; i < n * n; i++) off = fmax(off, fabs((double)c[i] - (double)right[i]));
  free(c);
  report(name, best, limit, off / sqrt(n));
}

/* The library's product on the device where a and b are; looking at an element waits for it. */
static double library_speed(dt_tensor* a, dt_tensor* b) {
  const int64_t n = T_size(a, 0);
  double best = 0;
  for (int i = 0; i < 20 && !T_status(); i++) {
    T_SCOPE {
      const double begun = seconds();
      T_item(T_select(T_select(T_matmul(a, b), 0, 0), 0, 0));
      best = fmax(best, 2e-9 * pow((double)n, 3) / (seconds() - begun));
    }
  }
  return best;
}

static void try_gpu(void) {
  const T_Dims size = T_DIMS(8192, 8192);
  if (T_cuda_device_count() == 0) return;
  T_SCOPE {
    dt_tensor* a = T_to(T_randn(size), .device = T_CUDA(0));
    printf("%-28s %8.1f GFLOP/s\n", "GPU, float32", library_speed(a, a));
    T_set_tf32(1, 1);
    printf("%-28s %8.1f GFLOP/s\n", "GPU, tensor cores, TF32", library_speed(a, a));
    a = T_to(a, .dtype = DT_DTYPE_BFLOAT16);
    printf("%-28s %8.1f GFLOP/s\n", "GPU, tensor cores, bfloat16", library_speed(a, a));
  }
}

int main(int argc, char** argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 960;
  if (n < 48 || n > 9600 || n % 48) {
    fprintf(stderr, "usage: matmul [size, a multiple of 48]\n");
    return 2;
  }
  const int64_t bytes = (int64_t)n * n * (int64_t)sizeof(float);
  float *a = malloc((size_t)bytes), *b = malloc((size_t)bytes), *right = malloc((size_t)bytes);
  T_SCOPE {
    T_manual_seed(0);
    dt_tensor *x = T_randn(T_DIMS(n, n)), *y = T_randn(T_DIMS(n, n));
    if (!a || !b || !right)
      T_check(dt_error_set(DT_STATUS_OUT_OF_MEMORY, "no memory for the matrices"));
    if (T_read(x, a, bytes) || T_read(y, b, bytes) || T_read(T_matmul(x, y), right, bytes)) break;
    const double limit = measure_limit();
    const int64_t threads = T_get_num_threads();
    printf("%d x %d; the limit of one thread is %.1f GFLOP/s\n", n, n, limit);
    try_own("naive", naive, a, b, n, right, limit);
    try_own("tiled", tiled, a, b, n, right, limit);
    try_own("vectorised", vectorised, a, b, n, right, limit);
    T_set_num_threads(1);
    report("library, one thread", library_speed(x, y), limit, 0);
    T_set_num_threads(threads);
    report("library, all threads", library_speed(x, y), limit * (double)threads, 0);
    try_gpu();
  }
  free(a);
  free(b);
  free(right);
  if (T_status()) fprintf(stderr, "%s\n", T_message());
  return T_status() != 0;
}
