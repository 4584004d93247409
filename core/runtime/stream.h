// Streams and events: the order in which devices work.
#pragma once

#include <chrono>

#include "core/base/device.h"
#include "core/base/ref.h"

namespace dt {

// A device's queue of work: what is sent to it runs in order. The CPU has streams too, so that
// programs need not ask: its work is done when a call returns.
class Stream : public RefCounted {
 public:
  // A lower number is a higher priority.
  static Ref<Stream> create(Device device, int32_t priority);
  // A stream that somebody else owns; null: the device's main stream.
  static Ref<Stream> wrap(Device device, void* native);
  static void destroy(Stream* stream);

  Device device() const { return device_; }
  void* native() const { return native_; }
  bool is_external() const { return !owned_; }  // another library made it, and may destroy it
  void synchronize() const;
  bool query() const;  // whether all work is done

 private:
  Stream(Device device, void* native, bool owned)
      : device_(device), native_(native), owned_(owned) {}

  Device device_;
  void* native_;
  bool owned_;
};

// A mark in a stream; on the CPU a moment.
class Event : public RefCounted {
 public:
  static Ref<Event> create(Device device, bool timing);
  static void destroy(Event* event);

  Device device() const { return device_; }
  void record(const Stream* stream);  // null: the current stream
  // The device's current stream goes on after the mark. kDefault: the event's own device.
  void wait(Device device) const;
  void wait_on(const Stream& stream) const;  // a stream of a GPU does
  void synchronize() const;                  // this thread does
  bool query() const;
  double elapsed(const Event& end) const;  // milliseconds

 private:
  Event(Device device, void* native) : device_(device), native_(native) {}

  Device device_;
  void* native_;
  std::chrono::steady_clock::time_point moment_;
};

// The stream that this thread's work on `device` goes to; null is the device's main stream.
Stream* current_stream(Device device);
void* current_native_stream(Device device);
// A null stream is the device's main stream.
void set_current_stream(Device device, const Ref<Stream>& stream);

// The current stream of `device` goes on when that of `other` has done what it was sent so far.
void wait_for_device(Device device, Device other);

// Waits until all work sent to the device is done.
void synchronize_device(Device device);

}  // namespace dt
