#include "core/runtime/activity.h"

#include <utility>

#include "core/runtime/accelerator.h"
#include "core/runtime/allocator.h"
#include "core/runtime/context.h"
#include "core/runtime/counter.h"
#include "core/runtime/profiler.h"
#include "core/runtime/thread.h"

namespace dt {

std::atomic<int32_t> activity_watchers{0};

namespace {

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
  text.reserve(64);
  for (const dt_view& view : inputs) {
    if (&view != inputs.begin()) text += ", ";
    append_list(text, view);
  }
  return text + "]";
}

}  // namespace

int64_t allocated_on(Device device) noexcept {
  try {
    return device == kCpu ? cpu_memory_stats().allocated : device_memory(device).allocated;
  } catch (const std::exception&) {
    return -1;
  }
}

Ref<Event> mark(Device device) {
  if (context().graph) return {};
  Ref<Event> event = Event::create(device, true);
  event->record(nullptr);
  return event;
}

void ActivityNote::begin(ActivityKind of_kind, const char* of_name, int64_t at) {
  name = of_name;
  kind = of_kind;
  until.store(0, std::memory_order_relaxed);
  start = at;
  device = kCpu;
  allocated = -1;
}

ActivityNotes::ActivityNotes(int64_t profiler, int32_t thread, int32_t before, int32_t room)
    : profiler(profiler),
      thread(thread),
      before(before),
      notes_(new ActivityNote[room]),
      room_(room) {}

int32_t ActivityNotes::close() {
  const int32_t count = count_.load(std::memory_order_acquire);
  return room_.exchange(count) - count;
}

ActivityNotes* notes_with_room(int64_t start) noexcept {
  ActivityNotes* const notes = this_thread.notes;
  return notes && notes->has_room() ? notes : Profiler::more_notes(start);
}

void end_thread_notes() noexcept {
  const auto notes = Ref<ActivityNotes>::adopt(std::exchange(this_thread.notes, nullptr));
  if (notes) Profiler::take_room_back(*notes);
}

WatchedActivity::WatchedActivity(ActivityKind kind, const char* name, bool name_lasts)
    : watchers_(activity_watchers.load(std::memory_order_acquire)),
      is_op_(kind == ActivityKind::kOp),
      start_(read_counter()) {
  if (!is_op_ && is_watched_by(kProfilerWatches)) begin_node(name, name_lasts);
  if (is_watched_by(kToolWatches)) tool().range_push(name);
}

WatchedActivity::~WatchedActivity() {
  if (is_watched_by(kToolWatches)) tool().range_pop();
  if (!note_) return;
  ActivityNotes& latest = *this_thread.notes;
  if (is_op_) {
    note_->allocated = allocated_on(note_->device);
    latest.add();
  } else {
    note_->finish(read_counter(), latest.count_so_far());
  }
}

ActivityDetails& WatchedActivity::details() {
  if (!details_) details_ = std::make_unique<ActivityDetails>();
  return *details_;
}

void WatchedActivity::begin_node(const char* name, bool name_lasts) noexcept {
  try {
    ActivityNotes* const notes = notes_with_room(start_);
    if (!notes) return;
    if (!name_lasts) name = (details().name = name).c_str();
    note_ = notes->next();
    note_->begin(ActivityKind::kNode, name, start_);
    note_->details = std::move(details_);
    notes->add();
    notes_ = Ref<ActivityNotes>::share(notes);
  } catch (const std::exception&) {
    Profiler::leave_out();
  }
}

void WatchedActivity::starts(Device device) {
  if (device != kCpu && is_watched_by(kDeviceTimesWatched)) details().device_start = mark(device);
}

void WatchedActivity::ends(const char* name, Span<const struct dt_view> inputs,
                           Device device) noexcept {
  if (!is_watched_by(kProfilerWatches)) return;
  try {
    if (details_) details_->device_end = mark(device);
    const int64_t end = read_counter();
    ActivityNotes* const notes = notes_with_room(start_);
    if (!notes) return;
    if (is_watched_by(kShapesWatched)) details().shapes = shapes_of(inputs);
    ActivityNote* const note = notes->next();
    note->begin(ActivityKind::kOp, name, start_);
    note->finish(end, notes->count_so_far() + 1);
    note->device = device;
    note->details = std::move(details_);
    if (is_watched_by(kMemoryWatched)) {
      note_ = note;  // which counts when the workspace has been given back
    } else {
      notes->add();
    }
  } catch (const std::exception&) {
    Profiler::leave_out();
  }
}

}  // namespace dt
