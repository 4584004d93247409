/* The part of dt.h that is written by hand: scopes, the types of arguments, and the macros behind
 * named arguments. Include dt.h, not this file. */
#ifndef DT_SCOPE_H
#define DT_SCOPE_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "dumbtorch.h"

#if !defined(__GNUC__)
#error "dt.h needs gcc or clang (statement expressions, cleanup); other compilers use dumbtorch.h"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- arguments */

typedef struct T_Dims {
  const int64_t* p;
  int64_t n;
} T_Dims;
typedef struct T_Reals {
  const double* p;
  int64_t n;
} T_Reals;
typedef struct T_Flags {
  const int32_t* p;
  int64_t n;
} T_Flags;
typedef struct T_Tensors {
  dt_tensor* const* p;
  int64_t n;
} T_Tensors;
typedef struct T_Strings {
  const char* const* p;
  int64_t n;
} T_Strings;
typedef struct T_Blob {
  const void* p;
  int64_t n;
} T_Blob;
typedef struct T_Number {
  dt_scalar_kind kind;
  int64_t i;
  double f;
} T_Number;
typedef struct T_Operand {
  dt_tensor* tensor;
  T_Number number;
} T_Operand;
typedef struct T_Device {
  dt_device_type type;
  int64_t index;
} T_Device;
/* Arguments that may be left out although 0 means something. */
typedef struct T_Int {
  int given;
  int64_t value;
} T_Int;
typedef struct T_Real {
  int given;
  double value;
} T_Real;
typedef struct T_Flag {
  int given;
  int32_t value;
} T_Flag;

/* Lists that functions give back, like a shape: v[0] to v[n - 1]. */
#define T_MAX_SIZES 16
typedef struct T_Sizes {
  int64_t n;
  int64_t v[T_MAX_SIZES];
} T_Sizes;
typedef struct T_Doubles {
  int64_t n;
  double v[T_MAX_SIZES];
} T_Doubles;

/* Lists: T_DIMS(2, 3), T_LIST(a, b). An array of the surrounding block is behind them, so they live
 * as long as that block. T_NO_DIMS is the empty list, the shape of a 0-d tensor. */
#define T_COUNT_(type, ...) ((int64_t)(sizeof((type[]){__VA_ARGS__}) / sizeof(type)))
#define T_DIMS(...) T_dims_((const int64_t[]){__VA_ARGS__}, T_COUNT_(int64_t, __VA_ARGS__))
#define T_REALS(...) T_reals_((const double[]){__VA_ARGS__}, T_COUNT_(double, __VA_ARGS__))
#define T_FLAGS(...) T_flags_((const int32_t[]){__VA_ARGS__}, T_COUNT_(int32_t, __VA_ARGS__))
#define T_LIST(...) T_tensors_((dt_tensor* const[]){__VA_ARGS__}, T_COUNT_(dt_tensor*, __VA_ARGS__))
#define T_STRINGS(...) \
  T_strings_((const char* const[]){__VA_ARGS__}, T_COUNT_(const char*, __VA_ARGS__))
#define T_NO_DIMS T_dims_((const int64_t[]){0}, 0)
static inline T_Dims T_dims_(const int64_t* p, int64_t n) {
  T_Dims d = {p, n};
  return d;
}
static inline T_Reals T_reals_(const double* p, int64_t n) {
  T_Reals r = {p, n};
  return r;
}
static inline T_Flags T_flags_(const int32_t* p, int64_t n) {
  T_Flags f = {p, n};
  return f;
}
static inline T_Tensors T_tensors_(dt_tensor* const* p, int64_t n) {
  T_Tensors t = {p, n};
  return t;
}
static inline T_Strings T_strings_(const char* const* p, int64_t n) {
  T_Strings s = {p, n};
  return s;
}
static inline T_Blob T_BLOB(const void* p, int64_t n) {
  T_Blob b = {p, n};
  return b;
}

static inline T_Int T_INT(int64_t value) {
  T_Int v = {1, value};
  return v;
}
static inline T_Real T_REAL(double value) {
  T_Real v = {1, value};
  return v;
}
static inline T_Flag T_FLAG(int value) {
  T_Flag v = {1, value != 0};
  return v;
}

