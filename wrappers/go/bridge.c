#include "wrappers/table/functions.gen.c"
#include "_cgo_export.h"

void dtt_drop(void* user_data) {
  if (user_data) dtgoDrop((uintptr_t)user_data);
}
