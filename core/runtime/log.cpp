#include "core/runtime/log.h"

#include <cstdio>
#include <memory>
#include <mutex>

#include "core/base/lock.h"
#include "core/runtime/thread.h"

namespace dt {
namespace {

struct Sink {
  LogSink call = nullptr;
  void* context = nullptr;
  void (*drop)(void*) = nullptr;
  ~Sink() {
    if (drop) drop(context);
  }
};

SpinLock sink_lock;
std::shared_ptr<Sink>& current_sink() {
  static auto& s = *new std::shared_ptr<Sink>;
  return s;
}

}  // namespace

void set_log_sink(LogSink sink, void* context, void (*drop)(void*)) {
  std::shared_ptr<Sink> next;
  if (sink) {
    next = std::make_shared<Sink>();
    next->call = sink;
    next->context = context;
    next->drop = drop;
  }
  {
    const std::lock_guard<SpinLock> lock(sink_lock);
    current_sink().swap(next);
  }
}  // the old sink, if nobody is inside it, is dropped here, outside the lock

void log(LogLevel level, const std::string& message) {
  std::shared_ptr<Sink> sink;
  {
    const std::lock_guard<SpinLock> lock(sink_lock);
    sink = current_sink();
  }
  if (!sink) {
    if (level == LogLevel::kTrace) std::fprintf(stderr, "dumbtorch: %s\n", message.c_str());
  } else if (!this_thread.is_logging) {  // what a sink does itself would come back to it for ever
    this_thread.is_logging = true;
    sink->call(sink->context, level, message.c_str());
    this_thread.is_logging = false;
  }
}

}  // namespace dt
