#include "core/runtime/graph.h"

#include <atomic>

#include "core/base/error.h"
#include "core/runtime/transfer.h"
#include "core/runtime/accelerator.h"
#include "core/runtime/backend.h"
#include "core/runtime/context.h"
#include "core/runtime/pointwise_ops.h"

namespace dt {
namespace {

uint32_t next_number() {
  static std::atomic<uint32_t> last{0};
  return ++last;
}

}  // namespace

Graph::Graph(Device device) : device_(device), number_(next_number()) {}

Graph::~Graph() {
  if (recorder_) abandon();
  if (!native_) return;
  const dt_backend& backend = *find_accelerator()->backend;
  // Replays may still be at work; the last one is behind those before. A stream of somebody else's
  // may be gone by now, so the graph's own stands for it.
  void* last = replayed_on_ ? replayed_on_->native() : nullptr;
  if (replayed_on_ && replayed_on_->is_external()) {
    last = stream_->native();
    try {
      replayed_->wait_on(*stream_);
    } catch (const Error&) {  // the device has failed, which the next call on it reports
    }
  }
  for (const Ref<Storage>& storage : kept_) {
    backend.use_on(device_.index, storage->data(), last);
  }
  backend.graph_destroy(device_.index, native_);
}

void Graph::begin() {
  DT_CHECK(device_.type == DeviceType::kCuda, kRuntimeError,
           "only work on a CUDA device can be captured, not on '", device_, "'");
  DT_CHECK(!native_ && !recorder_, kRuntimeError, "the graph has been captured already");
  DT_CHECK(!context().graph, kRuntimeError, "this thread is capturing another graph already");
  const dt_backend& backend = *accelerator(device_).backend;
  generator_ = default_generator(device_);
  next_ = generator_->position();
  replayed_ = Event::create(device_, false);
  stream_ = Stream::create(device_, 0);
  // The first work of a capture may read what this thread has sent elsewhere before.
  const Ref<Event> earlier = Event::create(device_, false);
  earlier->record(nullptr);
  random_state_ = generator_->begin_capture();
  Stream* current = current_stream(device_);
  before_ = current ? Ref<Stream>::share(current) : Ref<Stream>();
  set_current_stream(device_, stream_);
  recorder_ = Ref<Context>::share(&context());
  context().graph = this;
  try {
    earlier->wait(device_);
    dt_fault fault = {};
    check_device(backend.capture_begin(device_.index, stream_->native(), &fault), fault);
  } catch (...) {
    generator_->end_capture();
    restore();
    throw;
  }
}

void Graph::restore() noexcept {
  recorder_->graph = nullptr;
  recorder_->streams[static_cast<size_t>(device_.index)] = before_;
  before_ = Ref<Stream>();
  recorder_ = Ref<Context>();
}

void Graph::end() {
  DT_CHECK(context().graph == this, kRuntimeError, "this thread is not capturing this graph");
  const dt_backend& backend = *accelerator(device_).backend;
  counters_ = generator_->end_capture();
  try {
    // The last node of the graph moves the random state on, so that each replay draws fresh
    // numbers.
    if (counters_) {
      const View counter(random_state_, {1}, {1}, 1);
      const View counter_and_step[] = {counter, View(Scalar(counters_), kDTypeOf<int64_t>, {1})};
      PointwiseCall call(kDTypeOf<int64_t>);
      call.outputs = {&counter, 1};
      call.inputs = {counter_and_step, 2};
      call.attributes.add(1, 1.0);  // alpha
      run(Op<PointwiseCall>{DT_OP_add}, call);
    }
  } catch (...) {
    abandon();
    throw;
  }
  restore();
  dt_fault fault = {};
  check_device(backend.capture_end(device_.index, stream_->native(), &native_, &fault), fault);
}

void Graph::abandon() noexcept {
  if (!recorder_) return;
  generator_->end_capture();
  restore();
  dt_fault fault = {};
  find_accelerator()->backend->capture_end(device_.index, stream_->native(), nullptr, &fault);
}

void Graph::replay() {
  DT_CHECK(native_, kRuntimeError, "the graph has not been captured");
  DT_CHECK(!context().graph, kRuntimeError,
           "a graph cannot be replayed while this thread captures another");
  if (counters_) {
    // Somebody else has drawn numbers, or set the seed, since the last replay.
    const Generator::Position now = generator_->position();
    if (!(now == next_)) copy_elements(random_state_, random_state(now, kCpu));
    generator_->skip(counters_);
    next_ = {now.seed, now.counter + counters_};
  }
  dt_fault fault = {};
  check_device(accelerator(device_).backend->graph_launch(device_.index, native_,
                                                          current_native_stream(device_), &fault),
               fault);
  replayed_on_ = Ref<Stream>::share(current_stream(device_));
  if (replayed_on_ && replayed_on_->is_external()) replayed_->record(nullptr);
}

}  // namespace dt
