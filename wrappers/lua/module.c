/* The Lua module: calls every function of wrappers/table from Lua's stack, and Lua's functions from
 * the library. What is not about C is written in Lua, in prelude.lua.
 *
 * Lua's errors jump, and never over C++ frames: what runs in a call of the library runs under
 * lua_pcall. */
#include <lauxlib.h>
#include <lua.h>

#include "wrappers/lua/prelude.gen.h"
#include "wrappers/table/dynamic.h"

#if LUA_VERSION_NUM < 502
#define lua_rawlen lua_objlen
#endif

static char kind_key, functions_key; /* their addresses are keys of tables */

static void get_at(lua_State* L, int table, const void* key) {
  lua_pushlightuserdata(L, (void*)key);
  lua_rawget(L, table);
}

/* Takes the value from the top of the stack; the table is not counted from there. */
static void set_at(lua_State* L, int table, const void* key) {
  lua_pushlightuserdata(L, (void*)key);
  lua_insert(L, -2);
  lua_rawset(L, table);
}

/* Raises the text on top of the stack, behind the place in the user's code, not in prelude.lua. */
static int fail(lua_State* L) {
  int level = 1;
  for (luaL_where(L, level); strstr(lua_tostring(L, -1), "dumbtorch/prelude.lua");) {
    lua_pop(L, 1);
    luaL_where(L, ++level);
  }
  lua_insert(L, -2);
  lua_concat(L, 2);
  return lua_error(L);
}

/* ---- handles: a userdata holds one, and its metatable the kind. The metatable of a kind lies in
 * the registry under the kind's address. */

static void** handle_at(lua_State* L, int slot, const dtt_handle** kind) {
  *kind = NULL;
  if (!lua_isuserdata(L, slot) || !lua_getmetatable(L, slot)) return NULL;
  get_at(L, lua_gettop(L), &kind_key);
  *kind = (const dtt_handle*)lua_touserdata(L, -1);
  lua_pop(L, 2);
  return *kind ? (void**)lua_touserdata(L, slot) : NULL;
}

/* A userdata for a handle. */
static void** push_box(lua_State* L, const dtt_handle* kind) {
  void** box;
  if (kind == &dtt_handle_tensor && dtt_collection_is_due(&dtt_pressed)) {
    lua_gc(L, LUA_GCCOLLECT, 0);
    dtt_has_collected(&dtt_pressed);
  }
  box = (void**)lua_newuserdata(L, sizeof *box);
  *box = NULL;
  get_at(L, LUA_REGISTRYINDEX, kind);
  lua_setmetatable(L, -2);
  return box;
}

static int collect(lua_State* L) {
  const dtt_handle* kind;
  void** box = handle_at(L, 1, &kind);
  if (!box) return 0;
  dt_handle_release(*box);
  *box = NULL;
  return 0;
}

/* ---- functions of Lua's. They run on a Lua thread that lives as long as the Lua state: the
 * coroutine that gave one may be gone. The registry's table of functions has them by the addresses
 * of what is kept of them. */

/* What else is in the table of functions. */
enum { KEEPER = 1, THREAD, FRAME, FRAME_CLASS, RUN, NOTHING, PENDING };

static void dtt_forget(void* state, const dtt_kept* kept) {
  lua_State* L = (lua_State*)state;
  get_at(L, LUA_REGISTRYINDEX, &functions_key);
  lua_pushnil(L);
  set_at(L, lua_gettop(L) - 1, kept);
  lua_pop(L, 1);
}

static int close_state(lua_State* L) {
  dtt_sweep(L, (dtt_keeper*)lua_touserdata(L, 1), 1);
  return 0;
}

static int end_call(lua_State* L) {
  dtt_end_values((dtt_frame*)lua_touserdata(L, 1));
  return 0;
}

/* The function in a slot as user data. */
static void* keep(lua_State* L, int slot) {
  const int functions = lua_gettop(L) + 1;
  dtt_kept* k;
  get_at(L, LUA_REGISTRYINDEX, &functions_key);
  lua_rawgeti(L, functions, THREAD);
  lua_rawgeti(L, functions, KEEPER);
  k = dtt_keep_function(L, (dtt_keeper*)lua_touserdata(L, -1), lua_tothread(L, functions + 1));
  if (!k) luaL_error(L, "out of memory");
  lua_pushvalue(L, slot);
  set_at(L, functions, k);
  lua_settop(L, functions - 1);
  return k;
}

