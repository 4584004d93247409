/* Memory for handles, in place of the C library's, until there shall be no more. */
#include <malloc.h>

extern int memory_is_full; /* check.f90 */

void* aligned_alloc(size_t alignment, size_t bytes) {
  return memory_is_full ? NULL : memalign(alignment, bytes);
}