static inline T_Device T_device_(dt_device_type type, int64_t index) {
  T_Device d = {type, index};
  return d;
}
#define T_CPU T_device_(DT_DEVICE_TYPE_CPU, 0)
#define T_CUDA(index) T_device_(DT_DEVICE_TYPE_CUDA, (index))

static inline T_Number T_number_bool_(int v) {
  T_Number n = {DT_SCALAR_KIND_BOOL, v != 0, 0};
  return n;
}
static inline T_Number T_number_int_(int64_t v) {
  T_Number n = {DT_SCALAR_KIND_INT, v, 0};
  return n;
}
static inline T_Number T_number_real_(double v) {
  T_Number n = {DT_SCALAR_KIND_FLOAT, 0, v};
  return n;
}
/* An absent number, where that is not the default. */
#define T_NO_NUM T_number_none_()
static inline T_Number T_number_none_(void) {
  T_Number n = {0, 0, 0};
  return n;
}
static inline T_Number T_number_same_(T_Number v) {
  return v;
}
static inline T_Operand T_operand_number_(T_Number v) {
  T_Operand o = {NULL, v};
  return o;
}
static inline T_Operand T_operand_bool_(int v) {
  return T_operand_number_(T_number_bool_(v));
}
static inline T_Operand T_operand_int_(int64_t v) {
  return T_operand_number_(T_number_int_(v));
}
static inline T_Operand T_operand_real_(double v) {
  return T_operand_number_(T_number_real_(v));
}
static inline T_Operand T_operand_tensor_(dt_tensor* v) {
  T_Operand o = {v, {0, 0, 0}};
  return o;
}
static inline T_Operand T_operand_same_(T_Operand v) {
  return v;
}

/* A number with its kind, T_NUM(2) or T_NUM(0.5), and a tensor or a number, T_OP(x). Arguments that
 * must be given are converted by themselves: T_mul(x, 2). */