/* ---- from Lua's values to cells */

static const char* const dtt_nothing = "nil";

/* A table whose first key is a string. */
static int dtt_holds_names(void* state, int slot) {
  lua_State* L = (lua_State*)state;
  int named;
  if (!lua_istable(L, slot) || lua_rawlen(L, slot) > 0) return 0;
  lua_pushnil(L);
  if (!lua_next(L, slot)) return 0;
  named = lua_type(L, -2) == LUA_TSTRING;
  lua_pop(L, 2);
  return named;
}

/* The value stays on the stack, below the key. */
static const char* dtt_next_name(void* state, int slot, int is_first, int* value) {
  lua_State* L = (lua_State*)state;
  if (is_first) lua_pushnil(L);
  if (!lua_next(L, slot)) return NULL;
  lua_insert(L, -2);
  *value = lua_gettop(L) - 1;
  return lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : luaL_typename(L, -1);
}

/* Whole reals are integers where integers are asked for; up to Lua 5.2 all numbers are reals. */
static int to_integer(lua_State* L, int slot, const dtt_item* item, int64_t* out) {
#if LUA_VERSION_NUM >= 503
  int is_whole;
  *out = (int64_t)lua_tointegerx(L, slot, &is_whole);
  return item->kind == DTT_I64 ? is_whole : lua_isinteger(L, slot);
#else
  const double f = lua_tonumber(L, slot);
  (void)item;
  if (!(f >= -9223372036854775808.0 && f < 9223372036854775808.0)) return 0;
  *out = (int64_t)f;
  return (double)*out == f;
#endif
}

static dtt_given dtt_look(void* state, const dtt_item* item, int slot) {
  lua_State* L = (lua_State*)state;
  dtt_given v = {DTT_POINTER, {0}, 0, NULL, luaL_typename(L, slot)};
  size_t n;
  void** box;
  switch (lua_type(L, slot)) {
    case LUA_TBOOLEAN:
      v.kind = DTT_BOOL;
      v.value.i = lua_toboolean(L, slot);
      break;
    case LUA_TNUMBER:
      v.kind = to_integer(L, slot, item, &v.value.i) ? DTT_I64 : DTT_F64;
      if (v.kind == DTT_F64) v.value.f = lua_tonumber(L, slot);
      break;
    case LUA_TSTRING:
      v.kind = DTT_STR;
      v.value.p = (void*)lua_tolstring(L, slot, &n);
      v.n = (int64_t)n;
      break;
    case LUA_TFUNCTION:
      v.kind = DTT_CALLBACK;
      if (item->kind == DTT_CALLBACK) v.value.p = keep(L, slot);
      break;
    case LUA_TUSERDATA:
      box = handle_at(L, slot, &v.of);
      if (!box) break;
      v.kind = DTT_HANDLE;
      v.value.p = *box;
      v.word = v.of->name;
  }
  return v;
}

static int dtt_is_absent(void* L, int slot) {
  return lua_isnil((lua_State*)L, slot);
}

static int64_t dtt_count(void* L, int slot) {
  if (!lua_istable((lua_State*)L, slot) || dtt_holds_names(L, slot)) return -1;
  return (int64_t)lua_rawlen((lua_State*)L, slot);
}

static int dtt_entry(void* L, int slot, int64_t k) {
  lua_rawgeti((lua_State*)L, slot, (int)k + 1);
  return lua_gettop((lua_State*)L);
}

static void dtt_leave(void* L) {
  lua_pop((lua_State*)L, 1);
}

/* ---- from cells to Lua's values */

