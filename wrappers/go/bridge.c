#include "bridge.h"

#include "wrappers/table/functions.gen.c"
#include "_cgo_export.h"

#define HANDLE(kind, number) ((dt_##kind*)(uintptr_t)(number))

void dtgo_begin(dtt_frame* f, int64_t function) {
  dtt_begin(f, dtt_functions[function]);
}

dt_status dtgo_call(dtt_frame* f, char** message) {
  const dt_status status = dtt_call(f);
  if (status) *message = strdup(dt_error_message());
  return status;
}

void dtgo_release(int64_t class_, uint64_t handle) {
  dtt_classes[class_].handle->release(HANDLE(tensor, handle));
}

/* ---- text: what was just made cannot be refused */

const char* dtgo_text(uint64_t bytes, int64_t* length) {
  const void* data = NULL;
  *length = 0;
  return dt_bytes_data(HANDLE(bytes, bytes), &data, length) ? NULL : (const char*)data;
}

const char* dtgo_string(uint64_t list, int64_t i) {
  const char* out = NULL;
  return dt_string_list_get(HANDLE(string_list, list), i, &out) ? NULL : out;
}

/* ---- callbacks */

dt_status dtt_run(const dtt_callback* callback, void* user_data, const dtt_cell* args,
                  dtt_cell* results) {
  return dtgoRun((dtt_callback*)callback, (uintptr_t)user_data, (dtt_cell*)args, results);
}

void dtt_drop(void* user_data) {
  if (user_data) dtgoDrop((uintptr_t)user_data);
}
