#include "core/runtime/profiler.h"

#include <pthread.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "core/base/error.h"
#include "core/runtime/accelerator.h"
#include "core/runtime/context.h"
#include "core/runtime/thread.h"

namespace dt {
namespace {

using Lock = std::lock_guard<std::mutex>;

// All that is in the profiler that runs is used under this lock, but for what threads note.
struct Running {
  std::mutex mutex;
  Ref<Profiler> profiler;
  int64_t profilers = 0, ranges = 0;  // that there have been
};

Running& running() {
  static Running& r = *new Running;
  return r;
}

// A thread may have one op to note, or a million.
constexpr int64_t kFirstRoom = 16, kRoom = 256;

bool is_one_running() {
  return (activity_watchers.load(std::memory_order_relaxed) & kProfilerWatches) != 0;
}

}  // namespace

// A child process is not profiled. Nobody holds a lock while it comes into being.
struct AtFork {
  static void prepare() { running().mutex.lock(); }
  static void go_on() { running().mutex.unlock(); }
  static void begin_child() {
    activity_watchers = 0;
    Running& r = running();
    if (r.profiler) {
      r.profiler->close();
      r.profiler->has_ended_ = true;
    }
    r.profiler = {};
    go_on();
  }
  static void watch() {
    static const int watches = pthread_atfork(prepare, go_on, begin_child);
    (void)watches;
  }
};

Ref<Profiler> Profiler::start(const ProfilerSettings& settings) {
  DT_CHECK(settings.max_activities > 0 && settings.max_activities <= INT32_MAX, kValueError,
           "max_activities must be positive and below 2^31, got ", settings.max_activities);
  AtFork::watch();
  Running& r = running();
  const Lock lock(r.mutex);
  // One that nobody can stop any more has ended.
  DT_CHECK(!r.profiler || r.profiler->use_count() == 1, kRuntimeError,
           "Profiler is already enabled: one runs at a time");
  Ref<Profiler> profiler = Ref<Profiler>::adopt(new Profiler);
  profiler->settings_ = settings;
  profiler->number_ = ++r.profilers;
  profiler->room_ = settings.max_activities;
  if (settings.device_times)
    profiler->device_started_ = mark({DeviceType::kCuda, context().cuda_device});
  profiler->allocated_before_ = allocated_on(kCpu);
  profiler->started_ = Moment::now();
  if (r.profiler) r.profiler->close();
  r.profiler = profiler;
  activity_watchers |= kProfilerWatches | (settings.record_shapes ? kShapesWatched : 0) |
                       (settings.profile_memory ? kMemoryWatched : 0) |
                       (settings.device_times ? kDeviceTimesWatched : 0);
  return profiler;
}

void Profiler::stop() {
  Running& r = running();
  const Lock lock(r.mutex);
  if (has_ended_) return;
  if (r.profiler.get() == this) {
    close();
    r.profiler = {};
  }
  make_activities();
  charge();
  sum_up();
  has_ended_ = true;  // only now: what fails can be tried again
  threads_ = {};
  open_ranges_ = {};
}

const std::vector<Activity>& Profiler::activities() const {
  const Lock lock(running().mutex);
  DT_CHECK(has_ended_, kRuntimeError, "the profiler runs: stop it first");
  return activities_;
}

// ---- while it runs

// Who has room asks nobody.
void Profiler::close() {
  activity_watchers &= kToolWatches;
  for (const std::vector<Ref<ActivityNotes>>& thread : threads_) thread.back()->close();
}

ActivityNotes* Profiler::more_notes(int64_t start) noexcept {
  Running& r = running();
  const Lock lock(r.mutex);
  Profiler* const p = r.profiler.get();
  if (!p || start < p->started_.count) return nullptr;
  try {
    if (ActivityNotes* const notes = p->add_notes()) return notes;
  } catch (const std::bad_alloc&) {
  }
  ++p->left_out_;
  return nullptr;
}

ActivityNotes* Profiler::add_notes() {
  if (room_ == 0) return nullptr;
  const ActivityNotes* const latest = this_thread.notes;
  const bool is_first = !latest || latest->profiler != number_;
  if (is_first) watch_thread();
  const auto thread = is_first ? static_cast<int32_t>(threads_.size()) : latest->thread;
  const int64_t room = std::min(is_first ? kFirstRoom : kRoom, room_);
  auto notes = Ref<ActivityNotes>::adopt(new ActivityNotes(
      number_, thread, is_first ? 0 : latest->count_so_far(), static_cast<int32_t>(room)));
  if (is_first) {
    threads_.push_back({notes});
  } else {
    threads_[static_cast<size_t>(thread)].push_back(notes);
  }
  room_ -= room;
  const auto dropped = Ref<ActivityNotes>::adopt(std::exchange(this_thread.notes, notes.detach()));
  return this_thread.notes;
}

void Profiler::take_room_back(ActivityNotes& notes) noexcept {
  Running& r = running();
  const Lock lock(r.mutex);
  Profiler* const p = r.profiler.get();
  if (p && p->number_ == notes.profiler) p->room_ += notes.close();
}

void Profiler::leave_out() noexcept {
  Running& r = running();
  const Lock lock(r.mutex);
  if (r.profiler) ++r.profiler->left_out_;
}

int64_t profiler_range_begin(const std::string& name) {
  if (!is_one_running()) return 0;
  const int64_t start = read_counter();
  ActivityNotes* const notes = notes_with_room(start);
  if (!notes) return 0;
  auto details = std::make_unique<ActivityDetails>();
  details->name = name;
  Running& r = running();
  const Lock lock(r.mutex);
  Profiler* const p = r.profiler.get();
  if (!p || p->number_ != notes->profiler) return 0;
  ActivityNote* const note = notes->next();
  p->open_ranges_[r.ranges + 1] = {notes->thread, note};
  note->begin(ActivityKind::kRange, details->name.c_str(), start);
  note->details = std::move(details);
  notes->add();
  return ++r.ranges;
}

// The range may be another thread's.
void profiler_range_end(int64_t range) {
  if (!is_one_running()) return;
  const int64_t end = read_counter();
  Running& r = running();
  const Lock lock(r.mutex);
  Profiler* const p = r.profiler.get();
  if (!p) return;
  const auto found = p->open_ranges_.find(range);
  if (found == p->open_ranges_.end()) return;
  const auto [thread, note] = found->second;
  note->finish(end, p->threads_[static_cast<size_t>(thread)].back()->count_so_far());
  p->open_ranges_.erase(found);
}

// ---- what comes of the notes

// All activities in the order in which they began. That of a thread is kept, whatever its clock
// said.
std::vector<Profiler::Begun> Profiler::begun() const {
  std::vector<Begun> all;
  for (size_t t = 0; t < threads_.size(); ++t) {
    int64_t start = started_.count;
    for (const Ref<ActivityNotes>& notes : threads_[t]) {
      for (const ActivityNote& note : notes->all())
        all.push_back({start = std::max(start, note.start), static_cast<int32_t>(t), &note});
    }
  }
  if (threads_.size() > 1)
    std::stable_sort(all.begin(), all.end(),
                     [](const Begun& a, const Begun& b) { return a.start < b.start; });
  return all;
}

void Profiler::make_activities() {
  struct Open {
    int64_t place;  // among all activities
    int32_t until;  // as a note's
    int64_t end;
  };
  struct Around {
    std::vector<Open> open;
    int32_t count = 0;
  };
  const std::vector<Begun> all = begun();
  const Moment stopped = Moment::now();  // threads may have gone on until here
  const CounterScale scale(started_, stopped);
  std::vector<Around> threads(threads_.size(), {{{-1, INT32_MAX, INT64_MAX}}});
  activities_.clear();
  activities_.reserve(all.size());
  for (const auto [start, thread, note] : all) {
    Around& around = threads[static_cast<size_t>(thread)];
    // Another thread that ends a range reads the counter and the number of notes one after the
    // other: what began in between is not in it.
    while (around.open.back().until <= around.count || around.open.back().end < start)
      around.open.pop_back();
    ++around.count;
    // What lasts ends with what it is in.
    const Open& parent = around.open.back();
    const int32_t noted = note->until.load(std::memory_order_acquire);
    int32_t until = parent.until;
    int64_t end = std::min(parent.end, stopped.count);
    if (noted != 0 && noted <= until) {
      until = noted;
      end = std::min(end, note->end.load(std::memory_order_relaxed));
    }
    end = std::max(start, end);
    Activity& a = activities_.emplace_back();
    a.name = note->name;
    a.kind = note->kind;
    a.thread = thread;
    a.parent = parent.place;
    a.start = scale.ns(start);
    a.end = scale.ns(end);
    a.device = note->device;
    a.allocated = note->allocated;
    if (note->details) {
      a.shapes = note->details->shapes;
      a.device_start = note->details->device_start;
      a.device_end = note->details->device_end;
    }
    around.open.push_back({static_cast<int64_t>(activities_.size()) - 1, until, end});
  }
}

// Memory changes between ops too, where results are made and temporaries go: an op is charged with
// what changed since the one before it.
void Profiler::charge() {
  std::vector<Activity*> ops;
  for (Activity& a : activities_) {
    if (a.allocated >= 0) {
      ops.push_back(&a);
    } else {
      a.allocated = 0;
    }
  }
  std::stable_sort(ops.begin(), ops.end(),
                   [](const Activity* a, const Activity* b) { return a->end < b->end; });
  std::map<int32_t, int64_t> in_use = {{-1, allocated_before_}};  // by the GPU; -1: the CPU
  for (Activity* a : ops) {
    const int32_t gpu = a->device == kCpu ? -1 : a->device.index;
    int64_t& before = in_use.try_emplace(gpu, a->allocated).first->second;
    a->memory = a->self_memory = a->allocated - std::exchange(before, a->allocated);
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

// ---- tools

const dt_tool& tool() {
  std::string reason = "the CUDA plugin was built without them";
  const Accelerator* a = find_accelerator(&reason);
  DT_CHECK(a && a->tool, kRuntimeError,
           "NVTX functions not installed. Are you sure you have a CUDA build? (", reason, ")");
  return *a->tool;
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

}  // namespace dt
