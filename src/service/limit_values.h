// SPDX-License-Identifier: Apache-2.0
// LimitWishes: limits as somebody asks for them.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "base/bytes.h"

namespace glovebox {

// What the caller set; the rest comes from the template, the tenant or ours.
struct LimitWishes {
  std::optional<std::chrono::milliseconds> wall{};
  std::optional<std::chrono::milliseconds> cpu_time{};
  std::optional<Bytes> memory{};
  std::optional<double> cpus{};
  std::optional<std::uint32_t> pids{};
  std::optional<Bytes> disk{};
  std::optional<std::uint32_t> inodes{};
  std::optional<std::uint32_t> open_files{};
  std::optional<Bytes> output{};
};

}  // namespace glovebox
