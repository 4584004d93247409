/* The Lua module: calls every function of wrappers/table from Lua's stack, and Lua's functions from
 * the library. What is not about C is written in Lua, in prelude.lua.
 *
 * Lua's errors jump, and never over C++ frames: what runs in a call of the library runs under
 * lua_pcall. */
#include <lauxlib.h>
#include <lua.h>

#include "wrappers/lua/prelude.gen.h"

typedef lua_State dtt_state;
#include "wrappers/table/dynamic.h"
#include "wrappers/table/functions.gen.c"

#if LUA_VERSION_NUM < 503
#define lua_isinteger(L, slot) 0
#endif
#if LUA_VERSION_NUM < 502
#define lua_rawlen lua_objlen
#endif

/* ---- the registry, by addresses. What a callback needs is there: looking it up takes no memory.
 */

static const char run_key, keeper_key, pending_key;

static void get(lua_State* L, const void* key) {
  lua_pushlightuserdata(L, (void*)key);
  lua_rawget(L, LUA_REGISTRYINDEX);
}

/* Takes the value from the top of the stack. */
static void set(lua_State* L, const void* key) {
  lua_pushlightuserdata(L, (void*)key);
  lua_insert(L, -2);
  lua_rawset(L, LUA_REGISTRYINDEX);
}

/* ---- handles: a userdata holds one. Its metatable is that of the kind, which lies under the
 * kind's address, and the kind under its metatable's. */

static void** handle_at(lua_State* L, int slot, const dtt_handle** kind) {
  *kind = NULL;
  if (!lua_isuserdata(L, slot) || !lua_getmetatable(L, slot)) return NULL;
  get(L, lua_topointer(L, -1));
  *kind = (const dtt_handle*)lua_touserdata(L, -1);
  lua_pop(L, 2);
  return *kind ? (void**)lua_touserdata(L, slot) : NULL;
}

