#include "wrappers/table/functions.gen.c"
#include "_cgo_export.h"

dt_status dtt_run(const dtt_callback* callback, void* user_data, const dtt_cell* args,
                  dtt_cell* results) {
  return dtt_answer(callback, user_data, args, results, dtgoRun);
}

void dtt_drop(void* user_data) {
  if (user_data) dtgoDrop((uintptr_t)user_data);
}
