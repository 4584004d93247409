/* What the generated functions of the Lua module are made of: reading arguments from Lua's stack,
 * giving back results, calling Lua functions from the library.
 *
 * Two rules keep it safe. A Lua error is only raised while no dt call is running, so it never jumps
 * over C++ frames. Whatever a dt call makes goes into a userdata that existed before the call, so
 * nothing leaks if Lua runs out of memory. */
#ifndef DUMBTORCH_LUA_RUNTIME_H
#define DUMBTORCH_LUA_RUNTIME_H

#include <lauxlib.h>
#include <lua.h>
#include <stdint.h>

#include "dumbtorch.h"

/* A kind of handle: a userdata that holds one pointer. */
typedef struct dtl_kind {
  const char* name;  /* "tensor" */
  const char* class; /* the metatable's name in the registry: "dumbtorch.tensor" */
  void (*release)(void* handle);
} dtl_kind;

extern const dtl_kind dtl_kind_tensor, dtl_kind_tensor_list, dtl_kind_bytes, dtl_kind_string_list,
    dtl_kind_module;

/* An enum's names and numbers; the last name is NULL. */
typedef struct dtl_enum {
  const char* name;
  int32_t number;
} dtl_enum;

extern const dtl_enum dtl_enum_dtype[];

typedef struct dtl_ints {
  const int64_t* p;
  int64_t n;
} dtl_ints;
typedef struct dtl_reals {
  const double* p;
  int64_t n;
} dtl_reals;
typedef struct dtl_flags {
  const int32_t* p;
  int64_t n;
} dtl_flags;
typedef struct dtl_tensors {
  dt_tensor* const* p;
  int64_t n;
} dtl_tensors;
typedef struct dtl_strings {
  const char* const* p;
  int64_t n;
} dtl_strings;
typedef struct dtl_blob {
  const void* p;
  int64_t n;
} dtl_blob;
typedef struct dtl_number {
  dt_scalar_kind kind;
  int64_t i;
  double f;
} dtl_number;
typedef struct dtl_operand {
  dt_tensor* tensor;
  dtl_number number;
} dtl_operand;
typedef struct dtl_device {
  dt_device_type type;
  int64_t index;
} dtl_device;
typedef struct dtl_callback dtl_callback;

/* ---- arguments
 *
 * names ends in NULL. dtl_arguments gives every argument a slot of the stack, 1 to their number:
 * nil where it is absent. Arguments come in order, and the last one may be a table of named ones.
 * The readers below take the slot and the names for their messages. */
typedef struct dtl_call {
  lua_State* L;
  const char* function;
  const char* const* names;
} dtl_call;

void dtl_arguments(dtl_call* c);
int dtl_given(lua_State* L, int slot, const char* name);
int dtl_absent(dtl_call* c, int slot);
int dtl_false(dtl_call* c, int slot);

void* dtl_handle(dtl_call* c, int slot, const dtl_kind* kind);
dt_tensor* dtl_tensor(dtl_call* c, int slot);
int64_t dtl_int(dtl_call* c, int slot);
double dtl_real(dtl_call* c, int slot);
int32_t dtl_bool(dtl_call* c, int slot);
const char* dtl_string(dtl_call* c, int slot);
dtl_blob dtl_bytes(dtl_call* c, int slot);
int32_t dtl_enum_value(dtl_call* c, int slot, const dtl_enum* values);
dtl_device dtl_read_device(dtl_call* c, int slot);
dtl_number dtl_read_number(dtl_call* c, int slot);
dtl_operand dtl_read_operand(dtl_call* c, int slot);
/* What lies in a slot, if it is of that kind: NULL or 0 if not. */
dt_tensor* dtl_tensor_at(lua_State* L, int slot);
int dtl_integer_at(lua_State* L, int slot, int64_t* out);
/* Lists. One number stands for `count` equal ones; 0: only a table will do. */
dtl_ints dtl_int_list(dtl_call* c, int slot, int count);
dtl_reals dtl_real_list(dtl_call* c, int slot, int count);
dtl_flags dtl_flag_list(dtl_call* c, int slot);
dtl_tensors dtl_tensor_list(dtl_call* c, int slot, int entries_may_be_absent);
dtl_strings dtl_string_list(dtl_call* c, int slot);
/* A function as a callback's user data. Read it last: the next thing must be the dt call. */
dtl_callback* dtl_read_callback(dtl_call* c, int slot);
void dtl_drop(void* user_data);

/* ---- results */

/* Pushes an empty userdata and gives the place where a dt call may put the handle. */
void* dtl_new(lua_State* L, const dtl_kind* kind);
/* Raises a failed call's error. A Lua error that came through a callback is raised as it was. */
void dtl_check(lua_State* L, dt_status status);
/* Replace the userdata on top of the stack by what it holds: nil if nothing, a table, a string. */
void dtl_nil_if_empty(lua_State* L);
void dtl_take_tensors(lua_State* L);
void dtl_take_bytes(lua_State* L);
void dtl_take_strings(lua_State* L);
void dtl_push_enum(lua_State* L, int32_t number, const dtl_enum* values);
void dtl_push_device(lua_State* L, dt_device_type type, int64_t index);
/* Its memory counts from now on when garbage is looked for. */
void dtl_note_device(lua_State* L, dtl_device device);
void dtl_push_number(lua_State* L, dt_scalar_kind kind, int64_t i, double f);
/* Lists of numbers that a dt call writes: run(arguments, values, capacity, n). */
void dtl_push_ints(lua_State* L, const int64_t* values, int64_t n);
void dtl_push_reals(lua_State* L, const double* values, int64_t n);

/* ---- callbacks: `body` runs in protected mode with `frame` as light userdata in slot 1. */
dt_status dtl_protected(dtl_callback* callback, lua_CFunction body, void* frame);
void dtl_push_function(lua_State* L, dtl_callback* callback);
void dtl_push_alias(lua_State* L, dt_tensor* tensor);
void dtl_push_aliases(lua_State* L, dt_tensor* const* tensors, int64_t n);
/* What the function gave back, on top of the stack, as a new handle. */
dt_tensor* dtl_result_tensor(lua_State* L, const char* callback, int may_be_absent);
dt_tensor_list* dtl_result_tensors(lua_State* L, const char* callback);

/* ---- indexing: x[key] and x[key] = value with the tensor in slot 1, the key in 2, the value in 3
 */
int dtl_is_index(lua_State* L, int slot);
int dtl_get_index(lua_State* L);
int dtl_put_index(lua_State* L);

/* ---- the module */

typedef struct dtl_operator {
  const char* event;       /* "__add" */
  lua_CFunction function;  /* the tensor comes first */
  lua_CFunction reflected; /* a number came first and the operands are exchanged; NULL: an error */
} dtl_operator;

typedef struct dtl_class {
  const dtl_kind* kind;
  const luaL_Reg *methods, *properties;
  const dtl_operator* operators;
} dtl_class;

typedef struct dtl_namespace {
  const char* path; /* "" or "nn.utils" */
  const luaL_Reg* functions;
} dtl_namespace;

/* Generated: the last entries hold NULL. */
extern const dtl_class dtl_classes[];
extern const dtl_namespace dtl_namespaces[];
/* Of data.c. */
extern const luaL_Reg dtl_data_functions[], dtl_data_methods[], dtl_nn_functions[];

#endif
