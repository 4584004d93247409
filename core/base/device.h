// Where a tensor's memory is.
#pragma once

#include <cstdint>
#include <string>

namespace dt {

enum class DeviceType : int32_t { kDefault = 0, kCpu = 1, kCuda = 2 };

struct Device {
  DeviceType type = DeviceType::kDefault;  // kDefault: the context's default device, or the input's
  int32_t index = 0;
  bool operator==(const Device& o) const { return type == o.type && index == o.index; }
  bool operator!=(const Device& o) const { return !(*this == o); }
};

inline constexpr Device kCpu{DeviceType::kCpu, 0};

inline void append(std::string& s, Device d) {
  s += d.type == DeviceType::kCuda ? "cuda:" + std::to_string(d.index) : "cpu";
}

}  // namespace dt
