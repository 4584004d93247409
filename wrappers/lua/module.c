/* The Lua module: calls every function of wrappers/table from Lua's stack. What is not about C is
 * written in Lua, in prelude.lua.
 *
 * Two rules keep it safe. A Lua error is only raised while no dt call is running, so it never jumps
 * over C++ frames. Whatever a dt call makes goes into a userdata that existed before the call, so
 * nothing leaks if Lua runs out of memory. */
#include "wrappers/lua/module.h"

#include <stdarg.h>
#include <string.h>

#include "wrappers/lua/prelude.gen.h"

#if LUA_VERSION_NUM < 502
#define lua_rawlen lua_objlen
#endif

int dtl_error(lua_State* L, const char* format, ...) {
  int level = 1;
  va_list arguments;
  for (luaL_where(L, level); strstr(lua_tostring(L, -1), "dumbtorch/prelude.lua");) {
    lua_pop(L, 1);
    luaL_where(L, ++level);
  }
  va_start(arguments, format);
  lua_pushvfstring(L, format, arguments);
  va_end(arguments);
  lua_concat(L, 2);
  return lua_error(L);
}

/* ---- handles: a userdata holds one pointer. The metatable of a kind lies in the registry under
 * the kind's address. */

static void push_metatable(lua_State* L, const dtt_handle* kind) {
  lua_pushlightuserdata(L, (void*)kind);
  lua_rawget(L, LUA_REGISTRYINDEX);
}

static void** box_at(lua_State* L, int slot, const dtt_handle* kind) {
  void** box = (void**)lua_touserdata(L, slot);
  int same;
  if (!box || !lua_getmetatable(L, slot)) return NULL;
  push_metatable(L, kind);
  same = lua_rawequal(L, -1, -2);
  lua_pop(L, 2);
  return same ? box : NULL;
}

static dtt_pressure* pressure(lua_State* L) {
  static char key;
  dtt_pressure* p;
  lua_pushlightuserdata(L, &key);
  lua_rawget(L, LUA_REGISTRYINDEX);
  p = (dtt_pressure*)lua_touserdata(L, -1);
  lua_pop(L, 1);
  if (p) return p;
  lua_pushlightuserdata(L, &key);
  p = (dtt_pressure*)lua_newuserdata(L, sizeof *p);
  memset(p, 0, sizeof *p);
  lua_rawset(L, LUA_REGISTRYINDEX);
  return p;
}

void** dtl_new(lua_State* L, const dtt_handle* kind) {
  void** box;
  luaL_checkstack(L, LUA_MINSTACK, "too many results");
  if (kind == &dtt_handle_tensor && dtt_collection_is_due(pressure(L))) {
    lua_gc(L, LUA_GCCOLLECT, 0);
    dtt_has_collected(pressure(L));
  }
  box = (void**)lua_newuserdata(L, sizeof *box);
  *box = NULL;
  push_metatable(L, kind);
  lua_setmetatable(L, -2);
  return box;
}

static int collect(lua_State* L) {
  const dtt_handle* kind = (const dtt_handle*)lua_touserdata(L, lua_upvalueindex(1));
  void** box = box_at(L, 1, kind);
  void* handle = box ? *box : NULL;
  if (box) *box = NULL;
  kind->release(handle);
  return 0;
}

/* ---- order and names: every argument gets a slot of the stack, nil where it is not given */

/* Whether the value is a table of named arguments: its first key is a string. */
static int is_named(lua_State* L, int slot) {
  int named;
  if (!lua_istable(L, slot) || lua_rawlen(L, slot) > 0) return 0;
  lua_pushnil(L);
  if (!lua_next(L, slot)) return 0;
  named = lua_type(L, -2) == LUA_TSTRING;
  lua_pop(L, 2);
  return named;
}

/* Whether an overload's distinguishing argument is there. */
static int is_given(lua_State* L, int slot, const char* name) {
  int top = lua_gettop(L), given;
  if (top > 0 && is_named(L, top)) {
    lua_getfield(L, top, name);
    given = !lua_isnil(L, -1);
    lua_pop(L, 1);
    if (given || top == slot) return given;
  }
  return !lua_isnoneornil(L, slot);
}

/* The slot of a name; one that is a word of Lua's own is given with an underscore: end_. */
static int slot_of(const dtt_function* f, const char* name) {
  const size_t n = strlen(name);
  int i;
  for (i = 0; i < f->n_args; i++) {
    const size_t m = strlen(f->args[i].name);
    const int same = m == n || (m + 1 == n && name[m] == '_');
    if (same && !memcmp(f->args[i].name, name, m)) return i + 1;
  }
  return 0;
}