static void dtt_make(void* state, const dtt_given* v, void** handle, int is_entry) {
  lua_State* L = (lua_State*)state;
  if (v->kind == DTT_HANDLE && v->value.p) {
    *push_box(L, v->of) = *handle;
    *handle = NULL;
  } else if (v->kind == DTT_HANDLE && is_entry)
    lua_pushboolean(L, 0); /* nil would end the list */
  else if (v->kind == DTT_HANDLE)
    lua_pushnil(L);
  else if (v->kind == DTT_STR)
    lua_pushlstring(L, (const char*)v->value.p, (size_t)v->n);
  else if (v->kind == DTT_F64)
    lua_pushnumber(L, v->value.f);
  else if (v->kind == DTT_I64)
    lua_pushinteger(L, (lua_Integer)v->value.i);
  else if (v->kind == DTT_BOOL)
    lua_pushboolean(L, v->value.i != 0);
  else
    lua_pushlightuserdata(L, v->value.p);
}

static void dtt_make_list(void* L, int64_t n) {
  lua_createtable((lua_State*)L, (int)n, 0);
}

static void dtt_put(void* L, int64_t k) {
  lua_rawseti((lua_State*)L, -2, (int)k + 1);
}

/* ---- calls. Lua's errors jump, so a call lies in memory of Lua's: when that is found unused, what
 * the call had goes. */

enum { ROOM = 2 * DTT_MAX_ARGS + DTT_MAX_RESULTS + 64 }; /* arguments, results, lists in lists */

static __thread unsigned callbacks_run;

static int nothing(lua_State* L) {
  (void)L;
  return 0;
}

/* The last call's, unless that is still running or was left by an error. */
static dtt_frame* push_frame(lua_State* L, int functions) {
  dtt_frame* f;
  lua_rawgeti(L, functions, FRAME);
  f = (dtt_frame*)lua_touserdata(L, -1);
  if (f && !f->function) return f;
  lua_pop(L, 1);
  f = (dtt_frame*)lua_newuserdata(L, sizeof(dtt_call_given));
  f->function = NULL, f->lent = NULL;
  lua_rawgeti(L, functions, FRAME_CLASS);
  lua_setmetatable(L, -2);
  lua_pushvalue(L, -1);
  lua_rawseti(L, functions, FRAME);
  return f;
}

/* What a callback has raised is raised as it was. */
static int raise(lua_State* L, int functions, dt_status status) {
  if (status == DT_STATUS_CALLBACK) {
    lua_rawgeti(L, functions, PENDING);
    lua_pushlightuserdata(L, NULL);
    lua_rawseti(L, functions, PENDING);
    if (!lua_isnil(L, -1) && !lua_islightuserdata(L, -1)) return lua_error(L);
  }
  lua_pushstring(L, dt_error_message());
  return fail(L);
}

/* The function in the first upvalue; the second is the table of functions. */
static int invoke(lua_State* L) {
  const int n = lua_gettop(L), functions = lua_upvalueindex(2);
  const dtt_function* function = (const dtt_function*)lua_touserdata(L, lua_upvalueindex(1));
  const unsigned ran = callbacks_run;
  dtt_frame* f;
  int top;
  luaL_checkstack(L, ROOM + LUA_MINSTACK, function->name);
  f = push_frame(L, functions);
  dtt_begin(f, function);
  dtt_place(L, f, 1, n);
  top = lua_gettop(L);
  dtt_call_values(L, f);
  if (ran != callbacks_run) { /* LuaJIT takes their thread for the running one until this calls */
    lua_rawgeti(L, functions, NOTHING);
    lua_call(L, 0, 0);
  }
  dtt_take_values(L, f);
  if (f->function->returns_first) lua_pushvalue(L, dtt_slots(f)[0]);
  dtt_end_values(f);
  return f->status ? raise(L, functions, (dt_status)f->status) : lua_gettop(L) - top;
}

/* ---- callbacks */

/* What the function gives back belongs to Lua; the library gets another handle. */
static int run_callback(lua_State* L) {
  dtt_frame* f = (dtt_frame*)lua_touserdata(L, 1);
  const dtt_callback* c = f->callback;
  int i;
  get_at(L, LUA_REGISTRYINDEX, &functions_key);
  get_at(L, 2, (void*)f->user_data);
  for (i = 0; i < c->n_args; i++) dtt_take(L, f, &c->args[i], f->args + 2 * i);
  lua_call(L, c->n_args, c->n_results);
  if (!c->n_results) return 0;
  if (c->results->kind == DTT_BOOL)
    f->results->i = lua_toboolean(L, -1);
  else
    dtt_give_value(L, f, c->results, lua_gettop(L), f->results);
  if (!f->status) f->status = dtt_give_back(f);
  return 0;
}

