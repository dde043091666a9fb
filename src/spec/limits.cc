// SPDX-License-Identifier: Apache-2.0
#include "spec/limits.h"

#include <array>
#include <cstdio>
#include <string>

namespace glovebox {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

std::string text_of(milliseconds time) { return std::to_string(time.count()) + "ms"; }

std::string text_of(double number) {
  std::array<char, 32> text{};
  (void)std::snprintf(text.data(), text.size(), "%g", number);
  return text.data();
}

}  // namespace

Result<void> validate(const Limits& limits, std::string_view prefix) {
  const auto check = [prefix](bool holds, const char* field, const std::string& value,
                              const char* hint) -> Result<void> {
    if (holds) {
      return {};
    }
    return Error(ErrorCode::kInvalid,
                 "limit " + std::string(prefix) + field + " is out of range: " + value, hint);
  };
  constexpr const char* kTimes = "use 1ms to a year";
  GB_TRY(check(limits.wall > milliseconds(0) && limits.wall <= hours(24 * 366), "time",
               text_of(limits.wall), kTimes));
  GB_TRY(check(limits.cpu_time >= milliseconds(0) && limits.cpu_time <= hours(24 * 366), "cpu-time",
               text_of(limits.cpu_time), kTimes));
  // A shell with its libraries touches about 2 MiB; the warden needs some of its own.
  GB_TRY(check(limits.memory >= 4_MiB && limits.memory <= Bytes{1ULL << 50}, "memory",
               to_string(limits.memory), "use 4M to 1024T"));
  GB_TRY(check(limits.cpus >= 0.01 && limits.cpus <= 4096, "cpus", text_of(limits.cpus),
               "use 0.01 to 4096"));
  GB_TRY(check(limits.pids >= 1 && limits.pids <= 4'000'000, "pids", std::to_string(limits.pids),
               "use 1 to 4000000"));
  GB_TRY(check(limits.disk >= 64_KiB && limits.disk <= Bytes{1ULL << 50}, "disk",
               to_string(limits.disk), "use 64K to 1024T"));
  GB_TRY(check(limits.inodes >= 64 && limits.inodes <= 1'000'000'000, "inodes",
               std::to_string(limits.inodes), "use 64 to 1000000000"));
  GB_TRY(check(limits.open_files >= 8 && limits.open_files <= 1'048'576, "open-files",
               std::to_string(limits.open_files), "use 8 to 1048576"));
  GB_TRY(check(limits.output <= 1_GiB, "output", to_string(limits.output), "use 0 to 1G"));
  return {};
}

}  // namespace glovebox