/* A userdata for a handle. */
static void** push_box(lua_State* L, const dtt_handle* kind, void* handle) {
  void** box;
  if (dtt_collection_is_due(&dtt_pressed, (uint64_t)(intptr_t)handle)) {
    lua_gc(L, LUA_GCCOLLECT, 0);
    dtt_has_collected(&dtt_pressed);
  }
  box = (void**)lua_newuserdata(L, sizeof *box);
  *box = NULL;
  get(L, kind);
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

/* ---- functions of Lua's */

static void dtt_forget(lua_State* L, const dtt_kept* kept) {
  luaL_unref(L, LUA_REGISTRYINDEX, (int)kept->id);
}

static int close_state(lua_State* L) {
  dtt_sweep(L, (dtt_keeper*)lua_touserdata(L, 1), 1);
  return 0;
}

/* The function in a slot as user data. */
static void* keep(lua_State* L, int slot) {
  dtt_kept* k;
  int id;
  lua_pushvalue(L, slot);
  id = luaL_ref(L, LUA_REGISTRYINDEX);
  get(L, &keeper_key);
  k = dtt_keep_function(L, (dtt_keeper*)lua_touserdata(L, -1), id);
  lua_pop(L, 1);
  return k;
}

/* ---- from Lua's values to cells */

static const char* const dtt_nothing = "nil";

static const char* dtt_next_name(lua_State* L, int slot, int is_first, int* value) {
  if (is_first) lua_pushnil(L);
  if (!lua_next(L, slot)) return NULL;
  lua_insert(L, -2);
  *value = lua_gettop(L) - 1;
  return lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : luaL_typename(L, -1);
}

static dtt_given dtt_look(lua_State* L, const dtt_item* item, int slot) {
  const int type = lua_type(L, slot);
  dtt_given v = {DTT_POINTER, {0}, 0, NULL, lua_typename(L, type)};
  void** box = handle_at(L, slot, &v.of);
  size_t n;
  if (box) {
    v.kind = DTT_HANDLE;
    v.value.p = *box;
    v.word = v.of->name;
  } else if (type == LUA_TBOOLEAN) {
    v.kind = DTT_BOOL;
    v.value.i = lua_toboolean(L, slot);
  } else if (lua_isinteger(L, slot)) {
    v.kind = DTT_I64;
    v.value.i = (int64_t)lua_tointeger(L, slot);
  } else if (type == LUA_TNUMBER) {
    dtt_look_at_real(&v, item, lua_tonumber(L, slot), LUA_VERSION_NUM < 503);
  } else if (type == LUA_TSTRING) {
    v.kind = DTT_STR;
    v.value.p = (void*)lua_tolstring(L, slot, &n);
    v.n = (int64_t)n;
  } else if (type == LUA_TFUNCTION) {
    v.kind = DTT_CALLBACK;
    if (item->kind == DTT_CALLBACK && !(v.value.p = keep(L, slot))) luaL_error(L, "out of memory");
  }
  return v;
}

static int dtt_is_absent(lua_State* L, int slot) {
  return lua_isnil(L, slot);
}

static int dtt_is_true(lua_State* L, int slot) {
  return lua_toboolean(L, slot);
}

static int64_t dtt_count(lua_State* L, int slot) {
  return lua_istable(L, slot) ? (int64_t)lua_rawlen(L, slot) : -1;
}

static int dtt_entry(lua_State* L, int slot, int64_t k) {
  lua_rawgeti(L, slot, (int)k + 1);
  return lua_gettop(L);
}

static void dtt_leave(lua_State* L) {
  lua_pop(L, 1);
}

/* ---- from cells to Lua's values */

static void dtt_make(lua_State* L, const dtt_given* v, void** handle, int is_entry) {
  if (v->kind == DTT_HANDLE && v->value.p) {
    *push_box(L, v->of, *handle) = *handle;
    *handle = NULL;
  } else if (v->kind == DTT_HANDLE)
    is_entry ? lua_pushboolean(L, 0) : lua_pushnil(L); /* nil would end the list */
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

static void dtt_make_list(lua_State* L, int64_t n) {
  lua_createtable(L, (int)n, 0);
}

static void dtt_put(lua_State* L, int64_t k) {
  lua_rawseti(L, -2, (int)k + 1);
}

/* ---- calls */

enum { ROOM = 2 * DTT_MAX_ARGS + DTT_MAX_RESULTS + 64 }; /* arguments, results, lists in lists */

static __thread lua_State* running; /* what is in a call of the library */

/* Of a frame and the values for it. */
static int run_call(lua_State* L) {
  dtt_frame* f = (dtt_frame*)lua_touserdata(L, 1);
  int top;
  luaL_checkstack(L, ROOM + LUA_MINSTACK, f->function->name);
  dtt_place(L, f, 2, lua_gettop(L) - 1);
  top = lua_gettop(L);
  dtt_call_values(L, f);
  dtt_take_values(L, f);
  if (f->function->returns_first && !f->status) lua_pushvalue(L, dtt_slots(f)[0]);
  return lua_gettop(L) - top;
}

/* Raises what a callback has raised as it was, and else the library's sentence behind the place in
 * the user's code, not in prelude.lua. */
static int fail(lua_State* L, dt_status status) {
  int level = 1;
  get(L, &pending_key);
  lua_pushlightuserdata(L, (void*)&pending_key);
  set(L, &pending_key);
  if (status == DT_STATUS_CALLBACK && lua_touserdata(L, -1) != &pending_key) return lua_error(L);
  for (luaL_where(L, level); strstr(lua_tostring(L, -1), "dumbtorch/prelude.lua");) {
    lua_pop(L, 1);
    luaL_where(L, ++level);
  }
  lua_pushstring(L, dt_error_message());
  lua_concat(L, 2);
  return lua_error(L);
}

/* The upvalues are run_call and the function. */
static int invoke(lua_State* L) {
  lua_State* const outer = running;
  dtt_call_given given;
  dtt_frame* f = &given.frame;
  int failed;
  dtt_begin(f, (const dtt_function*)lua_touserdata(L, lua_upvalueindex(2)));
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_pushlightuserdata(L, f);
  lua_insert(L, 2);
  running = L;
  failed = lua_pcall(L, lua_gettop(L) - 1, LUA_MULTRET, 0);
  running = outer;
  dtt_end_values(f);
  if (failed) return lua_error(L);
  return f->status ? fail(L, (dt_status)f->status) : lua_gettop(L);
}

/* ---- callbacks. An error would jump over the library: nothing asks Lua for memory but what
 * lua_pcall runs. */

static int run_callback(lua_State* L) {
  dtt_frame* f = (dtt_frame*)lua_touserdata(L, 1);
  lua_rawgeti(L, LUA_REGISTRYINDEX, (int)((const dtt_kept*)f->user_data)->id);
  dtt_take_given(L, f);
  lua_call(L, f->callback->n_args, f->callback->n_results);
  if (f->callback->n_results) dtt_give_result(L, f, lua_gettop(L));
  return 0;
}

/* On the Lua thread whose call has led here. Where that is none of the function's state, it is a
 * call of the program around Lua, and the state has a thread for it. */
dt_status dtt_run(dtt_frame* f) {
  lua_State* L = (lua_State*)dtt_runner(f);
  const char* message;
  if (L && running &&
      lua_topointer(L, LUA_REGISTRYINDEX) == lua_topointer(running, LUA_REGISTRYINDEX))
    L = running;
  if (!L || !lua_checkstack(L, LUA_MINSTACK)) {
    dtt_release_given(f);
    return dt_error_set(DT_STATUS_CALLBACK, "the Lua state cannot run a callback");
  }
  get(L, &run_key);
  lua_pushlightuserdata(L, f);
  if (!lua_pcall(L, 1, 0, 0)) return (dt_status)f->status;
  dtt_release_given(f);
  message = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "a Lua error that is no string";
  f->status = dt_error_set(DT_STATUS_CALLBACK, message);
  L == running ? set(L, &pending_key) : lua_pop(L, 1); /* is there a call to raise it? */
  return (dt_status)f->status;
}

/* A module that is loaded again goes on with the keeper of the callbacks that are in use. */
static void keep_functions(lua_State* L) {
  dtt_keeper* keeper;
  get(L, &keeper_key);
  if (!lua_isnil(L, -1)) return;
  lua_pushcfunction(L, run_callback);
  set(L, &run_key);
  lua_pushlightuserdata(L, (void*)&pending_key);
  set(L, &pending_key);
  keeper = (dtt_keeper*)lua_newuserdata(L, sizeof *keeper);
  memset(keeper, 0, sizeof *keeper);
  lua_newtable(L);
  lua_pushcfunction(L, close_state);
  lua_setfield(L, -2, "__gc");
  keeper->runner = lua_newthread(L);
  lua_rawseti(L, -2, 1);
  lua_setmetatable(L, -2);
  set(L, &keeper_key);
}

/* ---- what prelude.lua makes the module of */

/* row(i): how, where and under which name users find a function of the table, and the function. */
static int push_row(lua_State* L) {
  const dtt_name* row = dtt_names + lua_tointeger(L, 1);
  lua_pushstring(L, row->how);
  lua_pushstring(L, row->where);
  lua_pushstring(L, row->name);
  if (!row->function) return 3;
  lua_pushcfunction(L, run_call);
  lua_pushlightuserdata(L, (void*)row->function);
  lua_pushcclosure(L, invoke, 2);
  return 4;
}

static int live_handles(lua_State* L) {
  lua_pushinteger(L, (lua_Integer)dt_live_handles(luaL_optstring(L, 1, NULL)));
  return 1;
}

/* The metatables of all kinds, by name. They stay the state's: at the address of one that is gone
 * anybody's table could come to lie. */
static void push_metatables(lua_State* L) {
  const dtt_handle* const* kind;
  lua_newtable(L);
  for (kind = dtt_handles; *kind; kind++) {
    get(L, *kind);
    if (lua_isnil(L, -1)) {
      lua_pop(L, 1);
      lua_newtable(L);
      lua_pushvalue(L, -1);
      set(L, *kind);
    }
    lua_pushlightuserdata(L, (void*)*kind);
    set(L, lua_topointer(L, -2));
    lua_setfield(L, -2, (*kind)->name);
  }
}

__attribute__((visibility("default"))) int luaopen_dumbtorch(lua_State* L);

int luaopen_dumbtorch(lua_State* L) {
  keep_functions(L);
  if (luaL_loadbuffer(L, prelude, sizeof prelude - 1, "=dumbtorch/prelude.lua")) lua_error(L);
  lua_pushcfunction(L, push_row);
  push_metatables(L);
  lua_pushcfunction(L, collect);
  lua_pushcfunction(L, live_handles);
  lua_call(L, 4, 1);
  return 1;
}
