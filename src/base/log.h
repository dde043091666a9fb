// SPDX-License-Identifier: Apache-2.0
// Log: what a daemon or its keeper tells its operator, a line at a time, on standard error.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

namespace glovebox {

// Safe to use from several threads. A line is "TIME LEVEL MESSAGE": the time as RFC 3339 in UTC,
// the level info, warning or error. What cannot be written is lost.
//
// What a guest does can cause lines, so their number is bounded: at most kMostInWindow of each
// level in kWindow. The next line after that says how many were left out.
class Log {
 public:
  static constexpr std::size_t kMostInWindow = 200;
  static constexpr std::chrono::seconds kWindow{10};
  static constexpr std::size_t kLongest = 2'048;  // Bytes of a message; the rest is left out.

  // Writes to `fd`, which must stay open as long as this object lives.
  explicit Log(int fd) : fd_(fd) {}
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  // If we write to the regular file at `path`: once that holds `most` bytes, it becomes PATH.1, in
  // place of an older one, and a new file begins. Call it before any line is written.
  void rotate(std::string path, std::uint64_t most);

  // The message is one line; control characters in it are escaped.
  void info(std::string_view message) { write(Level::kInfo, message); }
  void warning(std::string_view message) { write(Level::kWarning, message); }
  void error(std::string_view message) { write(Level::kError, message); }

 private:
  enum class Level : std::uint8_t { kInfo, kWarning, kError };
  struct Window {
    std::chrono::steady_clock::time_point begun{};
    std::size_t lines = 0;
    std::size_t left_out = 0;
  };

  void write(Level level, std::string_view message);
  // These need the mutex.
  void put(Level level, std::string_view message);
  void begin_next_file();

  const int fd_;
  std::mutex mutex_;
  std::array<Window, 3> windows_{};
  std::string path_;
  std::uint64_t most_ = 0;
};

}  // namespace glovebox
