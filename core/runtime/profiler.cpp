#include "core/runtime/profiler.h"

#include <pthread.h>

#include <mutex>
#include <utility>

#include "core/base/error.h"
#include "core/runtime/accelerator.h"
#include "core/runtime/allocator.h"
#include "core/runtime/context.h"

namespace dt {

std::atomic<int32_t> activity_watchers{0};

namespace {

using Lock = std::lock_guard<std::mutex>;

// The profiler that runs. All that is in it is used under this lock, one for all threads: what is
// done there is short.
struct Running {
  std::mutex mutex;
  Ref<Profiler> profiler;
};

Running& running() {
  static Running& r = *new Running;
  return r;
}

// A number has a profiler's in front of the place there.
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
  static void prepare() { running().mutex.lock(); }
  static void go_on() { running().mutex.unlock(); }
  static void begin_child() {
    activity_watchers = 0;
    if (running().profiler) running().profiler->has_ended_ = true;
    running().profiler = {};
    go_on();
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
  Running& r = running();
  const Lock lock(r.mutex);
  if (has_ended_) return;
  if (r.profiler.get() == this) {
    activity_watchers &= ~kProfilerWatches;
    r.profiler = {};
  }
  make_activities();
  sum_up();
  has_ended_ = true;  // only now: what fails can be tried again
  notes_ = {};
  device_times_ = {};
}

const std::vector<Activity>& Profiler::activities() const {
  const Lock lock(running().mutex);
  DT_CHECK(has_ended_, kRuntimeError, "the profiler runs: stop it first");
  return activities_;
}

int64_t Profiler::begin_in_running(ActivityKind kind, const char* name) {
  const Clock::time_point start = Clock::now();
  Running& r = running();
  const Lock lock(r.mutex);
  Profiler* const p = r.profiler.get();
  if (!p || start < p->started_ || !p->has_room()) return 0;
  return p->number_of(p->begin(kind, p->keep(name), start));
}

template <class F>
void Profiler::in_running(int64_t number, F f) {
  Running& r = running();
  const Lock lock(r.mutex);
  Profiler* const p = r.profiler.get();
  if (p && number >> kPlaceBits == p->serial_) f(*p, number & ((int64_t{1} << kPlaceBits) - 1));
}

int64_t Profiler::number_of(int64_t place) const {
  return serial_ << kPlaceBits | place;
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

const char* Profiler::keep(std::string_view text) {
  const auto found = kept_.find(text);
  if (found != kept_.end()) return found->data();
  const std::string& own = texts_.emplace_back(text);
  kept_.insert(own);
  return own.c_str();
}

bool Profiler::has_room() {
  const bool is_full = static_cast<int64_t>(notes_.size()) >= settings_.max_activities;
  left_out_ += is_full;
  return !is_full;
}

int64_t Profiler::begin(ActivityKind kind, const char* name, Clock::time_point start) {
  const size_t number = this_thread_number();
  Thread& thread = threads_[number];
  const auto place = static_cast<int64_t>(notes_.size());
  notes_.push_back({name, "", time_of(start), -1, thread.innermost, static_cast<int32_t>(number),
                    kind, kCpu, 0, 0});
  if (kind != ActivityKind::kOp) thread.innermost = place;
  return place;
}

void Profiler::end(int64_t place) {
  Note& a = notes_[static_cast<size_t>(place)];
  if (a.end >= 0) return;  // with a range around it
  a.end = time_of(Clock::now());
  threads_[static_cast<size_t>(a.thread)].innermost = a.parent;
}

void Profiler::end_range(int64_t place) {
  if (place >= static_cast<int64_t>(notes_.size())) return;
  const Note& a = notes_[static_cast<size_t>(place)];
  if (a.kind != ActivityKind::kRange || a.end >= 0) return;
  Thread& thread = threads_[static_cast<size_t>(a.thread)];  // it may be another's
  while (thread.innermost > place) end(thread.innermost);
  end(place);
}

void Profiler::charge(Note& a) {
  const auto device = static_cast<size_t>(a.device == kCpu ? 0 : 1 + a.device.index);
  if (device >= charged_.size()) charged_.resize(device + 1, -1);
  a.allocated = allocated_on(a.device);
  if (charged_[device] >= 0) a.memory = a.allocated - charged_[device];
  charged_[device] = a.allocated;
}

void Profiler::make_activities() {
  const int64_t end = time_of(Clock::now());
  activities_.assign(notes_.size(), Activity());
  for (size_t i = 0; i < notes_.size(); ++i) {
    const Note& note = notes_[i];
    Activity& a = activities_[i];
    a.name = note.name;
    a.shapes = note.shapes;
    a.kind = note.kind;
    a.thread = note.thread;
    a.parent = note.parent;
    a.start = note.start;
    a.end = note.end < 0 ? end : note.end;
    a.device = note.device;
    a.allocated = note.allocated;
    a.memory = a.self_memory = note.memory;
  }
  for (const DeviceTime& t : device_times_) {
    Activity& a = activities_[static_cast<size_t>(t.place)];
    a.device_start = t.start;
    a.device_end = t.end;
  }
}

// What is inside comes behind what is around.
void Profiler::sum_up() {
  for (size_t i = activities_.size(); i-- > 0;) {
    Activity& a = activities_[i];
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
  if (!is_watched_by(kProfilerWatches)) return 0;
  return Profiler::begin_in_running(ActivityKind::kRange, name.c_str());
}

void profiler_range_end(int64_t range) {
  if (!is_watched_by(kProfilerWatches)) return;
  Profiler::in_running(range, [](Profiler& p, int64_t place) { p.end_range(place); });
}

void ActivityScope::begin(ActivityKind kind, const char* name) {
  is_open_ = is_watched_by(kProfilerWatches);
  const bool is_op = kind == ActivityKind::kOp;
  number_ = is_open_ && !is_op ? Profiler::begin_in_running(kind, name) : 0;
  if (is_open_ && is_op) start_ = Profiler::Clock::now();
  if (!is_watched_by(kToolWatches)) return;
  tool().range_push(name);  // last: what throws before it leaves no range open
  pushed_ = true;
}

void ActivityScope::starts(Device device) {
  if (!is_open_ || device == kCpu) return;
  Running& r = running();
  std::unique_lock<std::mutex> lock(r.mutex);
  const bool is_timed = r.profiler && r.profiler->settings_.device_times;
  lock.unlock();
  if (is_timed) device_start_ = mark(device);
}

void ActivityScope::ends(const char* name, Span<const struct dt_view> inputs, Device device,
                         bool succeeded) noexcept {
  if (!is_open_ || !succeeded) return;
  try {
    note(name, inputs, device);
  } catch (...) {
    Running& r = running();
    const Lock lock(r.mutex);
    if (r.profiler) ++r.profiler->left_out_;
  }
}

void ActivityScope::note(const char* name, Span<const struct dt_view> inputs, Device device) {
  Ref<Event> device_end = device_start_ ? mark(device) : Ref<Event>();
  const Profiler::Clock::time_point end = Profiler::Clock::now();
  Running& r = running();
  const Lock lock(r.mutex);
  Profiler* const p = r.profiler.get();
  if (!p || start_ < p->started_ || !p->has_room()) return;
  const char* const shapes = p->settings_.record_shapes ? p->keep(shapes_of(inputs)) : "";
  const int64_t place = p->begin(ActivityKind::kOp, name, start_);
  Profiler::Note& a = p->notes_.back();
  a.shapes = shapes;
  a.end = p->time_of(end);
  a.device = device;
  if (device_end)
    p->device_times_.push_back({place, std::move(device_start_), std::move(device_end)});
  if (p->settings_.profile_memory) number_ = p->number_of(place);
}

// An activity that cannot be charged with its memory is charged with none.
void ActivityScope::finish() noexcept {
  if (pushed_) tool().range_pop();
  if (number_ == 0) return;
  try {
    Profiler::in_running(number_, [](Profiler& p, int64_t place) {
      Profiler::Note& a = p.notes_[static_cast<size_t>(place)];
      if (a.kind == ActivityKind::kOp) {
        p.charge(a);
      } else {
        p.end(place);
      }
    });
  } catch (...) {
  }
}

}  // namespace dt
