#include "core/runtime/profiler.h"

#include <pthread.h>

#include <memory>
#include <utility>

#include "core/base/error.h"
#include "core/runtime/accelerator.h"
#include "core/runtime/allocator.h"
#include "core/runtime/context.h"

namespace dt {

std::atomic<int32_t> activity_watchers{0};

namespace {

using Lock = std::lock_guard<std::mutex>;

struct Running {
  std::mutex mutex;
  Ref<Profiler> profiler;
};

Running& running() {
  static Running& r = *new Running;
  return r;
}

Ref<Profiler> running_profiler() {
  Running& r = running();
  const Lock lock(r.mutex);
  return r.profiler;
}

// A range's number: which profiler it belongs to, and its place there.
constexpr int kPlaceBits = 32;

int64_t allocated_on(Device device) {
  return device == kCpu ? cpu_memory_stats().allocated : device_memory(device).allocated;
}

void append_list(std::string& text, const dt_view& view) {
  text += '[';
  for (int d = 0; d < view.ndim; ++d) {
    if (d) text += ", ";
    text += std::to_string(view.sizes[d]);
  }
  text += ']';
}

std::string shapes_of(Span<const struct dt_view> inputs) {
  std::string text = "[";
  for (const dt_view& view : inputs) {
    if (&view != inputs.begin()) text += ", ";
    append_list(text, view);
  }
  return text + "]";
}

// What the plugin tells tools by.
const dt_tool& tool() {
  std::string reason = "the CUDA plugin was built without them";
  const Accelerator* a = find_accelerator(&reason);
  DT_CHECK(a && a->tool, kRuntimeError,
           "NVTX functions not installed. Are you sure you have a CUDA build? (", reason, ")");
  return *a->tool;
}

// A mark in the stream that kernels go to; none while a graph is captured, which would keep it.
Ref<Event> mark(Device device) {
  if (context().graph) return {};
  Ref<Event> event = Event::create(device, true);
  event->record(nullptr);
  return event;
}

}  // namespace

// A child process is not profiled. Nobody holds a lock while it comes into being.
struct AtFork {
  static void prepare() {
    running().mutex.lock();
    if (running().profiler) running().profiler->mutex_.lock();
  }
  static void go_on() {
    if (running().profiler) running().profiler->mutex_.unlock();
    running().mutex.unlock();
  }
  static void begin_child() {
    activity_watchers = 0;
    if (running().profiler) running().profiler->running_ = false;
    go_on();
    running().profiler = {};
  }
  static void watch() {
    static const int watches = pthread_atfork(prepare, go_on, begin_child);
    (void)watches;
  }
};

Ref<Profiler> Profiler::start(const ProfilerSettings& settings) {
  DT_CHECK(settings.max_activities > 0 && settings.max_activities < int64_t{1} << (kPlaceBits - 1),
           kValueError, "max_activities must be positive and below 2^31, got ",
           settings.max_activities);
  AtFork::watch();
  static std::atomic<int64_t> profilers_seen{0};
  Running& r = running();
  const Lock lock(r.mutex);
  // One that nobody can stop any more has ended.
  DT_CHECK(!r.profiler || r.profiler->use_count() == 1, kRuntimeError,
           "Profiler is already enabled: one runs at a time");
  Ref<Profiler> profiler = Ref<Profiler>::adopt(new Profiler);
  profiler->settings_ = settings;
  profiler->serial_ = ++profilers_seen;
  if (settings.device_times)
    profiler->device_started_ = mark({DeviceType::kCuda, context().cuda_device});
  profiler->charged_.push_back(allocated_on(kCpu));
  profiler->started_ = Clock::now();
  r.profiler = profiler;
  activity_watchers |= kProfilerWatches;
  return profiler;
}

void Profiler::stop() {
  {
    Running& r = running();
    const Lock lock(r.mutex);
    if (r.profiler.get() != this) return;
    activity_watchers &= ~kProfilerWatches;
    r.profiler = {};
  }
  const Lock lock(mutex_);
  running_ = false;
  sum_up();
}

const std::vector<Activity>& Profiler::activities() const {
  const Lock lock(mutex_);
  DT_CHECK(!running_, kRuntimeError, "the profiler runs: stop it first");
  return activities_;
}

size_t Profiler::this_thread_number() {
  // pthread_self is given again to a thread that starts after another has ended.
  static std::atomic<uint64_t> threads_seen{0};
  static thread_local const uint64_t id = ++threads_seen;
  size_t i = 0;
  while (i < threads_.size() && threads_[i].id != id) ++i;
  if (i == threads_.size()) threads_.push_back({id, -1});
  return i;
}

int64_t Profiler::begin(ActivityKind kind, const char* name) {
  if (static_cast<int64_t>(activities_.size()) >= settings_.max_activities) {
    ++left_out_;
    return -1;
  }
  const size_t thread = this_thread_number();
  Activity a;
  a.name = name;
  a.kind = kind;
  a.thread = static_cast<int64_t>(thread);
  a.parent = threads_[thread].innermost;
  a.start = now();
  a.end = -1;
  activities_.push_back(std::move(a));
  const auto number = static_cast<int64_t>(activities_.size()) - 1;
  if (kind != ActivityKind::kOp) threads_[thread].innermost = number;
  return number;
}

void Profiler::end(int64_t activity) {
  Activity& a = activities_[static_cast<size_t>(activity)];
  if (a.end >= 0) return;  // with a range around it
  a.end = now();
  threads_[static_cast<size_t>(a.thread)].innermost = a.parent;
}

void Profiler::end_range(int64_t activity) {
  if (activity < 0 || activity >= static_cast<int64_t>(activities_.size())) return;
  const Activity& a = activities_[static_cast<size_t>(activity)];
  if (a.kind != ActivityKind::kRange || a.end >= 0) return;
  Thread& thread = threads_[static_cast<size_t>(a.thread)];  // it may be another's
  while (thread.innermost > activity) end(thread.innermost);
  end(activity);
}

void Profiler::charge(Activity& a) {
  const auto device = static_cast<size_t>(a.device == kCpu ? 0 : 1 + a.device.index);
  if (device >= charged_.size()) charged_.resize(device + 1, -1);
  a.allocated = allocated_on(a.device);
  if (charged_[device] >= 0) a.memory = a.self_memory = a.allocated - charged_[device];
  charged_[device] = a.allocated;
}

// What is inside comes behind what is around.
void Profiler::sum_up() {
  const int64_t end = now();
  for (size_t i = activities_.size(); i-- > 0;) {
    Activity& a = activities_[i];
    if (a.end < 0) a.end = end;
    a.self_ns += a.ns();
    if (a.device_end) {
      a.device_end->synchronize();
      a.self_device_us = 1000 * a.device_start->elapsed(*a.device_end);
      a.device_us += a.self_device_us;
      // Events of two devices cannot be compared: others' are shown where they were sent.
      a.device_start_us = device_started_ && a.device == device_started_->device()
                              ? 1000 * device_started_->elapsed(*a.device_start)
                              : double(a.start) / 1000;
    }
    if (a.parent < 0) continue;
    Activity& parent = activities_[static_cast<size_t>(a.parent)];
    parent.self_ns -= a.ns();
    parent.memory += a.memory;
    parent.device_us += a.device_us;
  }
}

void profiler_emit_nvtx(bool enabled) {
  if (!enabled) {
    activity_watchers &= ~kToolWatches;
    return;
  }
  tool();  // there is a GPU
  activity_watchers |= kToolWatches;
}

int64_t profiler_nvtx_push(const std::string& name) {
  return tool().range_push(name.c_str());
}
int64_t profiler_nvtx_pop() {
  return tool().range_pop();
}
int64_t profiler_nvtx_start(const std::string& name) {
  return static_cast<int64_t>(tool().range_start(name.c_str()));
}
void profiler_nvtx_end(int64_t range) {
  tool().range_end(static_cast<uint64_t>(range));
}
void profiler_nvtx_mark(const std::string& name) {
  tool().mark(name.c_str());
}

int64_t profiler_range_begin(const std::string& name) {
  const Ref<Profiler> p = is_watched_by(kProfilerWatches) ? running_profiler() : Ref<Profiler>();
  if (!p) return 0;
  const Lock lock(p->mutex_);
  const int64_t place = p->running_ ? p->begin(ActivityKind::kRange, name.c_str()) : -1;
  return place < 0 ? 0 : p->serial_ << kPlaceBits | place;
}

void profiler_range_end(int64_t range) {
  const Ref<Profiler> p = is_watched_by(kProfilerWatches) ? running_profiler() : Ref<Profiler>();
  if (!p || range >> kPlaceBits != p->serial_) return;
  const Lock lock(p->mutex_);
  if (p->running_) p->end_range(range & ((int64_t{1} << kPlaceBits) - 1));
}

struct ActivityScope::Open {
  Ref<Profiler> profiler;
  int64_t activity = -1;  // an op's when its kernel has run
  int64_t start = 0;
  Ref<Event> device_start;
};

void ActivityScope::begin(ActivityKind kind, const char* name) {
  record(kind, name);
  if (!is_watched_by(kToolWatches)) return;
  tool().range_push(name);  // last: what throws before it leaves no range open
  pushed_ = true;
}

void ActivityScope::record(ActivityKind kind, const char* name) {
  const Ref<Profiler> p = running_profiler();
  if (!p) return;
  auto open = std::make_unique<Open>();
  open->profiler = p;
  const Lock lock(p->mutex_);
  if (!p->running_) return;
  open->start = p->now();
  if (kind != ActivityKind::kOp) open->activity = p->begin(kind, name);
  open_ = open.release();
}

void ActivityScope::starts(Device device) {
  if (open_ && open_->profiler->settings_.device_times && device != kCpu)
    open_->device_start = mark(device);
}

void ActivityScope::ends(const char* name, Span<const struct dt_view> inputs, Device device,
                         bool succeeded) {
  if (!open_) return;
  if (!succeeded) {
    delete std::exchange(open_, nullptr);
    return;
  }
  Profiler& p = *open_->profiler;
  Ref<Event> device_end = open_->device_start ? mark(device) : Ref<Event>();
  std::string shapes = p.settings_.record_shapes ? shapes_of(inputs) : "";
  const Lock lock(p.mutex_);
  if (!p.running_) return;
  const int64_t end = p.now();
  open_->activity = p.begin(ActivityKind::kOp, name);
  if (open_->activity < 0) return;
  Activity& a = p.activities_.back();
  a.start = open_->start;
  a.end = end;
  a.device = device;
  a.shapes = std::move(shapes);
  a.device_start = std::move(open_->device_start);
  a.device_end = std::move(device_end);
}

// An activity that there was no memory for is left out.
void ActivityScope::finish() noexcept {
  if (pushed_) tool().range_pop();
  if (open_ == nullptr) return;
  const std::unique_ptr<Open> open(open_);
  try {
    if (open->activity < 0) return;
    Profiler& p = *open->profiler;
    const Lock lock(p.mutex_);
    Activity& a = p.activities_[static_cast<size_t>(open->activity)];
    if (!p.running_) return;
    if (a.kind != ActivityKind::kOp) return p.end(open->activity);
    if (p.settings_.profile_memory) p.charge(a);
  } catch (...) {
  }
}

}  // namespace dt
