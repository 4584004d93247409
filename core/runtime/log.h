// Where messages go: to the sink that a program sets, else nowhere but, for what an environment
// variable asked for (DT_TRACE=1), to standard error.
#pragma once

#include <cstdint>
#include <string>

namespace dt {

enum class LogLevel : int32_t { kDefault = 0, kTrace = 1, kInfo = 2, kWarning = 3 };

using LogSink = void (*)(void* context, LogLevel level, const char* message);

// `drop(context)` runs once when the sink is replaced.
void set_log_sink(LogSink sink, void* context, void (*drop)(void* context));
void log(LogLevel level, const std::string& message);

}  // namespace dt
