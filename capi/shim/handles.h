// Handles: what a `dt_tensor *` really is.
//
// A handle is not an address but 64 bits of tag, generation, kind and index:
//
//   63..62  01: a non-canonical address, so that using a handle as a pointer faults at once
//   61..33  generation of the slot, so that a stale handle never finds the slot's next object
//   32..28  kind: tensor, generator, ...
//   27..0   index of the slot
//
// Slots live in chunks that are never freed, so looking at any slot is always safe. A slot's state
// is one atomic word:
//
//   63..30  generation and kind, as in the handle; kind 0 means free
//   29      released: nobody may pin it any more
//   28..0   pins: how many calls are using the object now
//
// A call pins the slots of its arguments: one atomic add that checks the generation on the way.
// Releasing a pinned slot only marks it; the last unpin destroys the object. So a handle that one
// thread releases while another uses it is never undefined behaviour: the user sees the object, or
// an error.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "capi/shim/kinds.gen.h"
#include "core/base/error.h"

namespace dt::capi {

struct Slot {
  std::atomic<uint64_t> state{0};
  alignas(8) unsigned char object[8];  // the object, or its address if it is larger; the next free
                                       // index when free
};

inline constexpr int kIndexBits = 28, kKindBits = 5, kGenerationBits = 29;
inline constexpr int kPinBits = 29;
inline constexpr uint64_t kTag = uint64_t{1} << 62;
inline constexpr uint64_t kTagMask = uint64_t{3} << 62;
inline constexpr uint64_t kIndexMask = (uint64_t{1} << kIndexBits) - 1;
inline constexpr uint64_t kKindMask = ((uint64_t{1} << kKindBits) - 1) << kIndexBits;
inline constexpr uint64_t kPinMask = (uint64_t{1} << kPinBits) - 1;
inline constexpr uint64_t kReleased = uint64_t{1} << kPinBits;
inline constexpr int kIdentityShift = kPinBits + 1;

inline constexpr int kChunkBits = 12;  // 4096 slots of 16 bytes
inline constexpr uint32_t kChunkSlots = 1u << kChunkBits;
extern std::atomic<Slot*> chunks[1u << (kIndexBits - kChunkBits)];

static_assert(kKindCount < (1u << kKindBits), "a handle's kind must fit its bits");
static_assert(sizeof(void*) == 8, "handles need 64 bits");

// The slot that a handle's index names, or null if there has never been one. Inline also where code
// is compiled for size: every argument of every call comes here.
__attribute__((always_inline)) inline Slot* find_slot(uint64_t handle) {
  const uint64_t index = handle & kIndexMask;
  Slot* chunk = chunks[index >> kChunkBits].load(std::memory_order_acquire);
  return chunk ? chunk + (index & (kChunkSlots - 1)) : nullptr;
}

// The state of the handle's slot while the handle is good, without the pins.
inline uint64_t live_state(uint64_t handle) {
  return ((handle & ~kTagMask) >> kIndexBits) << kIdentityShift;
}

// How an object of type T sits in a slot.
template <class T>
struct Stored {
  static constexpr bool kInPlace = sizeof(T) <= 8 && alignof(T) <= 8;

