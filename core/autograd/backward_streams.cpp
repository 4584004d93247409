#include "core/autograd/backward_streams.h"

#include <algorithm>

#include "core/runtime/context.h"

namespace dt {
namespace {

void move_to(Device device, const Ref<Stream>& stream) {
  const Ref<Event> sent = Event::create(device, false);
  sent->record(nullptr);
  set_current_stream(device, stream);
  sent->wait(device);
}

}  // namespace

void BackwardStreams::remember(Device device, const Ref<Stream>& stream) {
  const bool known = std::any_of(used_.begin(), used_.end(), [&](const Used& u) {
    return u.device == device && u.stream == stream;
  });
  if (!known) used_.push_back({device, stream});
}

void BackwardStreams::change(Device device, const Ref<Stream>& stream) {
  if (context().graph) return;  // what is captured goes to the graph's own stream
  remember(device, Ref<Stream>::share(current_stream(device)));
  remember(device, stream);
  move_to(device, stream);
}

// From the last one back to the first, each waits for the one before.
BackwardStreams::~BackwardStreams() {
  for (auto u = used_.rbegin(); u != used_.rend(); ++u) {
    try {
      move_to(u->device, u->stream);
    } catch (...) {  // the device has failed, which the next call on it reports; or memory is short
      set_current_stream(u->device, u->stream);
    }
  }
}

}  // namespace dt