#define T_CHOOSE_(family, v, ...)                           \
  __extension__ _Generic((v), __VA_ARGS__ _Bool             \
                         : family##bool_, float             \
                         : family##real_, double            \
                         : family##real_, long double       \
                         : family##real_, char              \
                         : family##int_, signed char        \
                         : family##int_, unsigned char      \
                         : family##int_, short              \
                         : family##int_, unsigned short     \
                         : family##int_, int                \
                         : family##int_, unsigned           \
                         : family##int_, long               \
                         : family##int_, unsigned long      \
                         : family##int_, long long          \
                         : family##int_, unsigned long long \
                         : family##int_)(v)
#define T_NUM(v) T_CHOOSE_(T_number_, v, T_Number : T_number_same_, )
#define T_OP(v) \
  T_CHOOSE_(T_operand_, v, dt_tensor *: T_operand_tensor_, T_Operand: T_operand_same_, \
            T_Number: T_operand_number_,)

/* One number stands for several equal ones where the schema says so: a kernel size. */
static inline T_Dims T_repeat_(T_Dims d, int64_t count, int64_t* room) {
  int64_t i;
  if (d.n != 1) return d;
  for (i = 0; i < count; i++) room[i] = d.p[0];
  return T_dims_(room, count);
}

/* ---- named arguments
 *
 * T_dropout(x, .p = 0.2) fills a struct with the defaults, assigns `options .p = 0.2` and calls
 * T_do_dropout(x, &options). T_EACH_ makes one assignment of each argument but the last, which is
 * always empty so that a call without options has the same form. */
#define T_OPTIONS_(name, call, ...)                          \
  __extension__({                                            \
    T_##name##_options T_##name##_o = T_##name##_defaults(); \
    T_EACH_(T_##name##_o, __VA_ARGS__)                       \
    call;                                                    \
  })
#define T_EACH_(o, ...)                                                                        \
  T_PICK_(__VA_ARGS__, T_E20_, T_E19_, T_E18_, T_E17_, T_E16_, T_E15_, T_E14_, T_E13_, T_E12_, \
          T_E11_, T_E10_, T_E9_, T_E8_, T_E7_, T_E6_, T_E5_, T_E4_, T_E3_, T_E2_, T_E1_, )     \
  (o, __VA_ARGS__)
#define T_PICK_(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, \
                a19, a20, picked, ...)                                                           \
  picked
#define T_E1_(o, a)
#define T_E2_(o, a, ...) \
  (void)(o a);           \
  T_E1_(o, __VA_ARGS__)
#define T_E3_(o, a, ...) \
  (void)(o a);           \
  T_E2_(o, __VA_ARGS__)
#define T_E4_(o, a, ...) \
  (void)(o a);           \
  T_E3_(o, __VA_ARGS__)
#define T_E5_(o, a, ...) \
  (void)(o a);           \
  T_E4_(o, __VA_ARGS__)
#define T_E6_(o, a, ...) \
  (void)(o a);           \
  T_E5_(o, __VA_ARGS__)
#define T_E7_(o, a, ...) \
  (void)(o a);           \
  T_E6_(o, __VA_ARGS__)
#define T_E8_(o, a, ...) \
  (void)(o a);           \
  T_E7_(o, __VA_ARGS__)
#define T_E9_(o, a, ...) \
  (void)(o a);           \
  T_E8_(o, __VA_ARGS__)
#define T_E10_(o, a, ...) \
  (void)(o a);            \
  T_E9_(o, __VA_ARGS__)
#define T_E11_(o, a, ...) \
  (void)(o a);            \
  T_E10_(o, __VA_ARGS__)
#define T_E12_(o, a, ...) \
  (void)(o a);            \
  T_E11_(o, __VA_ARGS__)
#define T_E13_(o, a, ...) \
  (void)(o a);            \
  T_E12_(o, __VA_ARGS__)
#define T_E14_(o, a, ...) \
  (void)(o a);            \
  T_E13_(o, __VA_ARGS__)
#define T_E15_(o, a, ...) \
  (void)(o a);            \
  T_E14_(o, __VA_ARGS__)
#define T_E16_(o, a, ...) \
  (void)(o a);            \
  T_E15_(o, __VA_ARGS__)
#define T_E17_(o, a, ...) \
  (void)(o a);            \
  T_E16_(o, __VA_ARGS__)
#define T_E18_(o, a, ...) \
  (void)(o a);            \
  T_E17_(o, __VA_ARGS__)
#define T_E19_(o, a, ...) \
  (void)(o a);            \
  T_E18_(o, __VA_ARGS__)
#define T_E20_(o, a, ...) \
  (void)(o a);            \
  T_E19_(o, __VA_ARGS__)

/* ---- scopes */

typedef struct T_Entry {
  void* handle;
  void (*release)(void* handle);
} T_Entry;

typedef struct T_Scope {
  struct T_Scope* outer;
  T_Entry* entries; /* `few`, or memory of its own once that is full; NULL before the body */
  int64_t count, capacity;
  T_Entry few[24];
} T_Scope;

/* What is open on this thread, and the first error since the outermost scope was opened. It is weak
 * so that all source files of a program share one, although this is only a header. */
typedef struct T_Thread {
  T_Scope* scope;
  dt_status status;
  char message[1000];
} T_Thread;
__attribute__((weak)) __thread T_Thread T_thread_state;

/* The code of the first error, 0 if there is none, and its text. Inside of a scope, calls after an
 * error do nothing and give NULL or 0, so that one look at T_status() at the end is enough. */
static inline dt_status T_status(void) {
  return T_thread_state.status;
}
static inline const char* T_message(void) {
  return T_thread_state.status ? T_thread_state.message : "";
}
/* Forgets the error: later calls work again. Gives back its code. */
static inline dt_status T_clear(void) {
  dt_status status = T_thread_state.status;
  T_thread_state.status = 0;
  return status;
}

static inline int T_stopped_(void) {
  return T_thread_state.scope && T_thread_state.status;
}

static inline void T_fail_(dt_status status, const char* message) {
  T_Thread* t = &T_thread_state;
  if (t->scope && t->status) return; /* the first one counts */
  t->status = status;
  strncpy(t->message, message, sizeof t->message - 1);
}

/* Keeps the error of a machine-layer call; true if there was none. */
static inline int T_check(dt_status status) {
  if (status) T_fail_(status, dt_error_message());
  return !status;
}

static inline int T_scope_grow_(T_Scope* s) {
  int64_t capacity = 2 * s->capacity;
  size_t bytes = (size_t)capacity * sizeof(T_Entry);
  T_Entry* entries = (T_Entry*)realloc(s->entries == s->few ? NULL : s->entries, bytes);
  if (!entries) return 0;
  if (s->entries == s->few) memcpy(entries, s->few, sizeof s->few);
  s->entries = entries;
  s->capacity = capacity;
  return 1;
}

static inline void T_scope_add_(T_Scope* s, void* handle, void (*release)(void*)) {
  s->entries[s->count].handle = handle;
  s->entries[s->count++].release = release;
}

/* Gives a handle to the innermost scope; without a scope it is the caller's. */
static inline void* T_own_(void* handle, void (*release)(void*)) {
  T_Scope* s = T_thread_state.scope;
  if (!handle || !s) return handle;
  if (s->count == s->capacity && !T_scope_grow_(s)) {
    release(handle);
    T_fail_(DT_STATUS_OUT_OF_MEMORY, "scope: out of memory");
    return NULL;
  }
  T_scope_add_(s, handle, release);
  return handle;
}

/* Takes a handle out of the innermost scope that has it; the entry is empty if none has. */
static inline T_Entry T_forget_(void* handle) {
  T_Scope* s;
  int64_t i;
  T_Entry none = {NULL, NULL};
  for (s = T_thread_state.scope; s && handle; s = s->outer) {
    for (i = s->count - 1; i >= 0; i--) {
      if (s->entries[i].handle == handle) {
        T_Entry found = s->entries[i];
        s->entries[i] = s->entries[--s->count];
        return found;
      }
    }
  }
  return none;
}

/* Takes a handle out of its scope: the caller releases it with dt_KIND_release(). */
static inline void* T_keep(void* handle) {
  T_forget_(handle);
  return handle;
}

/* Hands a handle to the scope around the innermost one (to the caller, if there is none): how a
 * function with a scope of its own gives back a result. */
static inline void* T_pass_out(void* handle) {
  T_Scope* inner = T_thread_state.scope;
  T_Entry entry = T_forget_(handle);
  if (!entry.release) return handle;
  T_thread_state.scope = inner->outer;
  handle = T_own_(entry.handle, entry.release);
  T_thread_state.scope = inner;
  return handle;
}

static inline int T_scope_enter_(T_Scope* s) {
  if (s->entries) return 0; /* the body has run */
  s->outer = T_thread_state.scope;
  s->entries = s->few;
  s->capacity = sizeof s->few / sizeof s->few[0];
  if (!s->outer) T_clear();
  T_thread_state.scope = s;
  return 1;
}

/* Twice after a body that was not left early, which does no harm; that nothing decides about the
 * first line shows a compiler that the thread never keeps the address of a scope that is gone. */
static inline void T_scope_leave_(T_Scope* s) {
  T_thread_state.scope = s->outer;
  while (s->count > 0) {
    s->count--;
    s->entries[s->count].release(s->entries[s->count].handle);
  }
  if (s->entries != s->few) free(s->entries);
  s->entries = s->few;
}

/* T_SCOPE { ... }: runs the body once and then releases every handle it made and did not keep.
 * return and goto out of it are fine; break and continue leave the scope, not a loop around it. */
#ifdef __cplusplus
#define T_ZERO_ \
  {}
#else
#define T_ZERO_ \
  { 0 }
#endif
#define T_SCOPE                                                                 \
  for (T_Scope T_scope_here __attribute__((cleanup(T_scope_leave_))) = T_ZERO_; \
       T_scope_enter_(&T_scope_here); T_scope_leave_(&T_scope_here))

#ifdef __cplusplus
}
#endif

#endif
