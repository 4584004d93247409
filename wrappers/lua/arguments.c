/* Arguments: from Lua's stack to the C API's types. */
#include <string.h>

#include "runtime.h"

#if LUA_VERSION_NUM < 502
#define lua_rawlen lua_objlen
#endif

static const char* type_at(lua_State* L, int slot) {
  if (luaL_getmetafield(L, slot, "__name")) return lua_tostring(L, -1);
  return luaL_typename(L, slot);
}

static int refuse(dtl_call* c, int slot, const char* expected) {
  return luaL_error(c->L, "%s: '%s' must be %s, not %s", c->function, c->names[slot - 1], expected,
                    type_at(c->L, slot));
}

/* ---- order and names */

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

static int index_of(const char* const* names, const char* name) {
  int i;
  for (i = 0; names[i]; i++) {
    if (!strcmp(names[i], name)) return i + 1;
  }
  return 0;
}

static int count(const char* const* names) {
  int n = 0;
  while (names[n]) n++;
  return n;
}

/* Puts the entries of the table in `slot` into the slots of their names. */
static void spread(dtl_call* c, int slot) {
  lua_State* L = c->L;
  lua_pushnil(L);
  while (lua_next(L, slot)) {
    int to = lua_type(L, -2) == LUA_TSTRING ? index_of(c->names, lua_tostring(L, -2)) : 0;
    if (!to) {
      luaL_error(L, "%s: there is no argument named '%s'", c->function,
                 lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : luaL_typename(L, -2));
    }
    if (!lua_isnil(L, to)) luaL_error(L, "%s: '%s' is given twice", c->function, c->names[to - 1]);
    lua_replace(L, to);
  }
}

void dtl_arguments(dtl_call* c) {
  lua_State* L = c->L;
  int n = count(c->names), given = lua_gettop(L);
  int named = given > 0 && is_named(L, given);
  if (given - named > n) {
    luaL_error(L, "%s: takes at most %d arguments, not %d", c->function, n, given - named);
  }
  luaL_checkstack(L, n + LUA_MINSTACK, c->function);
  if (!named) {
    lua_settop(L, n);
    return;
  }
  lua_settop(L, n + 1 > given ? n + 1 : given);
  lua_pushvalue(L, given); /* the table moves behind the slots */
  lua_replace(L, n + 1);
  if (given <= n) {
    lua_pushnil(L);
    lua_replace(L, given);
  }
  spread(c, n + 1);
  lua_settop(L, n);
}

/* Whether an overload's distinguishing argument is there, before dtl_arguments. */
int dtl_given(lua_State* L, int slot, const char* name) {
  int top = lua_gettop(L), given;
  if (top > 0 && is_named(L, top)) {
    lua_getfield(L, top, name);
    given = !lua_isnil(L, -1);
    lua_pop(L, 1);
    if (given || top == slot) return given;
  }
  return !lua_isnoneornil(L, slot);
}

int dtl_absent(dtl_call* c, int slot) {
  return lua_isnil(c->L, slot);
}

/* `false` says "none" where nil stands for a default. */
int dtl_false(dtl_call* c, int slot) {
  return lua_isboolean(c->L, slot) && !lua_toboolean(c->L, slot);
}

/* ---- handles */

static void* handle_at(lua_State* L, int slot, const dtl_kind* kind) {
  void** box = (void**)lua_touserdata(L, slot);
  int same;
  if (!box || !lua_getmetatable(L, slot)) return NULL;
  luaL_getmetatable(L, kind->class);
  same = lua_rawequal(L, -1, -2);
  lua_pop(L, 2);
  return same ? box : NULL;
}

void* dtl_handle(dtl_call* c, int slot, const dtl_kind* kind) {
  void** box = (void**)handle_at(c->L, slot, kind);
  if (!box) refuse(c, slot, kind->name);
  return *box;
}

dt_tensor* dtl_tensor(dtl_call* c, int slot) {
  return (dt_tensor*)dtl_handle(c, slot, &dtl_kind_tensor);
}

dt_tensor* dtl_tensor_at(lua_State* L, int slot) {
  void** box = (void**)handle_at(L, slot, &dtl_kind_tensor);
  return box ? (dt_tensor*)*box : NULL;
}

/* ---- numbers and text */

