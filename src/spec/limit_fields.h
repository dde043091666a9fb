// SPDX-License-Identifier: Apache-2.0
// The list of limits. Whatever encodes limits, reads them or offers them as options goes through
// kLimitFields, so that a new limit takes its member and one row.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>

#include "base/bytes.h"
#include "spec/limits.h"

namespace glovebox {

// What somebody set; the rest comes from the language, the template, the tenant or ours.
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

  // `base` with every limit replaced that is set here.
  [[nodiscard]] Limits over(Limits base) const;
  // These, and those of `base` where nothing is set here.
  [[nodiscard]] LimitWishes over(const LimitWishes& base) const;

  friend bool operator==(const LimitWishes&, const LimitWishes&) = default;
};

// Of type milliseconds, Bytes, double or std::uint32_t; that says how it is written.
template <typename T>
struct LimitField {
  using Value = T;

  const char* name;  // In requests, answers and language files: "cpu_time".
  const char*
      record;        // In what we keep and what our own processes say to each other. Never changes.
  const char* help;  // For an option of a command.
  T Limits::*limit;
  std::optional<T> LimitWishes::*wish;  // Null: the host's alone to set.
  // Below `least` no guest could ever start; above `most` the kernel cannot express the limit.
  T least;
  T most;
  const char* range;  // The same for people: "4M to 1024T".
};

inline constexpr std::chrono::milliseconds kLongestTime = std::chrono::hours(24 * 366);

inline constexpr std::tuple kLimitFields{
    LimitField<std::chrono::milliseconds>{
        "time", "wall", "Wall-clock time of one execution, such as 30s", &Limits::wall,
        &LimitWishes::wall, std::chrono::milliseconds(1), kLongestTime, "1ms to a year"},
    LimitField<std::chrono::milliseconds>{
        "cpu_time", "cpu_time", "CPU time of each process", &Limits::cpu_time,
        &LimitWishes::cpu_time, std::chrono::milliseconds(0), kLongestTime, "1ms to a year"},
    // A shell with its libraries touches about 2 MiB; the warden needs some of its own.
    LimitField<Bytes>{"memory", "memory", "Memory limit, files in the sandbox included: 512M",
                      &Limits::memory, &LimitWishes::memory, 4_MiB, Bytes{1ULL << 50},
                      "4M to 1024T"},
    LimitField<double>{"cpus", "cpus", "Processors' worth of time: 0.5, 2", &Limits::cpus,
                       &LimitWishes::cpus, 0.01, 4096, "0.01 to 4096"},
    LimitField<std::uint32_t>{"pids", "pids", "Maximum number of processes and threads",
                              &Limits::pids, &LimitWishes::pids, 1, 4'000'000, "1 to 4000000"},
    LimitField<Bytes>{"disk", "disk", "Disk space limit: 256M", &Limits::disk, &LimitWishes::disk,
                      64_KiB, Bytes{1ULL << 50}, "64K to 1024T"},
    LimitField<std::uint32_t>{"inodes", "inodes", "Maximum number of files", &Limits::inodes,
                              &LimitWishes::inodes, 64, 1'000'000'000, "64 to 1000000000"},
    LimitField<std::uint32_t>{"open_files", "open_files",
                              "Maximum number of open files per process", &Limits::open_files,
                              &LimitWishes::open_files, 8, 1'048'576, "8 to 1048576"},
    LimitField<Bytes>{"output", "output", "Limit of each output stream: 1M", &Limits::output,
                      &LimitWishes::output, Bytes{0}, 1_GiB, "0 to 1G"},
    LimitField<Bytes>{"io_rate", "io_rate", "Disk I/O limit in bytes per second: 10M",
                      &Limits::io_rate, nullptr, Bytes{0}, Bytes{UINT64_MAX}, ""},
};

// Calls visit(field) for every limit, in the order of the list.
template <typename Visit>
constexpr void each_limit(Visit visit) {
  std::apply([&](const auto&... field) { (visit(field), ...); }, kLimitFields);
}

// The same for those that a caller may set.
template <typename Visit>
constexpr void each_wish(Visit visit) {
  each_limit([&](const auto& field) {
    if (field.wish != nullptr) {
      visit(field);
    }
  });
}

// A limit as a plain number: milliseconds, bytes or itself; and back.
template <typename T>
constexpr auto to_plain(const T& value) {
  if constexpr (std::is_same_v<T, std::chrono::milliseconds>) {
    return value.count();
  } else if constexpr (std::is_same_v<T, Bytes>) {
    return value.count;
  } else {
    return value;
  }
}

// "500ms", "512 MiB", "0.5": for people.
std::string limit_text(std::chrono::milliseconds value);
std::string limit_text(Bytes value);
std::string limit_text(double value);
std::string limit_text(std::uint32_t value);

// "time, cpu_time, …": those that a caller may set, for messages.
std::string names_of_limits();

}  // namespace glovebox