/* Puts the entries of the table in `slot` into the slots of their names. */
static void spread(lua_State* L, const dtt_function* f, int slot) {
  lua_pushnil(L);
  while (lua_next(L, slot)) {
    const char* name = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : luaL_typename(L, -2);
    const int to = slot_of(f, name);
    if (!to) dtl_error(L, "%s: there is no argument named '%s'", f->name, name);
    if (!lua_isnil(L, to)) dtl_error(L, "%s: '%s' is given twice", f->name, name);
    lua_replace(L, to);
  }
}

static void place_arguments(lua_State* L, const dtt_function* f) {
  const int n = f->n_args, given = lua_gettop(L), named = given > 0 && is_named(L, given);
  if (given - named > n) {
    dtl_error(L, "%s: takes at most %d arguments, not %d", f->name, n, given - named);
  }
  luaL_checkstack(L, n + LUA_MINSTACK, f->name);
  if (named) { /* the table moves behind the slots */
    lua_settop(L, n + 1 > given ? n + 1 : given);
    lua_pushvalue(L, given);
    lua_replace(L, n + 1);
    if (given <= n) {
      lua_pushnil(L);
      lua_replace(L, given);
    }
    spread(L, f, n + 1);
  }
  lua_settop(L, n);
}

/* ---- reading: from Lua's values to cells */

typedef struct place {
  lua_State* L;
  const char* function;
  const dtt_item* item;
} place;

static int refuse(const place* at, int slot) {
  char text[32];
  const char* expected = dtt_expected(at->item, text);
  const char* got = luaL_getmetafield(at->L, slot, "__name") ? lua_tostring(at->L, -1)
                                                             : luaL_typename(at->L, slot);
  return dtl_error(at->L, "%s: '%s' must be %s, not %s", at->function, at->item->name, expected,
                   got);
}

/* Whether a Lua number is an integer; up to Lua 5.2 all are doubles, and whole ones count. */
static int to_integer(lua_State* L, int slot, int64_t* out) {
#if LUA_VERSION_NUM >= 503
  int is_integer;
  *out = (int64_t)lua_tointegerx(L, slot, &is_integer);
  return is_integer;
#else
  double f = lua_tonumber(L, slot);
  if (!(f >= -9223372036854775808.0 && f < 9223372036854775808.0)) return 0;
  *out = (int64_t)f;
  return (double)*out == f;
#endif
}

static int read_number(lua_State* L, int slot, dtt_cell* out) {
  int is_integer;
  out[1].i = lua_toboolean(L, slot);
  out[2].f = 0;
  out[0].i = DT_SCALAR_KIND_BOOL;
  if (lua_isboolean(L, slot)) return 1;
  if (lua_type(L, slot) != LUA_TNUMBER) return 0;
  is_integer = to_integer(L, slot, &out[1].i);
#if LUA_VERSION_NUM >= 503
  is_integer = lua_isinteger(L, slot);
#endif
  out[0].i = is_integer ? DT_SCALAR_KIND_INT : DT_SCALAR_KIND_FLOAT;
  out[2].f = lua_tonumber(L, slot);
  return 1;
}

static int read_enum(const place* at, int slot, dtt_cell* out) {
  const dtt_value* value = ((const dtt_enum*)at->item->of)->values;
  const char* name = lua_tostring(at->L, slot);
  for (; value->name; value++) {
    if (!strcmp(value->name, name)) return (int)(out->i = value->number);
  }
  return dtl_error(at->L, "%s: '%s' has no value '%s'", at->function, at->item->name, name);
}

/* One value, or an entry of a list; false if it is of another kind. */
static int read_value(const place* at, int slot, dtt_cell* out) {
  lua_State* L = at->L;
  const int type = lua_type(L, slot), kind = at->item->kind;
  const dtt_handle* handle =
      kind == DTT_HANDLE ? (const dtt_handle*)at->item->of : &dtt_handle_tensor;
  void** box;
  size_t n;
  switch (kind) {
    case DTT_TENSOR:
    case DTT_HANDLE:
    case DTT_OPERAND:
      box = box_at(L, slot, handle);
      out->p = box ? *box : NULL;
      if (box || kind != DTT_OPERAND) return box != NULL;
      return read_number(L, slot, out + 1);
    case DTT_SCALAR:
      return read_number(L, slot, out);
    case DTT_I64:
      return type == LUA_TNUMBER && to_integer(L, slot, &out->i);
    case DTT_F64:
      out->f = lua_tonumber(L, slot);
      return type == LUA_TNUMBER;
    case DTT_BOOL:
      out->i = lua_toboolean(L, slot);
      return type == LUA_TBOOLEAN;
    default:
      if (type != LUA_TSTRING) return 0;
  }
  out->p = (void*)lua_tolstring(L, slot, &n);
  if (kind == DTT_BYTES) {
    out[1].i = (int64_t)n;
    return 1;
  }
  /* C reads up to the first NUL: a string that has one inside would become another one. */
  if (strlen((const char*)out->p) != n)
    dtl_error(L, "%s: '%s' has an embedded null character", at->function, at->item->name);
  if (kind == DTT_ENUM) return read_enum(at, slot, out);
  if (kind == DTT_DEVICE) {
    dt_device_type device = 0;
    if (dt_device_from_text(lua_tostring(L, slot), &device, &out[1].i))
      dtl_error(L, "%s: '%s' is not a device", at->function, lua_tostring(L, slot));
    dtt_note_device(pressure(L), out->i = device, out[1].i);
  }
  return 1;
}