static int is_number(lua_State* L, int slot) {
  return lua_type(L, slot) == LUA_TNUMBER;
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

int dtl_integer_at(lua_State* L, int slot, int64_t* out) {
  return is_number(L, slot) && to_integer(L, slot, out);
}

int64_t dtl_int(dtl_call* c, int slot) {
  int64_t value = 0;
  if (!dtl_integer_at(c->L, slot, &value)) refuse(c, slot, "an integer");
  return value;
}

double dtl_real(dtl_call* c, int slot) {
  if (!is_number(c->L, slot)) refuse(c, slot, "a number");
  return lua_tonumber(c->L, slot);
}

int32_t dtl_bool(dtl_call* c, int slot) {
  if (!lua_isboolean(c->L, slot)) refuse(c, slot, "true or false");
  return lua_toboolean(c->L, slot);
}

dtl_blob dtl_bytes(dtl_call* c, int slot) {
  dtl_blob blob;
  size_t n;
  if (lua_type(c->L, slot) != LUA_TSTRING) refuse(c, slot, "a string");
  blob.p = lua_tolstring(c->L, slot, &n);
  blob.n = (int64_t)n;
  return blob;
}

/* The string at `index`, of the argument in `slot`. C reads up to the first NUL: one that has a NUL
 * inside would become another string. */
static const char* text_at(dtl_call* c, int index, int slot, const char* expected) {
  const char* text;
  size_t n;
  if (lua_type(c->L, index) != LUA_TSTRING) refuse(c, slot, expected);
  text = lua_tolstring(c->L, index, &n);
  if (strlen(text) != n) {
    luaL_error(c->L, "%s: '%s' has an embedded null character", c->function, c->names[slot - 1]);
  }
  return text;
}

const char* dtl_string(dtl_call* c, int slot) {
  return text_at(c, slot, slot, "a string");
}

int32_t dtl_enum_value(dtl_call* c, int slot, const dtl_enum* values) {
  const char* name = dtl_string(c, slot);
  for (; values->name; values++) {
    if (!strcmp(values->name, name)) return values->number;
  }
  return luaL_error(c->L, "%s: '%s' has no value '%s'", c->function, c->names[slot - 1], name);
}

dtl_device dtl_read_device(dtl_call* c, int slot) {
  const char *text = dtl_string(c, slot), *colon = strchr(text, ':');
  dtl_device device = {0, 0};
  size_t n = colon ? (size_t)(colon - text) : strlen(text);
  if (n == 3 && !strncmp(text, "cpu", n)) device.type = DT_DEVICE_TYPE_CPU;
  if (n == 4 && !strncmp(text, "cuda", n)) device.type = DT_DEVICE_TYPE_CUDA;
  if (!colon && device.type == DT_DEVICE_TYPE_CUDA) device.index = -1; /* the current one */
  if (colon) {
    const char* digit = colon + 1;
    if (!*digit || strlen(digit) > 4) device.type = 0;
    for (; *digit; digit++) {
      if (*digit < '0' || *digit > '9') device.type = 0;
      device.index = 10 * device.index + (*digit - '0');
    }
  }
  if (!device.type) luaL_error(c->L, "%s: '%s' is not a device", c->function, text);
  dtl_note_device(c->L, device);
  return device;
}

static int number_at(lua_State* L, int slot, dtl_number* number) {
  memset(number, 0, sizeof *number);
  if (lua_isboolean(L, slot)) {
    number->kind = DT_SCALAR_KIND_BOOL;
    number->i = lua_toboolean(L, slot);
    return 1;
  }
  if (!is_number(L, slot)) return 0;
#if LUA_VERSION_NUM >= 503
  number->kind = lua_isinteger(L, slot) ? DT_SCALAR_KIND_INT : DT_SCALAR_KIND_FLOAT;
  number->i = number->kind == DT_SCALAR_KIND_INT ? (int64_t)lua_tointeger(L, slot) : 0;
#else
  number->kind = to_integer(L, slot, &number->i) ? DT_SCALAR_KIND_INT : DT_SCALAR_KIND_FLOAT;
#endif
  number->f = lua_tonumber(L, slot);
  return 1;
}

dtl_number dtl_read_number(dtl_call* c, int slot) {
  dtl_number number;
  if (!number_at(c->L, slot, &number)) refuse(c, slot, "a number");
  return number;
}

dtl_operand dtl_read_operand(dtl_call* c, int slot) {
  dtl_operand operand;
  void** box = (void**)handle_at(c->L, slot, &dtl_kind_tensor);
  memset(&operand, 0, sizeof operand);
  if (box) {
    operand.tensor = (dt_tensor*)*box;
  } else if (!number_at(c->L, slot, &operand.number)) {
    refuse(c, slot, "a tensor or a number");
  }
  return operand;
}

/* ---- lists: their memory is a userdata, which Lua frees also after an error */

static int64_t list_length(dtl_call* c, int slot, const char* expected) {
  if (!lua_istable(c->L, slot) || is_named(c->L, slot)) refuse(c, slot, expected);
  return (int64_t)lua_rawlen(c->L, slot);
}

static void* room(lua_State* L, int64_t n, size_t size) {
  luaL_checkstack(L, LUA_MINSTACK, "too many lists");
  return lua_newuserdata(L, (size_t)(n > 0 ? n : 1) * size);
}

dtl_ints dtl_int_list(dtl_call* c, int slot, int count_of_one) {
  lua_State* L = c->L;
  dtl_ints list;
  int64_t i, *values, n = count_of_one;
  if (count_of_one && is_number(L, slot)) {
    values = (int64_t*)room(L, n, sizeof *values);
    for (i = 0; i < n; i++) values[i] = dtl_int(c, slot);
  } else {
    n = list_length(c, slot, "a list of integers");
    values = (int64_t*)room(L, n, sizeof *values);
    for (i = 0; i < n; i++) {
      lua_rawgeti(L, slot, (int)i + 1);
      if (!dtl_integer_at(L, -1, &values[i])) refuse(c, slot, "a list of integers");
      lua_pop(L, 1);
    }
  }
  list.p = values;
  list.n = n;
  return list;
}

dtl_reals dtl_real_list(dtl_call* c, int slot, int count_of_one) {
  lua_State* L = c->L;
  dtl_reals list;
  double* values;
  int64_t i, n = count_of_one;
  if (count_of_one && is_number(L, slot)) {
    values = (double*)room(L, n, sizeof *values);
    for (i = 0; i < n; i++) values[i] = lua_tonumber(L, slot);
  } else {
    n = list_length(c, slot, "a list of numbers");
    values = (double*)room(L, n, sizeof *values);
    for (i = 0; i < n; i++) {
      lua_rawgeti(L, slot, (int)i + 1);
      if (!is_number(L, -1)) refuse(c, slot, "a list of numbers");
      values[i] = lua_tonumber(L, -1);
      lua_pop(L, 1);
    }
  }
  list.p = values;
  list.n = n;
  return list;
}

dtl_flags dtl_flag_list(dtl_call* c, int slot) {
  lua_State* L = c->L;
  dtl_flags list;
  int64_t i, n = list_length(c, slot, "a list of booleans");
  int32_t* values = (int32_t*)room(L, n, sizeof *values);
  for (i = 0; i < n; i++) {
    lua_rawgeti(L, slot, (int)i + 1);
    if (!lua_isboolean(L, -1)) refuse(c, slot, "a list of booleans");
    values[i] = lua_toboolean(L, -1);
    lua_pop(L, 1);
  }
  list.p = values;
  list.n = n;
  return list;
}

/* An absent entry is `false`, since nil would end the list. */
dtl_tensors dtl_tensor_list(dtl_call* c, int slot, int entries_may_be_absent) {
  lua_State* L = c->L;
  dtl_tensors list;
  int64_t i, n = list_length(c, slot, "a list of tensors");
  dt_tensor** values = (dt_tensor**)room(L, n, sizeof *values);
  for (i = 0; i < n; i++) {
    void** box;
    lua_rawgeti(L, slot, (int)i + 1);
    box = (void**)handle_at(L, lua_gettop(L), &dtl_kind_tensor);
    if (!box && !(entries_may_be_absent && lua_isboolean(L, -1) && !lua_toboolean(L, -1))) {
      refuse(c, slot, "a list of tensors");
    }
    values[i] = box ? (dt_tensor*)*box : NULL;
    lua_pop(L, 1);
  }
  list.p = values;
  list.n = n;
  return list;
}

dtl_strings dtl_string_list(dtl_call* c, int slot) {
  lua_State* L = c->L;
  dtl_strings list;
  int64_t i, n = list_length(c, slot, "a list of strings");
  const char** values = (const char**)room(L, n, sizeof *values);
  for (i = 0; i < n; i++) {
    lua_rawgeti(L, slot, (int)i + 1);
    values[i] = text_at(c, -1, slot, "a list of strings"); /* the table keeps it alive */
    lua_pop(L, 1);
  }
  list.p = values;
  list.n = n;
  return list;
}
