#include "capi/shim/handles.h"

#include <pthread.h>

#include <cstdlib>
#include <mutex>

#include "capi/shim/guard.h"
#include "core/base/lock.h"
#include "core/base/text.h"
#include "core/runtime/log.h"

namespace dt::capi {

std::atomic<Slot*> chunks[1u << (kIndexBits - kChunkBits)];

namespace {

constexpr uint32_t kNone = UINT32_MAX;
constexpr size_t kChunkBytes = kChunkSlots * sizeof(Slot);
constexpr uint64_t kLastGeneration = (uint64_t{1} << kGenerationBits) - 1;
constexpr int kGenerationShift = kIdentityShift + kKindBits;

// Free slots, in lists that threads share out so that they seldom wait for each other.
struct alignas(64) FreeList {
  SpinLock lock;
  uint32_t head = kNone;
};
constexpr uint32_t kFreeLists = 8;
FreeList free_lists[kFreeLists];

SpinLock growth;
uint32_t slots_made = 0;

Slot& slot_at(uint32_t index) {
  return *find_slot(index);
}

// Chunks are aligned to their size, and the first slot of each is no slot: it holds its index.
uint32_t index_of(const Slot& slot) {
  const auto address = reinterpret_cast<uintptr_t>(&slot);
  const auto* chunk = reinterpret_cast<const Slot*>(address & ~uintptr_t{kChunkBytes - 1});
  uint32_t first;
  std::memcpy(&first, chunk->object, sizeof first);
  return first + static_cast<uint32_t>(&slot - chunk);
}

uint32_t next_free(const Slot& slot) {
  uint32_t next;
  std::memcpy(&next, slot.object, sizeof next);
  return next;
}

void set_next_free(Slot& slot, uint32_t next) {
  std::memcpy(slot.object, &next, sizeof next);
}

// Threads are told apart by where their stacks are, which takes no memory of theirs. A thread that
// changes its list deep down, or two that have one in common, lose only time.
FreeList& own_list() {
  const auto place = reinterpret_cast<uintptr_t>(__builtin_frame_address(0)) >> 16;
  return free_lists[static_cast<uint32_t>(place) * 0x9E3779B1u >> 29];
}
static_assert(kFreeLists == 1u << (32 - 29), "own_list takes the upper 3 bits");

uint32_t pop(FreeList& list) {
  list.lock.lock();
  const uint32_t index = list.head;
  if (index != kNone) list.head = next_free(slot_at(index));
  list.lock.unlock();
  return index;
}

// Puts a chain of slots, first ... last, in front of the list.
void push(FreeList& list, uint32_t first, uint32_t last) {
  list.lock.lock();
  set_next_free(slot_at(last), list.head);
  list.head = first;
  list.lock.unlock();
}

// Takes some of the first slots of another list, so that a thread which only releases feeds one
// which only creates. Few, and before the list is open again: who walks a long chain that nobody
// else can see makes others believe that there are no free slots, and they make more.
uint32_t steal(FreeList& mine) {
  constexpr int kMost = 32;
  for (FreeList& other : free_lists) {
    if (&other == &mine) continue;
    other.lock.lock();
    const uint32_t first = other.head;
    uint32_t last = first;
    if (first != kNone) {
      for (int i = 1; i < kMost && next_free(slot_at(last)) != kNone; ++i)
        last = next_free(slot_at(last));
      other.head = next_free(slot_at(last));
    }
    other.lock.unlock();
    if (first == kNone) continue;
    if (first != last) push(mine, next_free(slot_at(first)), last);
    return first;
  }
  return kNone;
}

Slot* new_chunk(uint32_t first) {
  void* memory = std::aligned_alloc(kChunkBytes, kChunkBytes);
  if (!memory) throw std::bad_alloc();
  Slot* chunk = new (memory) Slot[kChunkSlots];
  std::memcpy(chunk->object, &first, sizeof first);
  for (uint32_t i = 1; i < kChunkSlots; ++i) set_next_free(chunk[i], first + i + 1);
  set_next_free(chunk[kChunkSlots - 1], kNone);
  return chunk;
}

// Makes a chunk of slots: one for the caller, the others for the list.
uint32_t grow(FreeList& mine) {
  uint32_t first;
  {
    std::lock_guard<SpinLock> lock(growth);
    if (slots_made > kIndexMask) throw std::bad_alloc();
    first = slots_made;
    chunks[first >> kChunkBits].store(new_chunk(first), std::memory_order_release);
    slots_made += kChunkSlots;
  }
  push(mine, first + 2, first + kChunkSlots - 1);
  return first + 1;
}

template <class C>
void destroy_object(void* where) {
  Stored<typename HandleKind<C>::Object>::destroy(where);
}

#define DT_DESTROY(C) destroy_object<C>,
constexpr void (*kDestroy[])(void*) = {nullptr, DT_HANDLE_KINDS(DT_DESTROY)};
#undef DT_DESTROY

template <class C>
uint64_t alias_object(uint64_t handle) {
  const Pin<C> pin(reinterpret_cast<C*>(handle), "handle");
  return bits(make_handle<C>(*pin));
}

#define DT_ALIAS(C) alias_object<C>,
constexpr uint64_t (*kAlias[])(uint64_t) = {nullptr, DT_HANDLE_KINDS(DT_ALIAS)};
#undef DT_ALIAS

// A lock that another thread holds while a process forks would stay locked in the child for ever.
void lock_all() {
  for (FreeList& list : free_lists) list.lock.lock();
  growth.lock();
}
void unlock_all() {
  growth.unlock();
  for (FreeList& list : free_lists) list.lock.unlock();
}
__attribute__((constructor)) void watch_forks() {
  pthread_atfork(lock_all, unlock_all, unlock_all);
}

}  // namespace

Slot& take_slot(uint32_t* index) {
  FreeList& mine = own_list();
  *index = pop(mine);
  if (*index == kNone) *index = steal(mine);
  if (*index == kNone) *index = grow(mine);
  return slot_at(*index);
}

uint64_t publish_slot(Slot& slot, uint32_t index, uint32_t kind) {
  // Added, not stored: a stale handle's user may hold a pin for an instant.
  const uint64_t identity = uint64_t{kind} << kIdentityShift;
  const uint64_t state = slot.state.fetch_add(identity, std::memory_order_acq_rel) + identity;
  return kTag | (state >> kIdentityShift) << kIndexBits | index;
}

bool free_slot(Slot& slot, uint64_t expected) noexcept {
  const uint64_t generation = expected >> kGenerationShift;
  const uint32_t kind = expected >> kIdentityShift & ((1u << kKindBits) - 1);
  const uint64_t next = (generation + 1) << kGenerationShift;
  if (!slot.state.compare_exchange_strong(expected, next, std::memory_order_acq_rel)) return false;
  alignas(8) unsigned char object[sizeof slot.object];
  std::memcpy(object, slot.object, sizeof object);  // objects in place are single smart pointers
  // The last generation is never given out: its slot stays unused, so no handle can come to life
  // again.
  if (generation + 1 < kLastGeneration) push(own_list(), index_of(slot), index_of(slot));
  kDestroy[kind](object);
  return true;
}

bool release_slot(uint64_t handle, uint32_t kind) noexcept {
  const uint64_t fixed = kTag | uint64_t{kind} << kIndexBits;
  if ((handle & (kTagMask | kKindMask)) != fixed) return false;
  Slot* slot = find_slot(handle);
  if (!slot) return false;
  uint64_t state = slot->state.load(std::memory_order_acquire);
  for (;;) {
    if ((state & ~kPinMask) != live_state(handle)) return false;
    if ((state & kPinMask) == 0) {
      if (free_slot(*slot, state)) return true;
      state = slot->state.load(std::memory_order_acquire);
    } else if (slot->state.compare_exchange_weak(state, state | kReleased,
                                                 std::memory_order_acq_rel)) {
      return true;  // in use: the last unpin destroys the object
    }
  }
}

std::string wrong_handle(uint64_t handle, uint32_t kind, const char* name) {
  const char* wanted = kKindNames[kind];
  if (!handle) return text(name, " is NULL, expected a ", wanted);
  const uint64_t actual = (handle & kKindMask) >> kIndexBits;
  if ((handle & kTagMask) != kTag || actual == 0 || actual > kKindCount || !find_slot(handle))
    return text(name, " is not a handle, expected a ", wanted);
  if (actual != kind) return text(name, " is a ", kKindNames[actual], ", expected a ", wanted);
  return text(name, " is a ", wanted, " that was released");
}

void fail_handle(uint64_t handle, uint32_t kind, const char* name) {
  fail(Code::kHandle, wrong_handle(handle, kind, name));
}

uint64_t alias_any(uint64_t handle) {
  const uint32_t kind = kind_of(handle);
  DT_CHECK(kind != 0, kHandle, "handle is not a handle");
  return kAlias[kind](handle);
}

int64_t count_handles(uint32_t kind) noexcept {
  int64_t count = 0;
  for (std::atomic<Slot*>& entry : chunks) {
    const Slot* chunk = entry.load(std::memory_order_acquire);
    if (!chunk) break;
    for (uint32_t i = 1; i < kChunkSlots; ++i) {
      const uint64_t state = chunk[i].state.load(std::memory_order_relaxed);
      const uint32_t actual = state >> kIdentityShift & ((1u << kKindBits) - 1);
      count += actual != 0 && !(state & kReleased) && (kind == 0 || kind == actual);
    }
  }
  return count;
}

void finish_release(const char* function, bool good, uint64_t handle, uint32_t kind) noexcept {
  if (!good) {
    try {
      log(LogLevel::kWarning, text(function, ": ", wrong_handle(handle, kind, "handle")));
    } catch (...) {  // no memory for the words
    }
  }
  run_pending_drops();
}

}  // namespace dt::capi
