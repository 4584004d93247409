#include "core/io/profile.h"

#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <unordered_map>
#include <utility>

#include "core/io/file.h"
#include "core/io/json.h"

namespace dt {
namespace {

// ---- text

__attribute__((format(printf, 1, 2))) std::string format(const char* pattern, ...) {
  char buffer[256];
  va_list arguments;
  va_start(arguments, pattern);
  std::vsnprintf(buffer, sizeof buffer, pattern, arguments);
  va_end(arguments);
  return buffer;
}

// As PyTorch writes times: in the largest unit of which there is at least one.
std::string time_text(double us) {
  return us >= 1e6   ? format("%.3fs", us / 1e6)
         : us >= 1e3 ? format("%.3fms", us / 1e3)
                     : format("%.3fus", us);
}

std::string memory_text(double bytes) {
  const double size = bytes < 0 ? -bytes : bytes;
  return size >= 1 << 30   ? format("%.2f GB", bytes / (1 << 30))
         : size >= 1 << 20 ? format("%.2f MB", bytes / (1 << 20))
         : size >= 1 << 10 ? format("%.2f KB", bytes / (1 << 10))
                           : format("%.0f B", bytes);
}

std::string device_text(Device device) {
  return text(device);
}

// ---- averages

enum Number { kSelf, kTotal, kMean, kSelfDevice, kDevice, kMemory, kSelfMemory, kCount, kNumbers };

// All activities of a name, or of a name and something else. Times are microseconds.
struct ActivitySum {
  const Activity* first;
  double number[kNumbers];
};

using Activities = std::vector<Activity>;

const Activity* parent_of(const Activities& all, const Activity& a) {
  return a.parent < 0 ? nullptr : &all[static_cast<size_t>(a.parent)];
}

// Then its time is in the outer one's already.
bool is_within_its_own_kind(const Activities& all, const Activity& a) {
  const Activity* around = parent_of(all, a);
  while (around && around->name != a.name) around = parent_of(all, *around);
  return around;
}

// ActivitySums in the order in which they were first asked for.
class ActivitySums {
 public:
  ActivitySum& of(const Activity& a, const std::string& key) {
    const auto [found, is_new] = places_.try_emplace(key, rows.size());
    if (is_new) rows.push_back({&a, {}});
    return rows[found->second];
  }

  std::vector<ActivitySum> rows;

