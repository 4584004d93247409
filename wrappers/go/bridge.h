/* What Go calls and cannot say by itself. Handles are numbers here: Go's collector wants to know
 * what a pointer points to. */
#ifndef DUMBTORCH_GO_BRIDGE_H
#define DUMBTORCH_GO_BRIDGE_H

#include "wrappers/table/frame.h"

/* Functions are in the order of the plan. */
void dtgo_begin(dtt_frame* f, int64_t function);
/* The error's text belongs to the thread, and a goroutine may go on on another one: `message` gets
 * a copy, to be freed. */
dt_status dtgo_call(dtt_frame* f, char** message);
void dtgo_release(const dtt_handle* of, uint64_t handle);

#endif