/* A table, or one number for several equal ones. The memory is a userdata, which Lua frees also
 * after an error. An absent tensor is `false`, since nil would end the list. */
static void read_list(const place* at, int slot, dtt_cell* out) {
  lua_State* L = at->L;
  const dtt_item* item = at->item;
  const int alone = item->count && lua_type(L, slot) == LUA_TNUMBER;
  dtt_cell* values;
  int i, n = alone ? item->count : 0;
  if (!alone && (!lua_istable(L, slot) || is_named(L, slot))) refuse(at, slot);
  if (!alone) n = (int)lua_rawlen(L, slot);
  luaL_checkstack(L, LUA_MINSTACK, "too many lists");
  values = (dtt_cell*)lua_newuserdata(L, ((size_t)n + 1) * sizeof *values);
  for (i = 0; i < n; i++) {
    if (!alone) lua_rawgeti(L, slot, i + 1);
    if (alone) lua_pushvalue(L, slot);
    values[i].p = NULL;
    if (!read_value(at, lua_gettop(L), &values[i])) {
      const int absent = lua_isboolean(L, -1) && !lua_toboolean(L, -1);
      if (!absent || !item->entries_are_optional) refuse(at, slot);
    }
    if (item->kind == DTT_BOOL) ((int32_t*)values)[i] = (int32_t)values[i].i;
    lua_pop(L, 1); /* a table keeps its strings alive */
  }
  out[0].p = values;
  out[1].i = n;
}

void dtl_read(lua_State* L, const char* function, const dtt_item* item, int slot, dtt_cell* out) {
  const place at = {L, function, item};
  const int is_number = item->kind == DTT_I64 || item->kind == DTT_F64 || item->kind == DTT_BOOL;
  if (item->is_list) {
    read_list(&at, slot, out);
    return;
  }
  if (item->is_optional && is_number) (out++)->i = 1;
  if (item->kind == DTT_CALLBACK && lua_isfunction(L, slot)) {
    out->p = dtl_keep(L, slot);
  } else if (item->kind == DTT_CALLBACK || !read_value(&at, slot, out)) {
    refuse(&at, slot);
  }
}

static void read_argument(lua_State* L, const dtt_function* f, int i, dtt_cell* args) {
  const dtt_item* item = &f->args[i];
  dtt_cell* out = args + item->cell;
  const int no = lua_isboolean(L, i + 1) && !lua_toboolean(L, i + 1);
  if (lua_isnil(L, i + 1) && (item->is_optional || !item->is_required)) return;
  if (item->kind == DTT_SCALAR && item->is_optional && out->i && no) {
    out->i = 0; /* nil means the default here, so absence needs a word of its own */
  } else {
    dtl_read(L, f->name, item, i + 1, out);
  }
}

/* ---- results: from cells to Lua's values */

/* A list of n values, of which `push` puts number i on the stack. */
static void push_list(lua_State* L, int64_t n, void (*push)(lua_State*, const void*, int64_t),
                      const void* from) {
  int64_t i;
  lua_createtable(L, (int)n, 0);
  for (i = 0; i < n; i++) {
    push(L, from, i);
    lua_rawseti(L, -2, (int)i + 1);
  }
}

static void push_integer(lua_State* L, const void* from, int64_t i) {
  lua_pushinteger(L, (lua_Integer)((const int64_t*)from)[i]);
}

static void push_real(lua_State* L, const void* from, int64_t i) {
  lua_pushnumber(L, ((const double*)from)[i]);
}

static void push_string(lua_State* L, const void* list, int64_t i) {
  const char* text = NULL;
  dtl_check(L, dt_string_list_get((dt_string_list*)list, i, &text));
  lua_pushstring(L, text);
}

