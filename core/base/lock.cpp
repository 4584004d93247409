#include "core/base/lock.h"

#include <pthread.h>

namespace dt {

std::atomic<uint32_t> process_number{1};
std::atomic<uint8_t> process_mark{2};  // as begin_process counts

namespace {

// The mark of a process 255 forks away is taken for its own.
void begin_process() {
  process_mark = static_cast<uint8_t>(++process_number % 255 + 1);
}

__attribute__((constructor)) void watch_forks() {
  pthread_atfork(nullptr, nullptr, begin_process);
}

}  // namespace
}  // namespace dt
