// A recorded run of work on a GPU that is launched again as a whole: one train step costs one
// launch.
#pragma once

#include <vector>

#include "core/runtime/context.h"
#include "core/runtime/generator.h"
#include "core/runtime/stream.h"

namespace dt {

class Graph : public RefCounted {
 public:
  explicit Graph(Device device);
  Device device() const { return device_; }
  static void destroy(Graph* graph) { delete graph; }
  ~Graph();

  // From `begin` to `end`, what this thread does on the device is recorded, not run, on a stream of
  // the graph's own that is current meanwhile. Memory comes from a pool of the graph's own; memory
  // from before that the recorded work uses is kept as long as the graph.
  void begin();
  void end();
  // Gives up a recording that went wrong. Unlike the others, any thread may: the last to let go of
  // a graph does.
  void abandon() noexcept;
  // Runs the recorded work on the current stream. Random numbers go on where the generator is.
  void replay();

  // Called for each operand while this thread records. What came from the graph's pool stays there
  // anyway: freed, it serves the next op of the recording.
  void keep(const Ref<Storage>& storage) {
    if (storage->capture() != number_) kept_.push_back(storage);
  }
  // The number of this capture if it records the stream's work from the start, else 0.
  uint32_t number_on(void* stream) const { return stream == stream_->native() ? number_ : 0; }

 private:
  void restore() noexcept;

  const Device device_;
  const uint32_t number_;  // in the process, from 1
  Ref<Stream> stream_, before_;
  void* native_ = nullptr;  // the finished graph
  Ref<Context> recorder_;   // of the thread that is recording, which another one may undo
  std::vector<Ref<Storage>> kept_;
  Ref<Generator> generator_;  // the default one of the context that recorded
  Ref<Stream> replayed_on_;   // of the last replay; null: the main stream
  Ref<Event> replayed_;       // its end, if that stream is external
  Tensor random_state_;       // on the device; the last node of the graph moves it on
  int64_t counters_ = 0;      // that one replay takes
  Generator::Position next_;  // what random_state_ holds
};

// Throws if this thread is capturing another GPU's work: that of `device` would not be recorded but
// run, once, and the replays would go without it.
inline void check_captured(Device device) {
  const Graph* graph = context().graph;
  if (device == kCpu || !graph || device == graph->device()) return;
  fail(Code::kRuntimeError, "work on ", device, " cannot be recorded while this thread captures a ",
       "graph on ", graph->device());
}

}  // namespace dt
