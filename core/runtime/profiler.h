// Profiling: which ops run, for how long and with how much memory. While a profiler is on, it
// collects an activity for each kernel, each node of a backward and each range that a program
// names. `run` (backend.cpp) and the engine report them; nobody else does.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "core/base/device.h"
#include "core/base/ref.h"
#include "core/base/span.h"
#include "core/runtime/stream.h"
#include "kernels/abi.h"

namespace dt {

enum class ActivityKind : int32_t { kOp = 0, kNode = 1, kRange = 2 };

struct Activity {
  std::string name, shapes;  // shapes of the inputs: "[[2, 3], [3]]"
  ActivityKind kind;
  int64_t thread;      // 0, 1, ... as they appeared
  int64_t parent;      // the innermost activity around it on its thread, or -1
  int64_t start, end;  // nanoseconds since the profiler started; end is -1 while it lasts
  Device device = kCpu;
  int64_t allocated = 0;                // bytes in use on the device afterwards
  Ref<Event> device_start, device_end;  // around a kernel of a GPU, for its own times

  // With what is in it, and without.
  int64_t self_ns = 0, memory = 0, self_memory = 0;
  double device_us = 0, self_device_us = 0, device_start_us = 0;

  int64_t ns() const { return end - start; }
};

struct ProfilerSettings {
  bool record_shapes, profile_memory;
  bool device_times;  // events around each kernel of a GPU
  int64_t max_activities;
};

class Profiler : public RefCounted {
 public:
  // Throws if there is one already.
  static Ref<Profiler> start(const ProfilerSettings& settings);
  static void destroy(Profiler* p) { delete p; }
  void stop();  // a second time does nothing

  // Those of a thread in the order in which they began. Throws while the profiler runs.
  const std::vector<Activity>& activities() const;
  const ProfilerSettings& settings() const { return settings_; }
  // Activities that there was no room for.
  int64_t left_out() const { return left_out_; }

 private:
  friend class ActivityScope;
  friend int64_t profiler_range_begin(const std::string& name);
  friend void profiler_range_end(int64_t range);
  friend struct AtFork;
  struct Thread {
    uint64_t id;
    int64_t innermost;  // what lasts; -1: nothing
  };
  // What is known of an activity while the profiler runs. There are many, and they are made where
  // time counts: so they are small, and activities are made of them afterwards.
  struct Note {
    const char *name, *shapes;
    int64_t start, end, parent;  // as an activity's
    int32_t thread;
    ActivityKind kind;
    Device device;
    int64_t allocated, memory;
  };
  struct DeviceTime {
    int64_t place;
    Ref<Event> start, end;
  };
  using Clock = std::chrono::steady_clock;

  // The number of what begins, by which it ends: it says of which profiler it is. 0: none runs, or
  // there is no room for it.
  static int64_t begin_in_running(ActivityKind kind, const char* name);
  // f(profiler, place) for what is of this number and of the profiler that runs.
  template <class F>
  static void in_running(int64_t number, F f);

  int64_t time_of(Clock::time_point t) const {
    return (t - started_) / std::chrono::nanoseconds(1);
  }
  size_t this_thread_number();
  // Whether there is room for another activity, which is left out otherwise. Asked before anything
  // is kept of it.
  bool has_room();
  // A copy of a text that lasts as long as the profiler.
  const char* keep(std::string_view text);
  // The activity's place. Its name must last.
  int64_t begin(ActivityKind kind, const char* name, Clock::time_point start);
  int64_t number_of(int64_t place) const;
  void end(int64_t place);
  // With what lasts within it.
  void end_range(int64_t place);
  // Memory changes between ops too, where results are made and temporaries go: an op is charged
  // with what changed since the one before it.
  void charge(Note& a);
  void make_activities();
  void sum_up();

  ProfilerSettings settings_;
  int64_t serial_ = 0;  // of the process's profilers: 1, 2, ...
  int64_t left_out_ = 0;
  Clock::time_point started_;
  Ref<Event> device_started_;
  bool has_ended_ = false;
  std::vector<Thread> threads_;
  std::vector<int64_t> charged_;  // bytes in use after the last op, by device; -1: there was none
  std::deque<Note> notes_;        // which does not move them as it grows
  std::vector<DeviceTime> device_times_;
  std::deque<std::string> texts_;
  std::unordered_set<std::string_view> kept_;  // the texts, to be found
  std::vector<Activity> activities_;           // once it has ended
};

// Who is told of activities: bits of `activity_watchers`.
constexpr int32_t kProfilerWatches = 1, kToolWatches = 2;
extern std::atomic<int32_t> activity_watchers __attribute__((visibility("hidden")));
inline bool is_watched_by(int32_t watchers) {
  return (activity_watchers.load(std::memory_order_relaxed) & watchers) != 0;
}

// Tells a tool that watches the process, such as Nsight Systems, of each activity, by NVTX. Throws
// where there is no GPU.
void profiler_emit_nvtx(bool enabled);
// Ranges and marks of the program's for such a tool: PyTorch's torch.cuda.nvtx.
int64_t profiler_nvtx_push(const std::string& name);
int64_t profiler_nvtx_pop();
int64_t profiler_nvtx_start(const std::string& name);
void profiler_nvtx_end(int64_t range);
void profiler_nvtx_mark(const std::string& name);

// A range of the program's, on this thread: its number, 0 where no profiler runs.
int64_t profiler_range_begin(const std::string& name);
void profiler_range_end(int64_t range);

// An activity from here to the end of the block, if somebody watches.
class ActivityScope {
 public:
  ActivityScope(ActivityKind kind, const char* name) {
    if (__builtin_expect(is_watched_by(~0), 0)) begin(kind, name);
  }
  ~ActivityScope() {
    if (__builtin_expect(is_open_ || pushed_, 0)) finish();
  }
  ActivityScope(const ActivityScope&) = delete;

  bool is_open() const { return is_open_; }
  // Around an op's kernel. Nothing is kept of one that declined or failed. One that has run must
  // not become an error: what there is no memory for, or no event, is left out.
  void starts(Device device);
  void ends(const char* name, Span<const struct dt_view> inputs, Device device,
            bool succeeded) noexcept;

 private:
  void begin(ActivityKind kind, const char* name);
  void note(const char* name, Span<const struct dt_view> inputs, Device device);
  void finish() noexcept;

  bool is_open_ = false;  // for a profiler
  bool pushed_ = false;   // as a range of a tool's
  // An op is noted when its kernel has run; what else is told when it ends has a number.
  Profiler::Clock::time_point start_;
  int64_t number_;
  Ref<Event> device_start_;
};

}  // namespace dt