 private:
  std::unordered_map<std::string, size_t> places_;
};

std::vector<ActivitySum> averages(const Activities& all, bool by_shapes) {
  ActivitySums rows;
  for (const Activity& a : all) {
    double* const n = rows.of(a, by_shapes ? a.name + "\n" + a.shapes : a.name).number;
    n[kCount] += 1;
    n[kSelf] += double(a.self_ns) / 1000;
    n[kSelfDevice] += a.self_device_us;
    n[kSelfMemory] += double(a.self_memory);
    if (!is_within_its_own_kind(all, a)) {
      n[kTotal] += double(a.ns()) / 1000;
      n[kDevice] += a.device_us;
      n[kMemory] += double(a.memory);
    }
    n[kMean] = n[kTotal] / n[kCount];
  }
  return std::move(rows.rows);
}

// The largest number first, equal ones as they were.
void sort(std::vector<ActivitySum>& rows, Number by) {
  std::stable_sort(rows.begin(), rows.end(), [by](const ActivitySum& a, const ActivitySum& b) {
    return a.number[by] > b.number[by];
  });
}

void cut(std::vector<ActivitySum>& rows, int64_t row_limit) {
  if (row_limit >= 0 && static_cast<size_t>(row_limit) < rows.size())
    rows.resize(static_cast<size_t>(row_limit));
}

// ---- the table

struct Column {
  const char* title;
  const char* key;  // what a program sorts by it with
  Number number;
  enum { kTime, kShare, kBytes, kPlain } style;
};
constexpr Column kColumns[] = {{"Self CPU %", "", kSelf, Column::kShare},
                               {"Self CPU", "self_cpu_time_total", kSelf, Column::kTime},
                               {"CPU total %", "", kTotal, Column::kShare},
                               {"CPU total", "cpu_time_total", kTotal, Column::kTime},
                               {"CPU time avg", "cpu_time", kMean, Column::kTime},
                               {"Self CUDA", "self_device_time_total", kSelfDevice, Column::kTime},
                               {"CUDA total", "device_time_total", kDevice, Column::kTime},
                               {"Mem", "cpu_memory_usage", kMemory, Column::kBytes},
                               {"Self Mem", "self_cpu_memory_usage", kSelfMemory, Column::kBytes},
                               {"# of Calls", "count", kCount, Column::kPlain}};

bool is_shown(const Column& c, const ProfilerSettings& settings) {
  if (c.number == kSelfDevice || c.number == kDevice) return settings.device_times;
  return c.style != Column::kBytes || settings.profile_memory;
}

std::string cell(const Column& c, const ActivitySum& row, double whole) {
  const double n = row.number[c.number];
  return c.style == Column::kTime    ? time_text(n)
         : c.style == Column::kBytes ? memory_text(n)
         : c.style == Column::kShare ? format("%.2f%%", whole > 0 ? 100 * n / whole : 0)
                                     : format("%.0f", n);
}

void sort_by_key(std::vector<ActivitySum>& rows, const std::string& key) {
  if (key.empty()) return;
  std::string known;
  for (const Column& c : kColumns) {
    if (c.key == key) return sort(rows, c.number);
    if (*c.key) known += (known.empty() ? "" : ", ") + std::string(c.key);
  }
  fail(Code::kValueError, "cannot sort by '", key, "': expected one of ", known);
}

constexpr int kNameWidth = 56, kWidth = 14;

// Cut where a character of UTF-8 begins.
std::string name_cell(const std::string& name) {
  if (name.size() < kNameWidth) return format("%-*s", kNameWidth, name.c_str());
  size_t end = kNameWidth - 4;
  while (end > 0 && (name[end] & 0xC0) == 0x80) --end;
  return format("%-*s", kNameWidth, (name.substr(0, end) + "...").c_str());
}

std::string rule(size_t width) {
  return std::string(width, '-') + "\n";
}

}  // namespace

std::string profiler_table(const Profiler& profiler, const std::string& sort_by, int64_t row_limit,
                           bool group_by_input_shape) {
  const ProfilerSettings& settings = profiler.settings();
  std::vector<ActivitySum> rows = averages(profiler.activities(), group_by_input_shape);
  double whole = 0, whole_device = 0;
  for (const ActivitySum& row : rows)
    whole += row.number[kSelf], whole_device += row.number[kSelfDevice];
  sort_by_key(rows, sort_by);
  cut(rows, row_limit);
  std::string head = name_cell("Name"), lines;
  for (const Column& c : kColumns) {
    if (is_shown(c, settings)) head += format("%*s", kWidth, c.title);
  }
  for (const ActivitySum& row : rows) {
    lines += name_cell(row.first->name);
    for (const Column& c : kColumns) {
      if (is_shown(c, settings)) lines += format("%*s", kWidth, cell(c, row, whole).c_str());
    }
    if (group_by_input_shape) lines += "  " + row.first->shapes;
    lines += "\n";
  }
  const std::string line = rule(head.size());
  if (group_by_input_shape) head += "  Input Shapes";
  std::string table = line + head + "\n" + line + lines + line;
  table += "Self CPU time total: " + time_text(whole) + "\n";
  if (profiler.left_out() > 0)
    table += text(profiler.left_out(), " more activities were left out: max_activities is ",
                  settings.max_activities, "\n");
  if (settings.device_times) table += "Self CUDA time total: " + time_text(whole_device) + "\n";
  return table;
}

// ---- memory

namespace {

// "forward / conv2d": an op and the range or node that it is in.
std::string place_of(const Activities& all, const Activity& a) {
  const Activity* const around = parent_of(all, a);
  return around ? around->name + " / " + a.name : a.name;
}

// Who took what until the most was in use on a device.
std::string memory_until(const Activities& all, const Activity& peak, int64_t row_limit) {
  ActivitySums takers;
  int64_t before = peak.allocated;
  for (const Activity& a : all) {
    if (a.kind != ActivityKind::kOp || a.device != peak.device || a.end > peak.end) continue;
    double* const n = takers.of(a, place_of(all, a)).number;
    n[kSelfMemory] += double(a.self_memory);
    n[kCount] += 1;
    before -= a.self_memory;
  }
  std::vector<ActivitySum>& rows = takers.rows;
  sort(rows, kSelfMemory);
  cut(rows, row_limit);
  std::string lines = device_text(peak.device) + ": " + memory_text(double(peak.allocated)) +
                      " at most, after " + place_of(all, peak) + "\n";
  const std::string head =
      name_cell("Taken until then by") + format("%*s%*s", kWidth, "Memory", kWidth, "# of Calls");
  lines += rule(head.size()) + head + "\n" + rule(head.size());
  for (const ActivitySum& row : rows) {
    lines += name_cell(place_of(all, *row.first)) +
             format("%*s%*.0f\n", kWidth, memory_text(row.number[kSelfMemory]).c_str(), kWidth,
                    row.number[kCount]);
  }
  if (before > 0)
    lines +=
        name_cell("(in use before)") + format("%*s\n", kWidth, memory_text(double(before)).c_str());
  return lines + rule(head.size());
}

}  // namespace

std::string profiler_memory_summary(const Profiler& profiler, int64_t row_limit) {
  const Activities& all = profiler.activities();
  DT_CHECK(profiler.settings().profile_memory, kRuntimeError,
           "the profiler did not look at memory: start it with profile_memory");
  ActivitySums peaks;  // one for each device
  for (const Activity& a : all) {
    if (a.kind != ActivityKind::kOp) continue;
    ActivitySum& row = peaks.of(a, device_text(a.device));
    if (a.allocated > row.first->allocated) row.first = &a;
  }
  std::string summary;
  for (const ActivitySum& row : peaks.rows) summary += memory_until(all, *row.first, row_limit);
  return summary;
}

// ---- all activities

std::tuple<std::vector<std::string>, std::vector<std::string>, Tensor> profiler_activities(
    const Profiler& profiler) {
  const Activities& all = profiler.activities();
  std::vector<std::string> names, shapes;
  constexpr int64_t kFields = 11;
  const Tensor numbers = make_empty({static_cast<int64_t>(all.size()), kFields}, kIndexDType, kCpu);
  auto* to = numbers.data_as<int64_t>();
  for (const Activity& a : all) {
    names.push_back(a.name);
    shapes.push_back(a.shapes);
    *to++ = static_cast<int64_t>(a.kind);
    *to++ = a.thread;
    *to++ = a.start;
    *to++ = a.ns();
    *to++ = a.self_ns;
    *to++ = static_cast<int64_t>(a.device_us * 1000);
    *to++ = static_cast<int64_t>(a.self_device_us * 1000);
    *to++ = a.memory;
    *to++ = a.self_memory;
    *to++ = a.allocated;
    *to++ = a.parent;
  }
  return {std::move(names), std::move(shapes), numbers};
}

namespace {

const char* category(ActivityKind kind) {
  return kind == ActivityKind::kOp     ? "cpu_op"
         : kind == ActivityKind::kNode ? "backward"
                                       : "user_annotation";
}

// An event of the trace event format; times are microseconds. `rest` ends it.
std::string event(char phase, const std::string& name, double at, const std::string& rest) {
  return "{\"name\": " + json_quote(name) +
         format(", \"ph\": \"%c\", \"pid\": %d, \"ts\": %.3f, ", phase, static_cast<int>(getpid()),
                at) +
         rest + "}";
}

std::string span(const Activity& a, const char* category, double at, double us,
                 const std::string& track, const std::string& args) {
  return event('X', a.name, at,
               format("\"cat\": \"%s\", \"dur\": %.3f, \"tid\": ", category, us) + track +
                   ", \"args\": {" + args + "}");
}

std::string events_of(const Activity& a, const ProfilerSettings& settings) {
  const double start = double(a.start) / 1000, us = double(a.ns()) / 1000;
  std::string args = a.shapes.empty() ? "" : "\"Input Dims\": " + a.shapes;
  if (settings.profile_memory)
    args += format("%s\"Bytes\": %lld", args.empty() ? "" : ", ", static_cast<long long>(a.memory));
  std::string events = span(a, category(a.kind), start, us, std::to_string(a.thread), args);
  if (a.kind != ActivityKind::kOp) return events;
  const std::string device = device_text(a.device);
  if (a.device_end)
    events += ",\n" + span(a, "kernel", a.device_start_us, a.device_us, json_quote(device), "");
  if (settings.profile_memory) {
    events += ",\n" + event('C', "memory of " + device, start + us,
                            "\"args\": {\"bytes\": " + std::to_string(a.allocated) + "}");
  }
  return events;
}

}  // namespace

void profiler_export_chrome_trace(const Profiler& profiler, const std::string& path) {
  AtomicFile file(path);
  std::string part = "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n";
  const char* separator = "";
  for (const Activity& a : profiler.activities()) {
    part += separator + events_of(a, profiler.settings());
    file.write(part.data(), static_cast<int64_t>(part.size()));
    part.clear();
    separator = ",\n";
  }
  part += "\n]}\n";
  file.write(part.data(), static_cast<int64_t>(part.size()));
  file.commit();
}

}  // namespace dt
