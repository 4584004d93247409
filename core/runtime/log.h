// Where messages go: to the sink that a program sets, else nowhere but, for what an environment
// variable asked for (DT_TRACE=1), to standard error.
#pragma once

#include <string>

#include "core/base/enums.h"

namespace dt {

using LogSink = void (*)(void* context, LogLevel level, const char* message);

// `drop(context)` runs once when the sink is replaced.
void set_log_sink(LogSink sink, void* context, void (*drop)(void* context));
void log(LogLevel level, const std::string& message);

}  // namespace dt
