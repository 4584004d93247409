// The CPU's caching allocator. Freed blocks are kept for reuse, because fresh pages cost more than
// most ops: a first touch of 64 MiB takes 4 times as long as adding the numbers in it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dt {

// Where memory comes from. Blocks are at multiples of 64 bytes; null if there is none.
struct MemorySource {
  void* (*allocate)(void* user_data, int64_t bytes);
  void (*deallocate)(void* user_data, void* memory, int64_t bytes);
  void* user_data;
};

// Has all memory come from the host. Throws once there is memory that does not.
void cpu_set_source(const MemorySource& source);

struct MemoryStats {
  int64_t allocated = 0;       // bytes in use now
  int64_t peak_allocated = 0;  // the most there ever was, since the last reset
  int64_t reserved = 0;        // bytes held from the system: in use or cached
};

// 64-byte aligned, not cleared. Throws kOutOfMemory after the cache was given back, the context's
// memory hook was asked to free something, and a last try failed.
void* cpu_allocate(int64_t bytes);
// `bytes` is what was asked for.
void cpu_free(void* block, int64_t bytes) noexcept;

MemoryStats cpu_memory_stats();
void cpu_reset_peak();
// Returns cached blocks to the system: all that no thread keeps for itself.
void cpu_empty_cache();

// Gives the blocks that the thread keeps to the other threads.
void end_thread_blocks() noexcept;

}  // namespace dt
