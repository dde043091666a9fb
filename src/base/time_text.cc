// SPDX-License-Identifier: Apache-2.0
#include "base/time_text.h"

#include <array>
#include <cstdio>
#include <ctime>

namespace glovebox {

std::string to_rfc3339(std::chrono::system_clock::time_point time) {
  const auto since = std::chrono::floor<std::chrono::milliseconds>(time.time_since_epoch());
  const auto whole = std::chrono::floor<std::chrono::seconds>(since);
  const std::time_t stamp = whole.count();
  std::tm parts{};
  (void)::gmtime_r(&stamp, &parts);
  std::array<char, 32> text{};
  const std::size_t size = std::strftime(text.data(), text.size(), "%FT%T", &parts);
  std::array<char, 16> rest{};
  (void)std::snprintf(rest.data(), rest.size(), ".%03dZ",
                      static_cast<int>((since - whole).count()));
  return std::string(text.data(), size) + rest.data();
}

}  // namespace glovebox