static void push_tensor(lua_State* L, const void* list, int64_t i) {
  void** box = dtl_new(L, &dtt_handle_tensor);
  dtl_check(L, dt_tensor_list_get((dt_tensor_list*)list, i, (dt_tensor**)box));
  if (!*box) lua_pushboolean(L, 0);
  if (!*box) lua_remove(L, -2);
}

/* The library only lends a callback its tensors; the function may keep its own handle. */
static void push_alias(lua_State* L, const void* tensors, int64_t i) {
  dt_tensor* tensor = ((dt_tensor* const*)tensors)[i];
  if (!tensor) {
    lua_pushboolean(L, 0);
  } else {
    dtl_check(L, dt_tensor_alias(tensor, (dt_tensor**)dtl_new(L, &dtt_handle_tensor)));
  }
}

static void push_enum(lua_State* L, const dtt_enum* e, int64_t number) {
  const dtt_value* value = e->values;
  while (value->name && value->number != number) value++;
  if (value->name) lua_pushstring(L, value->name);
  if (!value->name) lua_pushinteger(L, (lua_Integer)number); /* newer than this module */
}

static void push_value(lua_State* L, const dtt_item* item, const dtt_cell* c) {
  char text[32];
  switch (item->kind) {
    case DTT_SCALAR:
      if (c->i == DT_SCALAR_KIND_FLOAT) lua_pushnumber(L, c[2].f);
      if (c->i == DT_SCALAR_KIND_INT) lua_pushinteger(L, (lua_Integer)c[1].i);
      if (c->i == DT_SCALAR_KIND_BOOL) lua_pushboolean(L, c[1].i != 0);
      return;
    case DTT_I64:
      lua_pushinteger(L, (lua_Integer)c->i);
      return;
    case DTT_F64:
      lua_pushnumber(L, c->f);
      return;
    case DTT_BOOL:
      lua_pushboolean(L, c->i != 0);
      return;
    case DTT_ENUM:
      push_enum(L, (const dtt_enum*)item->of, c->i);
      return;
    case DTT_DEVICE:
      dtt_name_device(c, text);
      lua_pushstring(L, text);
      return;
    case DTT_STR:
      lua_pushstring(L, (const char*)c->p);
      return;
    default:
      lua_pushlightuserdata(L, c->p);
  }
}

void dtl_lend(lua_State* L, const dtt_item* item, const dtt_cell* c) {
  if (item->is_list) {
    push_list(L, c[1].i, push_alias, c[0].p);
  } else if (item->kind == DTT_TENSOR) {
    push_alias(L, &c->p, 0);
  } else {
    push_value(L, item, c);
  }
}

/* What has come into the userdata in a slot: the object itself, nil, a table, a string. */
static void push_held(lua_State* L, const dtt_item* item, int slot) {
  void* handle = *(void**)lua_touserdata(L, slot);
  const void* data = NULL;
  int64_t n = 0;
  if (item->kind == DTT_STR && !item->is_list) {
    dtl_check(L, dt_bytes_data((dt_bytes*)handle, &data, &n));
    lua_pushlstring(L, (const char*)data, (size_t)n);
  } else if (item->kind == DTT_STR) {
    dtl_check(L, dt_string_list_len((dt_string_list*)handle, &n));
    push_list(L, n, push_string, handle);
  } else if (item->is_list) {
    dtl_check(L, dt_tensor_list_len((dt_tensor_list*)handle, &n));
    push_list(L, n, push_tensor, handle);
  } else if (handle) {
    lua_pushvalue(L, slot);
  } else {
    lua_pushnil(L);
  }
}

/* ---- calls */

static int is_numbers(const dtt_item* item) {
  return item->is_list && (item->kind == DTT_I64 || item->kind == DTT_F64);
}

