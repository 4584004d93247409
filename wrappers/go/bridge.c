#include "bridge.h"

#include <string.h>

#include "wrappers/table/functions.gen.c"
#include "_cgo_export.h"

#define HANDLE(kind, number) ((dt_##kind*)(uintptr_t)(number))

const dtt_function* dtgo_function(int64_t i) {
  return dtt_functions[i];
}

dt_status dtgo_call(const dtt_function* function, const dtt_cell* args, dtt_cell* results,
                    char** message) {
  const dt_status status = function->call(args, results);
  if (status) *message = strdup(dt_error_message());
  return status;
}

void dtgo_release(int64_t class_, uint64_t handle) {
  dtt_classes[class_].handle->release(HANDLE(tensor, handle));
}

uint64_t dtgo_alias(uint64_t tensor) {
  dt_tensor* out = NULL;
  return dt_tensor_alias(HANDLE(tensor, tensor), &out) ? 0 : (uint64_t)(uintptr_t)out;
}

/* ---- results: what was just made cannot be refused */

const char* dtgo_text(uint64_t bytes, int64_t* length) {
  const void* data = NULL;
  *length = 0;
  return dt_bytes_data(HANDLE(bytes, bytes), &data, length) ? NULL : (const char*)data;
}

const char* dtgo_string(uint64_t list, int64_t i) {
  const char* out = NULL;
  return dt_string_list_get(HANDLE(string_list, list), i, &out) ? NULL : out;
}

uint64_t dtgo_tensor(uint64_t list, int64_t i) {
  dt_tensor* out = NULL;
  return dt_tensor_list_get(HANDLE(tensor_list, list), i, &out) ? 0 : (uint64_t)(uintptr_t)out;
}

int64_t dtgo_length(const dtt_item* item, uint64_t list) {
  int64_t n = 0;
  const dt_status status = item->kind == DTT_TENSOR
                               ? dt_tensor_list_len(HANDLE(tensor_list, list), &n)
                               : dt_string_list_len(HANDLE(string_list, list), &n);
  return status ? 0 : n;
}

void dtgo_done(const dtt_item* item, uint64_t handle) {
  ((const dtt_handle*)item->of)->release(HANDLE(tensor, handle));
}

/* ---- callbacks */

dt_status dtt_run(const dtt_callback* callback, void* user_data, const dtt_cell* args,
                  dtt_cell* results) {
  return dtgoRun((dtt_callback*)callback, (uintptr_t)user_data, (dtt_cell*)args, results);
}

void dtt_drop(void* user_data) {
  if (user_data) dtgoDrop((uintptr_t)user_data);
}
