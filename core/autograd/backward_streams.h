// Which streams of GPUs a backward runs on.
#pragma once

#include <vector>

#include "core/runtime/stream.h"

namespace dt {

// A node's backward goes to the stream that its forward ran on: what the forward saved was made
// there, and its memory goes back there. Each change of streams waits for what was sent before it,
// so a backward's work runs in the order in which it is sent. When this object is gone, the streams
// of before are current again, and all streams that were used go on after the last work.
class BackwardStreams {
 public:
  BackwardStreams() = default;
  BackwardStreams(const BackwardStreams&) = delete;
  ~BackwardStreams();

  // The next work on `device` goes to its stream `forward`; null: the main stream.
  void follow(Device device, const Ref<Stream>& forward) {
    if (current_stream(device) != forward.get()) change(device, forward);
  }

 private:
  struct Used {
    Device device;
    Ref<Stream> stream;
  };

  void change(Device device, const Ref<Stream>& stream);
  void remember(Device device, const Ref<Stream>& stream);

  std::vector<Used> used_;  // of each device, what was current before comes first
};

}  // namespace dt
