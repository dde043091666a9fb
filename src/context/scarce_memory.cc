// SPDX-License-Identifier: Apache-2.0
#include "context/scarce_memory.h"

#include <fstream>
#include <string>

namespace glovebox {
namespace {

// The share of the host's memory that must be left.
constexpr double kScarce = 0.1;

}  // namespace

bool memory_is_scarce() {
  std::ifstream file("/proc/meminfo");
  std::string key;
  double total = 0;
  double available = 0;
  double value = 0;
  std::string unit;
  while (file >> key >> value) {
    std::getline(file, unit);
    if (key == "MemTotal:") {
      total = value;
    } else if (key == "MemAvailable:") {
      available = value;
      break;
    }
  }
  return total > 0 && available < total * kScarce;
}

}  // namespace glovebox
