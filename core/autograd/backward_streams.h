// Which streams of GPUs a backward runs on.
#pragma once

#include <vector>

#include "core/autograd/node.h"

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

  // The next work on a device that the node's forward ran on goes to its stream there.
  void follow(Node& node) {
    for (const OutputInfo& y : node.outputs) {
      if (y.device != kCpu && current_stream(y.device) != y.stream.get())
        change(y.device, y.stream);
    }
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
