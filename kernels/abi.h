/* What core and the kernels share, in plain C: the only header that both sides include.
 *
 * A backend (the CPU kernels of one instruction set, the CUDA plugin, ...) hands core one kernel
 * for each op that it has, by name. Core describes a call as views plus two counted spans of
 * numbers, so that a call can be recorded, hashed and printed without knowing the op.
 * `capi/schema/kernels.toml` documents every op's operands and attributes. The ops are deliberately
 * not listed here: a new one must not recompile every kernel. */
#ifndef DT_KERNELS_ABI_H
#define DT_KERNELS_ABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { DT_KERNEL_ABI = 1, DT_MAX_DIMS = 16 };

/* Element types. The numbers equal the public enum `dt_dtype`. */
enum {
#define DT_DTYPE_ROW(NAME, name, type, bytes, category, compute, safetensors, dlpack_code) \
  DT_##NAME,
  DT_DTYPE_DEFAULT_ = 0,
#include "dtype.def"
  DT_DTYPE_COUNT_
#undef DT_DTYPE_ROW
};

/* One operand. Strides count elements and may be 0 (broadcast) or negative.
 * An `immediate` operand is a number that travels inside the call: data is NULL, ndim and strides
 * are as if it were broadcast, and `number` holds the value (`i` for bool and integer dtypes, `f`
 * for floating ones). */
struct dt_view {
  void* data; /* address of element [0, ..., 0] */
  int32_t dtype;
  int32_t ndim;
  int32_t immediate;
  int32_t device; /* 0: CPU, 1 + i: CUDA device i; -1: an immediate operand belongs to none */
  union {
    int64_t i;
    double f;
  } number;
  int64_t sizes[DT_MAX_DIMS];
  int64_t strides[DT_MAX_DIMS];
};
/* The public API has a function of the same name. C++ tells them apart as long as this is no
 * typedef. */
#ifndef __cplusplus
typedef struct dt_view dt_view;
#endif

typedef struct dt_call {
  const char* op;
  int32_t n_out, n_in; /* an absent optional operand has dtype 0 */
  int32_t n_ints, n_floats;
  const struct dt_view* out;
  const struct dt_view* in;
  const int64_t* ints;
  const double* floats;
  void* workspace; /* 64-byte aligned, as many bytes as the op's workspace function asked for; or
                      NULL */
} dt_call;

/* What a kernel found wrong. Core turns it into an error that names the op. */
enum {
  DT_KERNEL_OK = 0,
  DT_KERNEL_INDEX = 1, /* an index operand is out of range: `fault` holds the index and the size */
  DT_KERNEL_UNSUPPORTED = 2, /* this combination of dtypes has no kernel */
  DT_KERNEL_DEVICE = 3       /* the device reported an error: `message` holds its text */
};

typedef struct dt_fault {
  int64_t index, size;
  char message[240];
} dt_fault;

/* What a kernel runs on. On the CPU it lends the thread pool; a CUDA backend derives its own from
 * it. `parallel` calls body(context, tile) once for each tile in [0, tiles), from several threads,
 * and returns when all are done. It costs a few microseconds: call it only when the work is worth
 * it (see `worth_parallel`). */
typedef struct dt_stream {
  void (*parallel)(int64_t tiles, void (*body)(void* context, int64_t tile), void* context);
  int32_t threads; /* how many threads `parallel` may use, the caller included; 1 = run serially */
  int32_t reserved;
  dt_fault* fault; /* where a kernel says what was wrong; never NULL */
  void* native;    /* the backend's own stream, or NULL */
} dt_stream;

typedef int32_t dt_kernel(const dt_stream* stream, const dt_call* call);
typedef int64_t dt_workspace(const dt_stream* stream,
                             const dt_call* call); /* bytes of scratch memory */

/* Where a backend hands in its kernels when it is loaded. `op` is a name of kernels.toml or of an
 * elementwise row; core ignores names that it does not know. `workspace` is NULL for a kernel that
 * needs no scratch memory. */
typedef struct dt_registry {
  void (*add)(struct dt_registry* registry, const char* op, dt_kernel* kernel,
              dt_workspace* workspace);
} dt_registry;

/* Hands in the CPU kernels of one instruction set. */
void dt_cpu_v2(dt_registry* registry);
void dt_cpu_v3(dt_registry* registry);
void dt_cpu_v4(dt_registry* registry);

#ifdef __cplusplus
}
#endif

#endif
