// What this library is: version, compiler, instruction sets.
#pragma once

#include <string>

namespace dt {

std::string build_info();

}  // namespace dt