  static T& get(void* where) {
    if constexpr (kInPlace) {
      return *std::launder(static_cast<T*>(where));
    } else {
      T* p;
      std::memcpy(&p, where, sizeof p);
      return *p;
    }
  }
  static void destroy(void* where) {
    if constexpr (kInPlace)
      get(where).~T();
    else
      delete &get(where);
  }
};

// Takes a free slot. Throws std::bad_alloc when there is none and no memory for more.
Slot& take_slot(uint32_t* index);
// Makes the filled slot findable: the new handle's bits.
uint64_t publish_slot(Slot& slot, uint32_t index, uint32_t kind);
// Ends the life of a slot and destroys its object if the slot's state (without pins) is still
// `expected`. Else somebody has just pinned or freed it, and false comes back.
bool free_slot(Slot& slot, uint64_t expected) noexcept;
// Throws the sentence that says what is wrong with a handle.
[[noreturn]] void fail_handle(uint64_t handle, uint32_t kind, const char* name);
// False if the handle is not good any more.
bool release_slot(uint64_t handle, uint32_t kind) noexcept;
// The kind that a handle says it is, 0 if there is none of that number.
inline uint32_t kind_of(uint64_t handle) {
  const auto kind = static_cast<uint32_t>((handle & kKindMask) >> kIndexBits);
  return kind <= kKindCount ? kind : 0;
}
// Releases a handle of whatever kind it is; one that is not good is left alone.
inline void release_any(uint64_t handle) noexcept {
  if (const uint32_t kind = kind_of(handle)) release_slot(handle, kind);
}
// A new handle to the object of one of whatever kind it is.
uint64_t alias_any(uint64_t handle);
// How many handles of a kind are alive; kind 0 counts all.
int64_t count_handles(uint32_t kind) noexcept;

template <class C>
uint64_t bits(C* handle) {
  return reinterpret_cast<uint64_t>(handle);
}

inline Slot& pin_slot(uint64_t handle, uint32_t kind, const char* name) {
  const uint64_t fixed = kTag | uint64_t{kind} << kIndexBits;
  Slot* slot = (handle & (kTagMask | kKindMask)) == fixed ? find_slot(handle) : nullptr;
  if (__builtin_expect(!slot, 0)) fail_handle(handle, kind, name);
  const uint64_t before = slot->state.fetch_add(1, std::memory_order_acquire);
  if (__builtin_expect((before & ~kPinMask) != live_state(handle), 0)) {
    // The slot is free or another's: a pin that nobody asked for does no harm, but it must go
    // again.
    const uint64_t now = slot->state.fetch_sub(1, std::memory_order_acq_rel) - 1;
    if ((now & (kReleased | kPinMask)) == kReleased) free_slot(*slot, now);
    fail_handle(handle, kind, name);
  }
  return *slot;
}

inline void unpin_slot(Slot& slot) noexcept {
  const uint64_t now = slot.state.fetch_sub(1, std::memory_order_acq_rel) - 1;
  if (__builtin_expect((now & (kReleased | kPinMask)) == kReleased, 0)) free_slot(slot, now);
}

// An argument in use: the object cannot go away before the Pin does.
template <class C>
class Pin {
 public:
  using Object = typename HandleKind<C>::Object;
  Pin(C* handle, const char* name) : slot_(pin_slot(bits(handle), HandleKind<C>::number, name)) {}
  ~Pin() { unpin_slot(slot_); }
  Pin(const Pin&) = delete;
  Pin& operator=(const Pin&) = delete;
  Object& operator*() const { return Stored<Object>::get(slot_.object); }

 private:
  Slot& slot_;
};

// An argument that may be NULL, which reads as a default-made object.
template <class C>
class OptionalPin {
 public:
  using Object = typename HandleKind<C>::Object;
  OptionalPin(C* handle, const char* name)
      : slot_(handle ? &pin_slot(bits(handle), HandleKind<C>::number, name) : nullptr) {}
  ~OptionalPin() {
    if (slot_) unpin_slot(*slot_);
  }
  OptionalPin(const OptionalPin&) = delete;
  OptionalPin& operator=(const OptionalPin&) = delete;
  const Object& operator*() const { return slot_ ? Stored<Object>::get(slot_->object) : absent_; }

 private:
  Slot* slot_;
  Object absent_{};
};

// A new handle that owns the object.
template <class C>
C* make_handle(typename HandleKind<C>::Object object) {
  using Object = typename HandleKind<C>::Object;
  uint32_t index;
  Slot* slot;
  if constexpr (Stored<Object>::kInPlace) {
    slot = &take_slot(&index);
    new (slot->object) Object(std::move(object));
  } else {
    auto box = std::make_unique<Object>(std::move(object));
    slot = &take_slot(&index);
    Object* p = box.release();
    std::memcpy(slot->object, &p, sizeof p);
  }
  return reinterpret_cast<C*>(publish_slot(*slot, index, HandleKind<C>::number));
}

// The end of dt_KIND_release: runs the drops that wait. A handle that was not good is a warning in
// the log, not an error, which would take the place of the one that the caller is about to read.
void finish_release(const char* function, bool good, uint64_t handle, uint32_t kind) noexcept;

template <class C>
void release_handle(const char* function, C* handle) noexcept {
  if (!handle) return;
  const uint32_t kind = HandleKind<C>::number;
  finish_release(function, release_slot(bits(handle), kind), bits(handle), kind);
}

}  // namespace dt::capi
