#include "core/runtime/stream.h"

#include "core/base/error.h"
#include "core/runtime/accelerator.h"
#include "core/runtime/context.h"

namespace dt {
namespace {

// Calls a function of the device's table, and throws what it reports. The CPU has nothing to do.
template <class F>
void call(Device device, F f) {
  if (device == kCpu) return;
  dt_fault fault = {};
  check_device(f(*accelerator(device).backend, &fault), fault);
}

}  // namespace

Ref<Stream> Stream::create(Device device, int32_t priority) {
  void* native = nullptr;
  call(device, [&](const dt_backend& b, dt_fault* fault) {
    return b.stream_create(device.index, priority, &native, fault);
  });
  return Ref<Stream>::adopt(new Stream(device, native, true));
}

Ref<Stream> Stream::wrap(Device device, void* native) {
  if (device == kCpu)
    native = nullptr;
  else
    accelerator(device);  // throws if there is no such device
  return Ref<Stream>::adopt(new Stream(device, native, false));
}

void Stream::destroy(Stream* s) {
  if (s->owned_ && s->native_)
    find_accelerator()->backend->stream_destroy(s->device_.index, s->native_);
  delete s;
}

void Stream::synchronize() const {
  call(device_, [&](const dt_backend& b, dt_fault* fault) {
    return b.stream_synchronize(device_.index, native_, fault);
  });
}

bool Stream::query() const {
  int32_t done = 1;
  call(device_, [&](const dt_backend& b, dt_fault* fault) {
    return b.stream_query(device_.index, native_, &done, fault);
  });
  return done;
}

Ref<Event> Event::create(Device device, bool timing) {
  void* native = nullptr;
  call(device, [&](const dt_backend& b, dt_fault* fault) {
    return b.event_create(device.index, timing, &native, fault);
  });
  return Ref<Event>::adopt(new Event(device, native));
}

void Event::destroy(Event* e) {
  if (e->native_) find_accelerator()->backend->event_destroy(e->device_.index, e->native_);
  delete e;
}

void Event::record(const Stream* stream) {
  DT_CHECK(!stream || stream->device() == device_, kRuntimeError, "the event belongs to '", device_,
           "', the stream to '", stream->device(), "'");
  moment_ = std::chrono::steady_clock::now();
  void* native = stream ? stream->native() : current_native_stream(device_);
  call(device_, [&](const dt_backend& b, dt_fault* fault) {
    return b.event_record(device_.index, native_, native, fault);
  });
}

// The CPU's own events are past when anybody waits for them; and its work is done by this thread.
void Event::wait(Device device) const {
  if (device.type == DeviceType::kDefault) device = device_;
  if (device_ == kCpu) return;
  if (device == kCpu) return synchronize();
  call(device, [&](const dt_backend& b, dt_fault* fault) {
    return b.stream_wait(device.index, current_native_stream(device), native_, fault);
  });
}

void Event::wait_on(const Stream& stream) const {
  const Device device = stream.device();
  call(device, [&](const dt_backend& b, dt_fault* fault) {
    return b.stream_wait(device.index, stream.native(), native_, fault);
  });
}

void Event::synchronize() const {
  call(device_, [&](const dt_backend& b, dt_fault* fault) {
    return b.event_synchronize(device_.index, native_, fault);
  });
}

bool Event::query() const {
  int32_t done = 1;
  call(device_, [&](const dt_backend& b, dt_fault* fault) {
    return b.event_query(device_.index, native_, &done, fault);
  });
  return done;
}

double Event::elapsed(const Event& end) const {
  DT_CHECK(end.device_ == device_, kRuntimeError, "the events belong to '", device_, "' and '",
           end.device_, "'");
  double milliseconds = std::chrono::duration<double, std::milli>(end.moment_ - moment_).count();
  call(device_, [&](const dt_backend& b, dt_fault* fault) {
    return b.event_elapsed(device_.index, native_, end.native_, &milliseconds, fault);
  });
  return milliseconds;
}

Stream* current_stream(Device device) {
  const auto& streams = context().streams;
  const size_t i = static_cast<size_t>(device.index);
  return i < streams.size() ? streams[i].get() : nullptr;
}

void* current_native_stream(Device device) {
  const Stream* stream = current_stream(device);
  return stream ? stream->native() : nullptr;
}

void set_current_stream(Device device, const Ref<Stream>& stream) {
  DT_CHECK(!stream || stream->device() == device, kRuntimeError, "the stream belongs to another ",
           "device than ", device);
  if (device == kCpu) return;
  auto& streams = context().streams;
  const size_t i = static_cast<size_t>(device.index);
  if (streams.size() <= i) streams.resize(i + 1);
  const bool is_main = !stream || !stream->native();
  streams[i] = is_main ? Ref<Stream>() : stream;  // nodes and captures ask for null
}

void wait_for_device(Device device, Device other) {
  const Ref<Event> done = Event::create(other, false);
  done->record(nullptr);
  done->wait(device);
}

void synchronize_device(Device device) {
  call(device,
       [&](const dt_backend& b, dt_fault* fault) { return b.synchronize(device.index, fault); });
}

}  // namespace dt
