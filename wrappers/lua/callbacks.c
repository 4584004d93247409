/* Lua functions that the library calls.
 *
 * They run on a Lua thread of their own, which lives as long as the Lua state: the coroutine that
 * registered a function may be gone when it is called. The library may drop a function while
 * another Lua state's call is running, so a dropped function's reference is only put on a list, and
 * given up by its own state when that next registers one. */
#include <stdlib.h>

#include "runtime.h"

typedef struct state {
  lua_State* thread; /* where callbacks run */
  int64_t users;     /* the Lua state and its callbacks; the last one frees this */
  dtl_callback* dropped;
} state;

struct dtl_callback {
  state* owner;
  int reference;
  dtl_callback* next;
};

static char state_key, pending_key;

static void release(state* s) {
  if (__atomic_sub_fetch(&s->users, 1, __ATOMIC_ACQ_REL) == 0) free(s);
}

static dtl_callback* take_dropped(state* s) {
  return __atomic_exchange_n(&s->dropped, NULL, __ATOMIC_ACQUIRE);
}

static void forget(state* s, lua_State* L) {
  dtl_callback* c = take_dropped(s);
  while (c) {
    dtl_callback* next = c->next;
    if (L) luaL_unref(L, LUA_REGISTRYINDEX, c->reference);
    free(c);
    release(s);
    c = next;
  }
}

/* The Lua state is closed: its references are gone with it. */
static int close_state(lua_State* L) {
  state* s = *(state**)lua_touserdata(L, 1);
  if (!s) return 0;
  __atomic_store_n(&s->thread, NULL, __ATOMIC_RELEASE);
  forget(s, NULL);
  release(s);
  return 0;
}

static state* make_state(lua_State* L) {
  state** box;
  lua_pushlightuserdata(L, &state_key);
  lua_createtable(L, 2, 0);
  box = (state**)lua_newuserdata(L, sizeof *box);
  *box = NULL;
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, close_state);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, -2);
  lua_rawseti(L, -2, 1);
  *box = (state*)calloc(1, sizeof **box);
  if (!*box) luaL_error(L, "out of memory");
  (*box)->users = 1;
  (*box)->thread = lua_newthread(L);
  lua_rawseti(L, -2, 2);
  lua_rawset(L, LUA_REGISTRYINDEX);
  return *box;
}

static state* get_state(lua_State* L) {
  state** box;
  lua_pushlightuserdata(L, &state_key);
  lua_rawget(L, LUA_REGISTRYINDEX);
  if (lua_isnil(L, -1)) {
    lua_pop(L, 1);
    return make_state(L);
  }
  lua_rawgeti(L, -1, 1);
  box = (state**)lua_touserdata(L, -1);
  lua_pop(L, 2);
  return *box;
}

dtl_callback* dtl_read_callback(dtl_call* c, int slot) {
  lua_State* L = c->L;
  dtl_callback* callback;
  state* s;
  int reference;
  if (!lua_isfunction(L, slot)) {
    luaL_error(L, "%s: '%s' must be a function, not %s", c->function, c->names[slot - 1],
               luaL_typename(L, slot));
  }
  s = get_state(L);
  forget(s, L);
  lua_pushvalue(L, slot);
  reference = luaL_ref(L, LUA_REGISTRYINDEX);
  callback = (dtl_callback*)calloc(1, sizeof *callback);
  if (!callback) {
    luaL_unref(L, LUA_REGISTRYINDEX, reference);
    luaL_error(L, "%s: out of memory", c->function);
  }
  callback->owner = s;
  callback->reference = reference;
  __atomic_add_fetch(&s->users, 1, __ATOMIC_RELAXED);
  return callback;
}

void dtl_drop(void* user_data) {
  dtl_callback* c = (dtl_callback*)user_data;
  state* s;
  if (!c) return;
  s = c->owner;
  if (!__atomic_load_n(&s->thread, __ATOMIC_ACQUIRE)) { /* the Lua state is closed */
    free(c);
    release(s);
    return;
  }
  c->next = __atomic_load_n(&s->dropped, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(&s->dropped, &c->next, c, 0, __ATOMIC_RELEASE,
                                      __ATOMIC_RELAXED)) {
  }
}

/* ---- calls */

/* Keeps the error on top of the stack, so that it can be raised again as it is. */
static void keep_error(lua_State* L) {
  lua_pushlightuserdata(L, &pending_key);
  lua_insert(L, -2);
  lua_rawset(L, LUA_REGISTRYINDEX);
}

dt_status dtl_protected(dtl_callback* callback, lua_CFunction body, void* frame) {
  lua_State* L = callback->owner->thread;
  const char* message;
  dt_status status;
  if (!L || !lua_checkstack(L, LUA_MINSTACK)) {
    return dt_error_set(DT_STATUS_CALLBACK, "the Lua state cannot run a callback");
  }
  lua_pushcfunction(L, body);
  lua_pushlightuserdata(L, frame);
  if (!lua_pcall(L, 1, 0, 0)) return DT_STATUS_OK;
  message = lua_tostring(L, -1);
  status = dt_error_set(DT_STATUS_CALLBACK, message ? message : "a Lua error that is no string");
  keep_error(L);
  return status;
}

void dtl_check(lua_State* L, dt_status status) {
  if (status == DT_STATUS_OK) return;
  if (status == DT_STATUS_CALLBACK) {
    lua_pushlightuserdata(L, &pending_key);
    lua_rawget(L, LUA_REGISTRYINDEX);
    if (!lua_isnil(L, -1)) {
      lua_pushnil(L);
      keep_error(L);
      lua_error(L);
    }
  }
  luaL_error(L, "%s", dt_error_message());
}

void dtl_push_function(lua_State* L, dtl_callback* callback) {
  lua_rawgeti(L, LUA_REGISTRYINDEX, callback->reference);
}

/* The library only lends a callback its tensors; the function may keep its own handle. */
void dtl_push_alias(lua_State* L, dt_tensor* tensor) {
  if (!tensor) {
    lua_pushnil(L);
    return;
  }
  dtl_check(L, dt_tensor_alias(tensor, (dt_tensor**)dtl_new(L, &dtl_kind_tensor)));
}

void dtl_push_aliases(lua_State* L, dt_tensor* const* tensors, int64_t n) {
  int64_t i;
  lua_createtable(L, (int)n, 0);
  for (i = 0; i < n; i++) {
    if (tensors[i]) {
      dtl_push_alias(L, tensors[i]);
    } else {
      lua_pushboolean(L, 0);
    }
    lua_rawseti(L, -2, (int)i + 1);
  }
}

/* What a callback gave back is read like an argument. */
static dtl_call result_of(lua_State* L, const char* callback) {
  static const char* const names[] = {"result", NULL};
  dtl_call c;
  c.L = L;
  c.function = callback;
  c.names = names;
  lua_replace(L, 1);
  lua_settop(L, 1);
  return c;
}

dt_tensor* dtl_result_tensor(lua_State* L, const char* callback, int may_be_absent) {
  dtl_call c = result_of(L, callback);
  dt_tensor* out = NULL;
  if (may_be_absent && dtl_absent(&c, 1)) return NULL;
  dtl_check(L, dt_tensor_alias(dtl_tensor(&c, 1), &out));
  return out;
}

dt_tensor_list* dtl_result_tensors(lua_State* L, const char* callback) {
  dtl_call c = result_of(L, callback);
  dtl_tensors list = dtl_tensor_list(&c, 1, 1);
  dt_tensor_list* out = NULL;
  dtl_check(L, dt_tensor_list_new(list.p, list.n, &out));
  return out;
}
