/* What a plugin may export besides its table: how a tool that watches the process, such as Nsight
 * Systems, is told of ranges. It is plain C. */
#ifndef DT_KERNELS_TOOL_H
#define DT_KERNELS_TOOL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Append-only, as dt_backend. The ranges of a thread nest: `range_push` and `range_pop` give the
 * depth, from 0, or a negative number where nobody watches. One of `range_start` may end anywhere,
 * on any thread. */
typedef struct dt_tool {
  int64_t struct_size;
  int32_t (*range_push)(const char* name);
  int32_t (*range_pop)(void);
  uint64_t (*range_start)(const char* name);
  void (*range_end)(uint64_t range);
  void (*mark)(const char* name);
} dt_tool;

typedef const dt_tool* dt_tool_open_function(void);
dt_tool_open_function dt_tool_open;

#ifdef __cplusplus
}
#endif

#endif
