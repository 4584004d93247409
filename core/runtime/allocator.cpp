#include "core/runtime/allocator.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <map>
#include <mutex>
#include <new>
#include <utility>

#include "core/base/error.h"
#include "core/base/pooled.h"
#include "core/runtime/context.h"
#include "core/runtime/thread.h"

namespace dt {

struct FreeBlock {
  FreeBlock* next;
};

struct FreeList {
  FreeBlock* head = nullptr;
  int64_t count = 0;

  void push(void* block) {
    auto* b = static_cast<FreeBlock*>(block);
    b->next = head;
    head = b;
    ++count;
  }
  void* pop() {
    FreeBlock* b = head;
    if (b) {
      head = b->next;
      --count;
    }
    return b;
  }
};

namespace {

constexpr int64_t kAlignment = 64;
constexpr int64_t kSmallLimit = 1 << 20;  // larger blocks come straight from mmap
constexpr int64_t kHugePage = 2 << 20;
constexpr int kSmallClasses = 64;
constexpr int64_t kThreadCacheBytes = 256 << 10;  // per class and thread

// Small sizes are rounded to one of four steps per doubling (64, 128, 192, 256, 320, ...), so that
// at most a quarter of a block of more than 256 bytes is waste.
constexpr int class_for(int64_t bytes) {
  if (bytes <= kAlignment) return 0;
  if (bytes <= 4 * kAlignment) return static_cast<int>((bytes - 1) / kAlignment);
  const int log =
      63 - __builtin_clzll(static_cast<uint64_t>(bytes - 1));  // 2^log < bytes <= 2^(log+1)
  const int64_t past = bytes - 1 - (int64_t{1} << log);
  return 4 + (log - 8) * 4 + static_cast<int>(past >> (log - 2));
}

// The same from a table for the sizes of most blocks.
constexpr int64_t kTabled = 16 * kAlignment;
struct SmallClasses {
  int8_t of[kTabled / kAlignment + 1] = {};
  constexpr SmallClasses() {
    for (int64_t i = 0; i * kAlignment <= kTabled; ++i)
      of[i] = static_cast<int8_t>(class_for(i * kAlignment));
  }
};
constexpr SmallClasses kSmallClassOf;

inline int size_class(int64_t bytes) {
  return bytes <= kTabled ? kSmallClassOf.of[(bytes + kAlignment - 1) / kAlignment]
                          : class_for(bytes);
}

// The bytes of the blocks of a size class.
constexpr int64_t class_bytes(int index) {
  if (index < 4) return (index + 1) * kAlignment;
  const int log = 8 + (index - 4) / 4, quarter = 1 + (index - 4) % 4;
  return (int64_t{1} << (log - 2)) * (4 + quarter);
}

// How many blocks of each class a thread keeps.
struct ThreadLimits {
  int32_t of[kSmallClasses] = {};
  constexpr ThreadLimits() {
    for (int c = 0; c < kSmallClasses; ++c)
      of[c] = static_cast<int32_t>(kThreadCacheBytes / class_bytes(c));
  }
};
constexpr ThreadLimits kMostKept;

// Few sizes, so that one block serves many requests, and little waste: whole huge pages, but where
// one would be a large part of the block, eighths of it.
int64_t large_bytes(int64_t bytes) {
  const int64_t granule = bytes < 16 * kHugePage ? kHugePage / 8 : kHugePage;
  return (bytes + granule - 1) / granule * granule;
}

void* allocate_from_system(void*, int64_t bytes) {
  if (bytes <= kSmallLimit) return std::aligned_alloc(kAlignment, bytes);
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

void release_to_system(void*, void* memory, int64_t bytes) {
  if (bytes <= kSmallLimit)
    std::free(memory);
  else
    munmap(memory, bytes);
}

// Shared by all threads. Never destroyed: tensors may be freed after static destructors have run.
struct Shared {
  std::mutex mutex;
  FreeList small[kSmallClasses];
  std::multimap<int64_t, void*> large;  // by size
  int64_t large_cached = 0;
  int64_t large_limit = sysconf(_SC_PHYS_PAGES) * int64_t{sysconf(_SC_PAGESIZE)} / 4;

  std::atomic<int64_t> allocated{0}, peak{0}, reserved{0};
  MemorySource source{allocate_from_system, release_to_system,
                      nullptr};  // set before memory is taken
};

Shared& shared();

Shared* make_shared() {
  auto* s = new Shared;
  pthread_atfork([] { shared().mutex.lock(); }, [] { shared().mutex.unlock(); },
                 [] { shared().mutex.unlock(); });
  return s;
}

Shared& shared() {
  static Shared& s = *make_shared();
  return s;
}

}  // namespace

// A thread's own free lists: no lock on the common path.
struct BlockCache {
  FreeList small[kSmallClasses];
};

void end_thread_blocks() noexcept {
  BlockCache* cache = std::exchange(this_thread.blocks, nullptr);
  if (!cache) return;
  Shared& s = shared();
  std::lock_guard<std::mutex> lock(s.mutex);
  for (int c = 0; c < kSmallClasses; ++c) {
    while (void* block = cache->small[c].pop()) s.small[c].push(block);
  }
  delete cache;
}

namespace {

// Null where there is no memory for one, and while the thread ends: it would be of little use.
BlockCache* make_thread_blocks() noexcept {
  if (this_thread.ends) return nullptr;
  try {
    watch_thread();
    return this_thread.blocks = new BlockCache;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

BlockCache* thread_blocks() noexcept {
  BlockCache* cache = this_thread.blocks;
  return __builtin_expect(cache != nullptr, 1) ? cache : make_thread_blocks();
}

void* take(int64_t bytes) {
  const MemorySource& source = shared().source;
  return source.allocate(source.user_data, bytes);
}

void give_back(void* memory, int64_t bytes) {
  const MemorySource& source = shared().source;
  source.deallocate(source.user_data, memory, bytes);
}

void* take_cached_small(int index) {
  if (BlockCache* cache = thread_blocks()) {
    if (void* block = cache->small[index].pop()) return block;
  }
  Shared& s = shared();
  std::lock_guard<std::mutex> lock(s.mutex);
  return s.small[index].pop();
}

// A cached block may be up to a quarter larger than asked: `cpu_free` finds its true size in front
// of it.
void* take_cached_large(int64_t bytes, int64_t* block_bytes) {
  Shared& s = shared();
  std::lock_guard<std::mutex> lock(s.mutex);
  auto it = s.large.lower_bound(bytes);
  if (it == s.large.end() || it->first > bytes + bytes / 4) return nullptr;
  void* block = it->second;
  *block_bytes = it->first;
  s.large_cached -= it->first;
  s.large.erase(it);
  return block;
}

// Large blocks start on a huge page; their size stands in the 64 bytes in front of it.
struct LargeHeader {
  int64_t block_bytes;  // usable
  void* mapping;
  int64_t mapping_bytes;
};

LargeHeader* header_of(void* block) {
  return reinterpret_cast<LargeHeader*>(static_cast<char*>(block) - kAlignment);
}

void* map_large(int64_t bytes) {
  const int64_t mapping_bytes = bytes + 2 * kHugePage;
  void* mapping = take(mapping_bytes);
  if (!mapping) return nullptr;
  const auto first = reinterpret_cast<uintptr_t>(mapping) + kAlignment;
  auto* block = reinterpret_cast<char*>((first + kHugePage - 1) / kHugePage * kHugePage);
  madvise(block, bytes, MADV_HUGEPAGE);  // a wish: without it the block works, page by page
  *header_of(block) = {bytes, mapping, mapping_bytes};
  return block;
}

void unmap_large(void* block) {
  const LargeHeader header = *header_of(block);
  shared().reserved.fetch_sub(header.block_bytes, std::memory_order_relaxed);
  give_back(header.mapping, header.mapping_bytes);
}

void* allocate_block(int64_t bytes) {
  if (bytes <= kSmallLimit) {
    const int index = size_class(bytes);
    if (void* block = take_cached_small(index)) return block;
    void* block = take(class_bytes(index));
    if (block) shared().reserved.fetch_add(class_bytes(index), std::memory_order_relaxed);
    return block;
  }
  const int64_t wanted = large_bytes(bytes);
  int64_t block_bytes = 0;
  if (void* block = take_cached_large(wanted, &block_bytes)) return block;
  void* block = map_large(wanted);
  if (block) shared().reserved.fetch_add(wanted, std::memory_order_relaxed);
  return block;
}

void free_small(void* block, int64_t bytes) noexcept {
  const int index = size_class(bytes);
  BlockCache* cache = thread_blocks();
  if (cache && cache->small[index].count < kMostKept.of[index]) {
    cache->small[index].push(block);
    return;
  }
  Shared& s = shared();
  std::lock_guard<std::mutex> lock(s.mutex);
  s.small[index].push(block);
}

// Gives back what nobody uses, then asks the host to let go of more.
void* allocate_after_pressure(int64_t bytes) {
  cpu_empty_cache();
  void* block = allocate_block(bytes);
  if (!block && run_memory_hook(bytes)) {
    cpu_empty_cache();
    block = allocate_block(bytes);
  }
  DT_CHECK(block, kOutOfMemory, "can't allocate memory: you tried to allocate ", bytes, " bytes");
  return block;
}

}  // namespace

void cpu_set_source(const MemorySource& source) {
  Shared& s = shared();
  DT_CHECK(s.reserved.load() == 0, kRuntimeError,
           "set_allocator(): memory has been taken from the system already; call it first");
  s.source = source;
}

void* cpu_allocate(int64_t bytes) {
  Shared& s = shared();
  void* block = allocate_block(bytes);
  if (!block) block = allocate_after_pressure(bytes);
  const int64_t now = s.allocated.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  int64_t peak = s.peak.load(std::memory_order_relaxed);
  while (now > peak && !s.peak.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
  }
  return block;
}

void cpu_free(void* block, int64_t bytes) noexcept {
  if (!block) return;
  Shared& s = shared();
  s.allocated.fetch_sub(bytes, std::memory_order_relaxed);
  if (bytes <= kSmallLimit) return free_small(block, bytes);
  const int64_t block_bytes = header_of(block)->block_bytes;
  {
    std::lock_guard<std::mutex> lock(s.mutex);
    if (s.large_cached + block_bytes <= s.large_limit) {
      try {
        s.large.emplace(block_bytes, block);
        s.large_cached += block_bytes;
        return;
      } catch (...) {  // no memory for the map's node: give the block back instead
      }
    }
  }
  unmap_large(block);
}

// AddressSanitizer sees what happens to an object only if the object has memory of its own.
#if defined(__SANITIZE_ADDRESS__)
void* Pooled::operator new(size_t bytes) {
  return ::operator new(bytes);
}
void Pooled::operator delete(void* object, size_t) noexcept {
  ::operator delete(object);
}
#else
void* Pooled::operator new(size_t bytes) {
  void* block = allocate_block(static_cast<int64_t>(bytes));
  return block ? block : allocate_after_pressure(static_cast<int64_t>(bytes));
}
void Pooled::operator delete(void* object, size_t bytes) noexcept {
  free_small(object, static_cast<int64_t>(bytes));
}
#endif

MemoryStats cpu_memory_stats() {
  Shared& s = shared();
  return {s.allocated.load(), s.peak.load(), s.reserved.load()};
}

void cpu_reset_peak() {
  Shared& s = shared();
  s.peak.store(s.allocated.load());
}

void cpu_empty_cache() {
  Shared& s = shared();
  std::lock_guard<std::mutex> lock(s.mutex);
  for (auto& [bytes, block] : s.large) unmap_large(block);
  s.large.clear();
  s.large_cached = 0;
  for (int c = 0; c < kSmallClasses; ++c) {
    while (void* block = s.small[c].pop()) {
      give_back(block, class_bytes(c));
      s.reserved.fetch_sub(class_bytes(c), std::memory_order_relaxed);
    }
  }
}

}  // namespace dt
