#include "bridge.h"

#include "wrappers/table/functions.gen.c"
#include "_cgo_export.h"

void dtgo_begin(dtt_frame* f, int64_t function) {
  dtt_begin(f, dtt_functions[function]);
}

dt_status dtgo_call(dtt_frame* f, char** message) {
  const dt_status status = dtt_call(f);
  if (status) *message = strdup(dt_error_message());
  return status;
}

void dtgo_release(const dtt_handle* of, uint64_t handle) {
  if (handle) of->release((void*)(uintptr_t)handle);
}

dt_status dtt_run(const dtt_callback* callback, void* user_data, const dtt_cell* args,
                  dtt_cell* results) {
  return dtgoRun((dtt_callback*)callback, (uintptr_t)user_data, (dtt_cell*)args, results);
}

void dtt_drop(void* user_data) {
  if (user_data) dtgoDrop((uintptr_t)user_data);
}
