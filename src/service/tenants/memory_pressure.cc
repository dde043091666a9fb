// SPDX-License-Identifier: Apache-2.0
#include "service/tenants/memory_pressure.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <utility>

#include "base/unique_fd.h"
#include "service/tenants/retry_after.h"

namespace glovebox {
namespace {

using namespace std::chrono_literals;

constexpr auto kFresh = 250ms;
// Memory comes back when something ends, and nobody knows when that is.
constexpr auto kComeBack = 2s;
constexpr auto kComeBackWhenStalled = 10s;

template <typename Number>
std::optional<Number> number_after(std::string_view text, std::string_view label) {
  const std::size_t at = text.find(label);
  if (at == std::string_view::npos) {
    return std::nullopt;
  }
  text.remove_prefix(at + label.size());
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  Number number{};
  const auto [rest, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  return failed == std::errc() ? std::optional(number) : std::nullopt;
}

std::optional<Bytes> kibibytes_after(std::string_view text, std::string_view label) {
  const auto count = number_after<std::uint64_t>(text, label);
  if (!count || *count > (UINT64_MAX >> 10)) {
    return std::nullopt;
  }
  return Bytes{*count << 10};
}

// One read into a buffer that is large enough gives the whole of either file.
std::string read_proc(const char* path) {
  const UniqueFd file(::open(path, O_RDONLY | O_CLOEXEC));
  std::array<char, 8192> text{};
  const ssize_t size = file ? ::read(file.get(), text.data(), text.size()) : -1;
  return {text.data(), size < 0 ? 0 : static_cast<std::size_t>(size)};
}

}  // namespace

std::optional<MemoryState> parse_memory_state(std::string_view meminfo, std::string_view pressure) {
  const auto total = kibibytes_after(meminfo, "MemTotal:");
  const auto available = kibibytes_after(meminfo, "MemAvailable:");
  if (!total || !available) {
    return std::nullopt;
  }
  MemoryState state{*total, *available, std::nullopt};
  const std::size_t full = pressure.find("full ");
  if (full != std::string_view::npos) {
    state.stalled = number_after<double>(pressure.substr(full), "avg10=");
  }
  return state;
}

std::optional<MemoryState> read_memory_state() {
  return parse_memory_state(read_proc("/proc/meminfo"), read_proc("/proc/pressure/memory"));
}

MemoryPressure::MemoryPressure(MemoryBounds bounds, Probe probe, Clock clock)
    : bounds_(bounds), probe_(std::move(probe)), clock_(std::move(clock)) {}

std::optional<MemoryState> MemoryPressure::state() {
  const auto now = clock_();
  const std::scoped_lock lock(mutex_);
  if (!seen_at_ || now - *seen_at_ >= kFresh) {
    seen_ = probe_();
    seen_at_ = now;
  }
  return seen_;
}

Result<void> MemoryPressure::check(Bytes wanted) {
  const std::optional<MemoryState> now = state();
  if (!now) {
    return {};
  }
  const auto part =
      static_cast<std::uint64_t>(static_cast<double>(now->total.count) * bounds_.least_part);
  const std::uint64_t kept = std::max(part, bounds_.least.count);
  if (now->available.count < kept || now->available.count - kept < wanted.count) {
    return exhausted("this machine is short of memory", kComeBack);
  }
  if (now->stalled && *now->stalled > bounds_.most_stalled) {
    return exhausted("this machine is stalled on memory", kComeBackWhenStalled);
  }
  return {};
}

}  // namespace glovebox
