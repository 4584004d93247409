/* The plan as data at run time. A language reads each argument into cells, by the kind that the
 * table says, calls, and turns the cells of the results into its own values; no function needs code
 * of its own in C. functions.gen.c beside this file holds the table. */
#ifndef DUMBTORCH_TABLE_H
#define DUMBTORCH_TABLE_H

#include <stdint.h>
#include <stdio.h>

#include "dumbtorch.h"

/* One C value. An argument or a result takes one cell for each of its values:
 *
 *   tensor, handle, str, pointer   p             operand   tensor, kind, i, f
 *   i64, bool, enum                i             scalar    kind, i, f
 *   f64                            f             device    type, index
 *   bytes, a list                  p, count      callback  p, which becomes its user data
 *   an optional i64, f64 or bool   given, value
 *
 * What is absent has cells of 0; a list that is given has a pointer. A result that is a list of
 * numbers takes p, capacity, n: the caller sets the first two. Other lists, and text, come out as a
 * handle, and have a cell more for a caller that opens it (frame.h). */
typedef union dtt_cell {
  int64_t i;
  double f;
  void* p;
} dtt_cell;

typedef enum dtt_kind {
  DTT_TENSOR,
  DTT_OPERAND,
  DTT_SCALAR,
  DTT_I64,
  DTT_F64,
  DTT_BOOL,
  DTT_STR,
  DTT_BYTES,
  DTT_ENUM,
  DTT_DEVICE,
  DTT_HANDLE,
  DTT_CALLBACK,
  DTT_POINTER,
  DTT_NOTHING /* of a value that is given: none */
} dtt_kind;

/* The last one of an enum has no name. */
typedef struct dtt_value {
  const char* name;
  int32_t number;
} dtt_value;

typedef struct dtt_enum {
  const char* name;
  const dtt_value* values;
} dtt_enum;

typedef struct dtt_handle {
  const char* name;
} dtt_handle;

/* What a caller gives or gets. */
typedef struct dtt_item {
  const char* name;
  const void* of; /* the dtt_enum, dtt_callback or dtt_handle: that of a result which is a handle */
  uint8_t kind;   /* a dtt_kind */
  uint8_t cell;   /* its first */
  uint8_t is_list, is_optional, entries_are_optional;
  uint8_t is_required; /* it has no default */
  uint8_t count;       /* one number stands for so many equal ones; 0: only a list will do */
} dtt_item;

/* A function of the user's. */
typedef struct dtt_callback {
  const char* name;
  const dtt_item *args, *results;
  int32_t n_args, n_results;
} dtt_callback;

/* A call begins with a copy of `initial`, the cells of its defaults. */
typedef struct dtt_function {
  const char* name;
  dt_status (*call)(const dtt_cell* args, dtt_cell* results);
  const dtt_item *args, *results;
  const dtt_cell* initial;
  uint8_t n_args, n_results, n_cells;
  uint8_t returns_first; /* it writes its first argument and gives it back */
  uint8_t told_by;       /* it is meant where this argument is given; else, or if this is 0, ... */
  const struct dtt_function* next; /* ... the overload that needs fewer */
} dtt_function;

/* Where users find a function, for languages that make their names while they run. `how` is
 *   "method", "property" of a class: x.relu(), x.shape;
 *   "operator" of a class, by Python's special methods: "add" takes the object and a number in
 *     either order;
 *   "function" of a namespace, "torch.nn.functional" being called "functional";
 *   "word" of a namespace: a name that stands for itself, a dtype's. */
typedef struct dtt_name {
  const char *how, *where, *name;
  const dtt_function* function; /* the first of its overloads */
} dtt_name;

enum { DTT_MAX_ARGS = 32, DTT_MAX_CELLS = 64, DTT_MAX_RESULTS = 8 };

