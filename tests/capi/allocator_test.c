/* Memory of the host's own: everything comes from it, with the sizes that were asked for, and goes
 * back; when it has none the call fails; it comes too late once something was made. */
#include <stdatomic.h>

#include "tests/capi/check.h"

#define MIB (1024 * 1024)

/* The host's heap writes a size in front of each block and counts. */
typedef struct {
  atomic_llong blocks, bytes, limit;
} heap;

static void* host_allocate(void* user_data, int64_t bytes) {
  heap* h = user_data;
  char* memory;
  if (atomic_load(&h->bytes) + bytes > atomic_load(&h->limit)) return NULL;
  memory = aligned_alloc(64, (size_t)(64 + (bytes + 63) / 64 * 64));
  CHECK(memory != NULL);
  memcpy(memory, &bytes, sizeof bytes);
  atomic_fetch_add(&h->blocks, 1);
  atomic_fetch_add(&h->bytes, bytes);
  return memory + 64;
}

static void host_deallocate(void* user_data, void* memory, int64_t bytes) {
  heap* h = user_data;
  int64_t asked;
  memcpy(&asked, (char*)memory - 64, sizeof asked);
  CHECK(asked == bytes);
  atomic_fetch_sub(&h->blocks, 1);
  atomic_fetch_sub(&h->bytes, bytes);
  free((char*)memory - 64);
}

static dt_status bytes_of(int64_t n, dt_tensor** out) {
  return dt_zeros(&n, 1, DT_DTYPE_UINT8, 0, 0, 0, out);
}

int main(void) {
  static heap h = {0};
  dt_tensor *small = NULL, *large = NULL, *none = NULL;
  int64_t before;
  atomic_store(&h.limit, 64LL * MIB);

  FAILS(VALUE_ERROR, dt_set_allocator(NULL, host_deallocate, &h));
  FAILS(VALUE_ERROR, dt_set_allocator(host_allocate, NULL, &h));
  OK(dt_set_allocator(host_allocate, host_deallocate, &h));

  OK(bytes_of(100, &small));
  CHECK(atomic_load(&h.bytes) >= 100);
  before = atomic_load(&h.bytes);
  OK(bytes_of(5 * MIB, &large));
  CHECK(atomic_load(&h.bytes) >= before + 5 * MIB);

  FAILS(OUT_OF_MEMORY, bytes_of(100 * MIB, &none));
  atomic_store(&h.limit, 256LL * MIB);
  OK(bytes_of(100 * MIB, &none));

  FAILS(RUNTIME_ERROR, dt_set_allocator(host_allocate, host_deallocate, &h));
  CHECK(message_has("call it first"));

  dt_tensor_release(small);
  dt_tensor_release(large);
  dt_tensor_release(none);
  OK(dt_empty_cache(0, 0));
  CHECK(atomic_load(&h.bytes) < MIB); /* what the thread keeps for its next small tensors */
  return test_end("allocator");
}
