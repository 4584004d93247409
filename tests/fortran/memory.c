/* Memory for handles, in place of the C library's, until there shall be no more. */
#include <stdlib.h>

static int is_full;

void end_memory_(void) {
  is_full = 1;
}

void* aligned_alloc(size_t alignment, size_t bytes) {
  void* memory = NULL;
  return is_full || posix_memalign(&memory, alignment, bytes) ? NULL : memory;
}
