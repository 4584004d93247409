/* What core and the kernels share, in plain C.
 *
 * A backend (the CPU kernels of one instruction set, the CUDA plugin, ...) hands core one kernel
 * for each op that it has, by name. Core describes a call as views plus two counted spans of
 * numbers, so that a call can be recorded, hashed and printed without knowing the op.
 * Core writes it and a kernel reads it by name, through the structs of core/runtime/calls and
 * kernels/calls, which are printed from the schema's rows. The ops are deliberately not listed
 * here: a new one must not recompile every kernel. */
#ifndef DT_KERNELS_ABI_H
#define DT_KERNELS_ABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { DT_KERNEL_ABI = 1, DT_MAX_DIMS = 16 };

/* Element types. The numbers equal the public enum `dt_dtype`. */
enum {
#define DT_DTYPE_ROW(NAME, ...) DT_##NAME,
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

/* What a kernel or a device function found wrong. Core turns it into an error that names the op. */
enum {
  DT_KERNEL_OK = 0,
  DT_KERNEL_INDEX = 1, /* an index operand is out of range: `fault` holds the index and the size */
  DT_KERNEL_UNSUPPORTED = 2, /* this combination of dtypes has no kernel */
  DT_KERNEL_DEVICE = 3,      /* the device reported an error: `message` holds its text */
  DT_KERNEL_OUT_OF_MEMORY =
      4 /* also after the cache was given back: `message` says what was tried */
};

typedef struct dt_fault {
  int64_t index, size;
  const char* op; /* set by a device that notices a bad index later than the call: the call's op */
  char message[400];
} dt_fault;

/* Switches that a kernel obeys: bits of dt_stream.flags. */
enum {
  DT_FLAG_TF32_MATMUL = 1, /* torch.backends.cuda.matmul.allow_tf32, off by default */
  DT_FLAG_TF32_CONV = 2,   /* torch.backends.cudnn.allow_tf32, on by default */
  DT_FLAG_AVX512_BF16 = 4, /* the processor has these instructions besides those of its table */
  DT_FLAG_MAY_VARY = 8     /* dt_set_deterministic(false): sums may have no fixed order */
};

/* What a product does to each element of its result before it is stored. */
enum {
  DT_ACTIVATE_NONE = 0,
#define DT_ACTIVATION(NAME, number) DT_ACTIVATE_##NAME = number,
#include "activation.def"
#undef DT_ACTIVATION
};

/* What a kernel runs on. On the CPU it lends the thread pool. `parallel` calls body(context, tile,
 * worker) once for each tile in [0, tiles), from several threads, and returns when all are done;
 * calls with the same worker, a number in [0, workers), never run at the same time. It costs a few
 * microseconds: call it only when the work is worth it. */
typedef struct dt_stream {
  void (*parallel)(int64_t tiles, int64_t workers,
                   void (*body)(void* context, int64_t tile, int64_t worker), void* context);
  int32_t threads; /* how many threads `parallel` may use, the caller included; 1 = run serially */
  int32_t flags;
  dt_fault* fault; /* where a kernel says what was wrong; never NULL */
  void* native;    /* the device's own stream (a cudaStream_t), or NULL */
  int32_t device;  /* number of the device among those of the backend */
} dt_stream;

typedef int32_t dt_kernel(const dt_stream* stream, const dt_call* call);
typedef int64_t dt_workspace(const dt_stream* stream,
                             const dt_call* call); /* bytes of scratch memory */

/* Where a backend hands in its kernels when it is loaded. `op` is the name of a [kernel] row or of
 * an elementwise row; core ignores names that it does not know. `workspace` is NULL for a kernel
 * that needs no scratch memory. */
typedef struct dt_registry {
  void (*add)(struct dt_registry* registry, const char* op, dt_kernel* kernel,
              dt_workspace* workspace);
} dt_registry;

/* Hands in the CPU kernels of one instruction set. */
void dt_cpu_v2(dt_registry* registry);
void dt_cpu_v3(dt_registry* registry);
void dt_cpu_v4(dt_registry* registry);

/* ---- backends of devices: plugins ---------------------------------------------------------------
 * A plugin is a shared library that exports `dt_backend_open`, and perhaps what tool.h says, and is
 * never unloaded.
 * Its functions may be called from any thread. Those that return int32_t give a DT_KERNEL_ code and
 * fill `fault` where it is not DT_KERNEL_OK. `stream` is a native stream; NULL is the device's main
 * stream, on which everything runs that nobody sent elsewhere. */

/* An op as the plugin was compiled to understand it: core refuses kernels of ops whose operands or
 * attributes have changed since. */
typedef struct dt_signature {
  const char* op;
  uint32_t hash; /* of operands and attributes, as in ops.def */
} dt_signature;

typedef struct dt_device_properties {
  char name[256];
  int32_t major, minor; /* compute capability */
  int32_t multiprocessors;
  int32_t reserved;
  int64_t total_memory; /* bytes */
} dt_device_properties;

/* Bytes of a device's memory: in use and held, now and at most since the last reset of the peaks.
 */
typedef struct dt_memory {
  int64_t allocated, peak_allocated, reserved, peak_reserved;
  int64_t free, total; /* as the driver sees the whole device */
} dt_memory;

/* The table of a plugin. Append-only: a reader checks struct_size before it touches a later field.
 */
typedef struct dt_backend {
  int64_t struct_size;
  int32_t abi; /* DT_KERNEL_ABI */
  int32_t n_signatures;
  const dt_signature* signatures;
  const char* name; /* "cuda" */
  void (*add_kernels)(dt_registry* registry);

  int32_t (*properties)(int32_t device, dt_device_properties* properties, dt_fault* fault);
  int32_t (*synchronize)(int32_t device, dt_fault* fault); /* waits for everything on the device */

  /* Stream-ordered memory: a block belongs to the stream it was allocated for, and may be released
   * while that stream still uses it; `use_on` says that another stream uses it too. Blocks are
   * 512-byte aligned. */
  int32_t (*allocate)(int32_t device, int64_t bytes, void* stream, void** block, dt_fault* fault);
  void (*release)(int32_t device, void* block);
  void (*use_on)(int32_t device, void* block, void* stream);
  int32_t (*memory)(int32_t device, dt_memory* memory, dt_fault* fault);
  void (*reset_peaks)(int32_t device);
  void (*empty_cache)(int32_t device);
  /* Page-locked memory of the host, which copies do not have to stage. */
  int32_t (*allocate_pinned)(int64_t bytes, void** block, dt_fault* fault);
  void (*release_pinned)(void* block);

  /* Copies dense bytes in the order of `stream`, a stream of the device that is not the host (of
   * the destination if both are devices); device -1 is the host. With `wait`, returns when they
   * have arrived and reports what went wrong on the stream before. */
  int32_t (*copy)(void* to, int32_t to_device, const void* from, int32_t from_device, int64_t bytes,
                  void* stream, int32_t wait, dt_fault* fault);

  int32_t (*stream_create)(int32_t device, int32_t priority, void** stream, dt_fault* fault);
  void (*stream_destroy)(int32_t device, void* stream);
  int32_t (*stream_synchronize)(int32_t device, void* stream, dt_fault* fault);
  int32_t (*stream_query)(int32_t device, void* stream, int32_t* done, dt_fault* fault);
  int32_t (*stream_wait)(int32_t device, void* stream, void* event, dt_fault* fault);
  int32_t (*event_create)(int32_t device, int32_t timing, void** event, dt_fault* fault);
  void (*event_destroy)(int32_t device, void* event);
  int32_t (*event_record)(int32_t device, void* event, void* stream, dt_fault* fault);
  int32_t (*event_synchronize)(int32_t device, void* event, dt_fault* fault);
  int32_t (*event_query)(int32_t device, void* event, int32_t* done, dt_fault* fault);
  int32_t (*event_elapsed)(int32_t device, void* start, void* end, double* milliseconds,
                           dt_fault* fault);

  /* Records what this thread sends to `stream` instead of running it. What is allocated for the
   * stream meanwhile comes from a pool of the graph's own, which lives until the graph and all of
   * its blocks are gone. `capture_end` with a NULL graph throws the recording away. A launch
   * of a graph runs behind its earlier ones, whatever streams these are in. */
  int32_t (*capture_begin)(int32_t device, void* stream, dt_fault* fault);
  int32_t (*capture_end)(int32_t device, void* stream, void** graph, dt_fault* fault);
  int32_t (*graph_launch)(int32_t device, void* graph, void* stream, dt_fault* fault);
  void (*graph_destroy)(int32_t device, void* graph);
} dt_backend;

/* Returns the table, or NULL with the reason in `fault` (no driver, no device, ...). `devices` is
 * how many there are. */
typedef const dt_backend* dt_backend_open_function(int32_t* devices, dt_fault* fault);
dt_backend_open_function dt_backend_open;

#ifdef __cplusplus
}
#endif

#endif
