// A recorded run of work on a GPU that is launched again as a whole: one train step costs one
// launch.
#pragma once

#include <vector>

#include "core/runtime/generator.h"
#include "core/runtime/stream.h"

namespace dt {

class Graph : public RefCounted {
 public:
  explicit Graph(Device device) : device_(device) {}
  Device device() const { return device_; }
  static void destroy(Graph* graph) { delete graph; }
  ~Graph();

  // From `begin` to `end`, what this thread does on the device is recorded, not run, on a stream of
  // the graph's own that is current meanwhile. Memory comes from a pool of the graph's own; memory
  // from before that the recorded work uses is kept as long as the graph.
  void begin();
  void end();
  // Gives up a recording that went wrong.
  void abandon() noexcept;
  // Runs the recorded work on the current stream. Random numbers go on where the generator is.
  void replay();

  // Called for each operand while this thread records.
  void keep(const Ref<Storage>& storage) { kept_.push_back(storage); }

 private:
  void restore() noexcept;

  const Device device_;
  Ref<Stream> stream_, before_;
  void* native_ = nullptr;  // the finished graph
  bool recording_ = false;
  std::vector<Ref<Storage>> kept_;
  Tensor random_state_;       // on the device; the last node of the graph moves it on
  int64_t counters_ = 0;      // that one replay takes
  Generator::Position next_;  // what random_state_ holds
};

}  // namespace dt