/* Those of the plan, in its order; the last one is NULL. */
extern const dtt_function* const dtt_functions[];
extern const dtt_handle* const dtt_handles[];
/* Of lists in lists, torch.tensor(data) and x.tolist(), which dynamic.h does. */
extern const dtt_function dtt_tensor, dtt_tolist;
extern const dtt_enum dtt_device_types, dtt_dtypes;
extern const dtt_handle dtt_handle_tensor;

/* The language defines these: they run a callback, for which each argument has two cells in the
 * frame's args (frame.h), and forget its user data. */
struct dtt_frame;
dt_status dtt_run(struct dtt_frame* f);
void dtt_drop(void* user_data);

/* The name of an enum's value, or `unknown` of one that is newer than this table. */
static inline const char* dtt_value_name(const dtt_enum* e, int64_t number, const char* unknown) {
  const dtt_value* v = e->values;
  while (v->name && v->number != number) v++;
  return v->name ? v->name : unknown;
}

/* A device as text, "cuda:0", in at most 32 bytes; returns their number. */
static inline int dtt_name_device(const dtt_cell* device, char* text) {
  const char* name = dtt_value_name(&dtt_device_types, device[0].i, "unknown");
  if (device[0].i == DT_DEVICE_TYPE_CPU) return sprintf(text, "%s", name);
  return sprintf(text, "%s:%d", name, (int)device[1].i);
}

/* What a value must be to be given, "a list of integers", in at most 32 bytes. */
static inline const char* dtt_expected(const dtt_item* item, char* text) {
  static const char* const words[][2] = {
      {"tensor", "tensors"},   {"a tensor or a number", ""},
      {"a number", ""},        {"an integer", "integers"},
      {"a number", "numbers"}, {"true or false", "booleans"},
      {"a string", "strings"}, {"a string", ""},
      {"a string", ""},        {"a string", ""},
  };
  if (item->kind == DTT_HANDLE) return ((const dtt_handle*)item->of)->name;
  if (item->kind == DTT_CALLBACK) return "a function";
  if (!item->is_list) return words[item->kind][0];
  sprintf(text, "a list of %s", words[item->kind][1]);
  return text;
}

/* ---- memory that a collector does not see
 *
 * To a collector a tensor is a few bytes, whatever lies behind it. So every so often the library is
 * asked how much tensors hold, and a collection is due when that has doubled since the last. */
typedef struct dtt_pressure {
  int64_t new_tensors, limit;
  uint64_t devices; /* a bit for each GPU that was named: asking another one would wake it up */
} dtt_pressure;

static inline void dtt_note_device(dtt_pressure* p, int64_t type, int64_t index) {
  if (type == DT_DEVICE_TYPE_CUDA && index < 64)
    __atomic_fetch_or(&p->devices, (uint64_t)1 << (index < 0 ? 0 : index), __ATOMIC_RELAXED);
}

static inline int64_t dtt_bytes_held(const dtt_pressure* p) {
  const uint64_t devices = __atomic_load_n(&p->devices, __ATOMIC_RELAXED);
  int64_t sum = 0, reserved, peak, i;
  if (dt_memory_stats(DT_DEVICE_TYPE_CPU, 0, &sum, &reserved, &peak)) return 0;
  for (i = 0; i < 64; i++) {
    int64_t held = 0;
    if (!(devices >> i & 1)) continue;
    if (dt_memory_stats(DT_DEVICE_TYPE_CUDA, i, &held, &reserved, &peak)) continue;
    sum += held;
  }
  return sum;
}

/* Called for each new tensor. */
static inline int dtt_collection_is_due(dtt_pressure* p) {
  return ++p->new_tensors % 64 == 0 && dtt_bytes_held(p) > p->limit;
}

static inline void dtt_has_collected(dtt_pressure* p) {
  const int64_t smallest = (int64_t)64 << 20, twice = 2 * dtt_bytes_held(p);
  p->limit = twice < smallest ? smallest : twice;
}

#endif
