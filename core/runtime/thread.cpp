#include "core/runtime/thread.h"

#include <limits.h>
#include <pthread.h>

#include <new>

#include "core/runtime/activity.h"
#include "core/runtime/allocator.h"
#include "core/runtime/context.h"

namespace dt {

__thread Thread this_thread;

namespace {

// Runs among the destructors of other keys, which may call the library before and after it. What
// such a call makes is freed when the system goes through the keys again, which it does
// PTHREAD_DESTRUCTOR_ITERATIONS times in all.
void end_thread(void*) {
  ++this_thread.ends;
  end_thread_notes();
  end_thread_context();
  end_thread_blocks();
}

pthread_key_t make_key() {
  pthread_key_t key;
  if (pthread_key_create(&key, end_thread) != 0) throw std::bad_alloc();
  return key;
}

}  // namespace

void watch_thread() {
  static const pthread_key_t key = make_key();
  if (pthread_setspecific(key, &this_thread) != 0) throw std::bad_alloc();
}

bool has_thread_ended() {
  return this_thread.ends >= PTHREAD_DESTRUCTOR_ITERATIONS;
}

}  // namespace dt