static int invoke(lua_State* L) {
  const dtt_function* f = (const dtt_function*)lua_touserdata(L, lua_upvalueindex(1));
  dtt_cell args[DTT_MAX_CELLS], results[DTT_MAX_RESULTS], few[16];
  int boxes[DTT_MAX_RESULTS], i;
  dt_status status;
  while (f->next && !is_given(L, f->told_by + 1, f->args[f->told_by].name)) f = f->next;
  place_arguments(L, f);
  if (f->n_cells) memcpy(args, f->initial, f->n_cells * sizeof *args);
  for (i = 0; i < f->n_args; i++) {
    if (f->args[i].kind != DTT_CALLBACK) read_argument(L, f, i, args);
  }
  for (i = 0; i < f->n_results; i++) {
    const dtt_item* item = &f->results[i];
    if (item->of && item->kind != DTT_ENUM) dtl_new(L, (const dtt_handle*)item->of);
    boxes[i] = lua_gettop(L);
    results[item->cell].p = few;
    if (is_numbers(item)) results[item->cell + 1].i = 16;
  }
  /* A callback's user data comes into being last: nothing may fail between it and the call. */
  for (i = 0; i < f->n_args; i++) {
    if (f->args[i].kind == DTT_CALLBACK) read_argument(L, f, i, args);
  }
  status = f->call(args, results);
  for (i = 0; i < f->n_results; i++) {
    const dtt_item* item = &f->results[i];
    if (item->of && item->kind != DTT_ENUM)
      *(void**)lua_touserdata(L, boxes[i]) = results[item->cell].p;
  }
  dtl_check(L, status);
  if (f->returns_first) {
    lua_pushvalue(L, 1);
    return 1;
  }
  for (i = 0; i < f->n_results; i++) {
    const dtt_item* item = &f->results[i];
    dtt_cell* c = results + item->cell;
    if (is_numbers(item)) {
      if (c[2].i > 16) { /* more than there was room for */
        c[0].p = lua_newuserdata(L, (size_t)(c[1].i = c[2].i) * sizeof *few);
        dtl_check(L, f->call(args, results));
      }
      push_list(L, c[2].i, item->kind == DTT_I64 ? push_integer : push_real, c[0].p);
    } else if (item->of && item->kind != DTT_ENUM) {
      push_held(L, item, boxes[i]);
    } else {
      push_value(L, item, c);
    }
  }
  return f->n_results;
}

/* ---- the module: tables of functions, from which prelude.lua makes classes and namespaces */

static void push_functions(lua_State* L, const dtt_entry* entry) {
  lua_newtable(L);
  for (; entry->name; entry++) {
    lua_pushlightuserdata(L, (void*)entry->function);
    lua_pushcclosure(L, invoke, 1);
    lua_setfield(L, -2, entry->name);
  }
}

static void push_class(lua_State* L, const dtt_class* class) {
  static const char* const ends[] = {"__gc", "__close"};
  int i;
  lua_newtable(L);
  push_functions(L, class->methods);
  lua_setfield(L, -2, "methods");
  push_functions(L, class->properties);
  lua_setfield(L, -2, "properties");
  push_functions(L, class->operators);
  lua_setfield(L, -2, "operators");
  lua_pushlightuserdata(L, (void*)class->handle);
  lua_newtable(L);
  lua_pushstring(L, class->handle->name);
  lua_setfield(L, -2, "__name");
  for (i = 0; i < 2; i++) {
    lua_pushlightuserdata(L, (void*)class->handle);
    lua_pushcclosure(L, collect, 1);
    lua_setfield(L, -2, ends[i]);
  }
  lua_pushvalue(L, -1);
  lua_setfield(L, -4, "metatable");
  lua_rawset(L, LUA_REGISTRYINDEX);
}

static int is_tensor(lua_State* L) {
  lua_pushboolean(L, box_at(L, 1, &dtt_handle_tensor) != NULL);
  return 1;
}

static int live_handles(lua_State* L) {
  lua_pushinteger(L, (lua_Integer)dt_live_handles(luaL_optstring(L, 1, NULL)));
  return 1;
}

static void push_core(lua_State* L) {
  const dtt_class* class;
  const dtt_namespace* space;
  const dtt_value* dtype;
  lua_newtable(L);
  lua_newtable(L);
  for (class = dtt_classes; class->handle; class ++) {
    push_class(L, class);
    lua_setfield(L, -2, class->handle->name);
  }
  lua_setfield(L, -2, "classes");
  lua_newtable(L);
  for (space = dtt_namespaces; space->path; space++) {
    push_functions(L, space->functions);
    lua_setfield(L, -2, space->path);
  }
  lua_setfield(L, -2, "namespaces");
  lua_newtable(L);
  for (dtype = dtt_dtypes.values; dtype->name; dtype++) {
    lua_pushstring(L, dtype->name);
    lua_setfield(L, -2, dtype->name);
  }
  lua_setfield(L, -2, "dtypes");
  lua_pushcfunction(L, is_tensor);
  lua_setfield(L, -2, "is_tensor");
  lua_pushcfunction(L, live_handles);
  lua_setfield(L, -2, "live_handles");
}

__attribute__((visibility("default"))) int luaopen_dumbtorch(lua_State* L);

int luaopen_dumbtorch(lua_State* L) {
  if (luaL_loadbuffer(L, prelude, sizeof prelude - 1, "=dumbtorch/prelude.lua")) lua_error(L);
  push_core(L);
  lua_call(L, 1, 1);
  return 1;
}
