// Activities: the kernels and the nodes of a backward that run. `run` (backend.cpp) and the engine
// tell of them, and nobody else does, to a profiler or to a tool such as Nsight Systems.
//
// For a profiler a thread notes what it does, without a lock: it fills in the next one of its own
// notes and then says that there is one more. The profiler reads as many as there are said to be
// when it stops. What a thread adds later, since it has not seen that yet, nobody reads.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "core/base/device.h"
#include "core/base/ref.h"
#include "core/base/span.h"
#include "core/runtime/stream.h"
#include "kernels/abi.h"

namespace dt {

enum class ActivityKind : int32_t { kOp = 0, kNode = 1, kRange = 2 };

// Who watches, and what the profiler looks at: bits of `activity_watchers`.
enum : int32_t {
  kProfilerWatches = 1,
  kShapesWatched = 2,
  kMemoryWatched = 4,
  kDeviceTimesWatched = 8,
  kToolWatches = 16,
};
extern std::atomic<int32_t> activity_watchers __attribute__((visibility("hidden")));

// Bytes in use there; -1: it does not say.
int64_t allocated_on(Device device) noexcept;
// A mark in the stream that kernels go to; none while a graph is captured, which would keep it.
Ref<Event> mark(Device device);

// What most activities do without.
struct ActivityDetails {
  std::string name;                     // one that does not last
  std::string shapes;                   // of the inputs: "[[2, 3], [3]]"
  Ref<Event> device_start, device_end;  // around a kernel of a GPU, for its own times
};

struct ActivityNote {
  const char* name;
  ActivityKind kind;
  // How many notes the thread had when it ended: between its own and there is what it contains. 0:
  // it lasts. Stored after `end`.
  std::atomic<int32_t> until;
  int64_t start;  // of read_counter
  std::atomic<int64_t> end;
  Device device;
  int64_t allocated;  // bytes in use on the device afterwards; -1: nobody looked
  std::unique_ptr<ActivityDetails> details;

  void begin(ActivityKind of_kind, const char* of_name, int64_t at);
  void finish(int64_t at, int32_t notes) {
    end.store(at, std::memory_order_relaxed);
    until.store(notes, std::memory_order_release);
  }
};

// Some notes of a thread for a profiler. Both own them, the thread only its latest.
class ActivityNotes : public RefCounted {
 public:
  ActivityNotes(int64_t profiler, int32_t thread, int32_t before, int32_t room);
  static void destroy(ActivityNotes* notes) { delete notes; }

  const int64_t profiler;  // its number
  const int32_t thread;
  const int32_t before;  // how many notes the thread has in others

  // For their thread, which fills in the next one and adds it.
  bool has_room() const {
    return count_.load(std::memory_order_relaxed) < room_.load(std::memory_order_relaxed);
  }
  ActivityNote* next() { return &notes_[count_.load(std::memory_order_relaxed)]; }
  void add() {
    count_.store(count_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

  // For all threads.
  Span<const ActivityNote> all() const {
    return {notes_.get(), count_.load(std::memory_order_acquire)};
  }
  int32_t count_so_far() const { return before + count_.load(std::memory_order_acquire); }
  // Takes what room there is.
  int32_t close();

 private:
  const std::unique_ptr<ActivityNote[]> notes_;
  std::atomic<int32_t> count_{0}, room_;
};

// This thread's notes, with room for what began then; null: no profiler runs since then, or it is
// left out.
ActivityNotes* notes_with_room(int64_t start) noexcept;
void end_thread_notes() noexcept;

// An activity while somebody watches.
class WatchedActivity {
 public:
  WatchedActivity(ActivityKind kind, const char* name, bool name_lasts);
  ~WatchedActivity();
  WatchedActivity(const WatchedActivity&) = delete;

  void starts(Device device);
  void ends(const char* name, Span<const struct dt_view> inputs, Device device) noexcept;

 private:
  bool is_watched_by(int32_t watchers) const { return (watchers_ & watchers) != 0; }
  ActivityDetails& details();
  void begin_node(const char* name, bool name_lasts) noexcept;

  const int32_t watchers_;
  const bool is_op_;
  const int64_t start_;
  ActivityNote* note_ = nullptr;  // what is to be done when the activity is over
  Ref<ActivityNotes> notes_;      // a node's note is in them
  std::unique_ptr<ActivityDetails> details_;
};

// An activity from here to the end of the block, if somebody watches.
class ActivityScope {
 public:
  ActivityScope(ActivityKind kind, const char* name, bool name_lasts = true) {
    if (__builtin_expect(activity_watchers.load(std::memory_order_relaxed) != 0, 0))
      watched_.emplace(kind, name, name_lasts);
  }

  bool is_watched() const { return watched_.has_value(); }
  // Around an op's kernel. Nothing is kept of one that declined or failed. One that has run must
  // not become an error: what there is no memory for, or no event, is left out.
  void starts(Device device) {
    if (watched_) watched_->starts(device);
  }
  void ends(const char* name, Span<const struct dt_view> inputs, Device device) noexcept {
    if (watched_) watched_->ends(name, inputs, device);
  }

 private:
  std::optional<WatchedActivity> watched_;
};

}  // namespace dt
