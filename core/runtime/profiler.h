// Profiling: which ops run, for how long and with how much memory. While a profiler is on, threads
// note each kernel, each node of a backward (activity.h) and each range that a program names; when
// it stops, activities are made of the notes.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "core/base/device.h"
#include "core/base/ref.h"
#include "core/runtime/activity.h"
#include "core/runtime/counter.h"
#include "core/runtime/stream.h"
#include "kernels/tool.h"

namespace dt {

struct Activity {
  std::string name, shapes;  // shapes of the inputs: "[[2, 3], [3]]"
  ActivityKind kind;
  int64_t thread;      // 0, 1, ... as they appeared
  int64_t parent;      // the innermost activity around it on its thread, or -1
  int64_t start, end;  // nanoseconds since the profiler started
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

  // For threads whose notes have no room: others of theirs. Null: none runs since then, or what
  // began then is left out.
  static ActivityNotes* more_notes(int64_t start) noexcept;
  static void take_room_back(ActivityNotes& notes) noexcept;
  // Counts an activity that there was no memory for.
  static void leave_out() noexcept;

 private:
  friend int64_t profiler_range_begin(const std::string& name);
  friend void profiler_range_end(int64_t range);
  friend struct AtFork;
  struct Range {
    int32_t thread;
    ActivityNote* note;
  };
  struct Begun {
    int64_t start;
    int32_t thread;
    const ActivityNote* note;
  };

  ActivityNotes* add_notes();
  void close();
  std::vector<Begun> begun() const;
  void make_activities();
  void charge();
  void sum_up();

  ProfilerSettings settings_;
  int64_t number_ = 0;  // of the process's profilers: 1, 2, ...
  int64_t room_ = 0;    // for so many activities, and what threads have room for
  int64_t left_out_ = 0;
  Moment started_ = {};
  Ref<Event> device_started_;
  int64_t allocated_before_ = 0;  // on the CPU
  bool has_ended_ = false;
  std::vector<std::vector<Ref<ActivityNotes>>> threads_;
  std::unordered_map<int64_t, Range> open_ranges_;
  std::vector<Activity> activities_;  // once it has ended
};

// What the plugin tells tools by. Throws where there is no GPU.
const dt_tool& tool();
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

}  // namespace dt