/* Here an error would jump over the library: nothing asks Lua for memory but what lua_pcall runs.
 */
dt_status dtt_run(dtt_frame* f) {
  lua_State* L = (lua_State*)dtt_runner(f);
  const char* message;
  int i;
  if (!L || !lua_checkstack(L, LUA_MINSTACK))
    return dt_error_set(DT_STATUS_CALLBACK, "the Lua state cannot run a callback");
  callbacks_run++;
  get_at(L, LUA_REGISTRYINDEX, &functions_key);
  lua_rawgeti(L, -1, RUN);
  lua_pushlightuserdata(L, f);
  if (lua_pcall(L, 1, 0, 0)) {
    for (i = 0; i < f->callback->n_args; i++)
      dtt_release_rest(&f->callback->args[i], f->args + 2 * i);
    message = lua_tostring(L, -1);
    f->status =
        dt_error_set(DT_STATUS_CALLBACK, message ? message : "a Lua error that is no string");
    lua_rawseti(L, -2, PENDING);
  }
  lua_pop(L, 1);
  return (dt_status)f->status;
}

static void push_class(lua_State* L, lua_CFunction gc) {
  lua_newtable(L);
  lua_pushcfunction(L, gc);
  lua_setfield(L, -2, "__gc");
}

static void make_functions(lua_State* L) {
  const int functions = lua_gettop(L) + 1;
  lua_newtable(L);
  lua_newthread(L);
  lua_rawseti(L, functions, THREAD);
  memset(lua_newuserdata(L, sizeof(dtt_keeper)), 0, sizeof(dtt_keeper));
  push_class(L, close_state);
  lua_setmetatable(L, -2);
  lua_rawseti(L, functions, KEEPER);
  push_class(L, end_call);
  lua_rawseti(L, functions, FRAME_CLASS);
  lua_pushcfunction(L, run_callback);
  lua_rawseti(L, functions, RUN);
  lua_pushcfunction(L, nothing);
  lua_rawseti(L, functions, NOTHING);
  lua_pushlightuserdata(L, NULL);
  lua_rawseti(L, functions, PENDING);
  set_at(L, LUA_REGISTRYINDEX, &functions_key);
}

/* ---- what prelude.lua makes the module of */

/* call(i): function i of the table. */
static int push_call(lua_State* L) {
  lua_pushlightuserdata(L, (void*)dtt_functions[lua_tointeger(L, 1)]);
  get_at(L, LUA_REGISTRYINDEX, &functions_key);
  lua_pushcclosure(L, invoke, 2);
  return 1;
}

static int live_handles(lua_State* L) {
  lua_pushinteger(L, (lua_Integer)dt_live_handles(luaL_optstring(L, 1, NULL)));
  return 1;
}

/* metatable(i): that of kind i of handles. */
static int push_metatable(lua_State* L) {
  const dtt_handle* kind = dtt_handles[lua_tointeger(L, 1)];
  lua_newtable(L);
  lua_pushlightuserdata(L, (void*)kind);
  set_at(L, 2, &kind_key);
  lua_pushvalue(L, 2);
  set_at(L, LUA_REGISTRYINDEX, kind);
  return 1;
}

__attribute__((visibility("default"))) int luaopen_dumbtorch(lua_State* L);

int luaopen_dumbtorch(lua_State* L) {
  if (luaL_loadbuffer(L, prelude, sizeof prelude - 1, "=dumbtorch/prelude.lua")) lua_error(L);
  make_functions(L);
  lua_pushcfunction(L, push_call);
  lua_pushcfunction(L, push_metatable);
  lua_pushcfunction(L, collect);
  lua_pushcfunction(L, live_handles);
  lua_call(L, 4, 1);
  return 1;
}
