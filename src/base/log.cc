// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "base/text.h"
#include "base/time_text.h"
#include "base/unique_fd.h"

namespace glovebox {

void Log::rotate(std::string path, std::uint64_t most) {
  struct stat ours {};
  struct stat named {};
  if (::fstat(fd_, &ours) == 0 && ::lstat(path.c_str(), &named) == 0 && S_ISREG(ours.st_mode) &&
      ours.st_dev == named.st_dev && ours.st_ino == named.st_ino) {
    path_ = std::move(path);
    most_ = most;
  }
}

void Log::write(Level level, std::string_view message) {
  const auto now = std::chrono::steady_clock::now();
  const std::scoped_lock lock(mutex_);
  Window& window = windows_[static_cast<std::size_t>(level)];
  if (now - window.begun >= kWindow) {
    const std::size_t left_out = std::exchange(window, {.begun = now}).left_out;
    if (left_out > 0) {
      put(level, std::to_string(left_out) + " more lines like those before were left out");
    }
  }
  if (window.lines >= kMostInWindow) {
    ++window.left_out;
    return;
  }
  ++window.lines;
  put(level, message);
}

void Log::put(Level level, std::string_view message) {
  constexpr std::array<std::string_view, 3> kNames = {" info ", " warning ", " error "};
  // One write(2) for a line, so that lines of several processes stay whole.
  const std::string line = to_rfc3339(std::chrono::system_clock::now()) +
                           std::string(kNames[static_cast<std::size_t>(level)]) +
                           printable(message.substr(0, kLongest)) + "\n";
  (void)!::write(fd_, line.data(), line.size());
  if (!path_.empty()) {
    begin_next_file();
  }
}

void Log::begin_next_file() {
  struct stat status {};
  if (::fstat(fd_, &status) != 0 || static_cast<std::uint64_t>(status.st_size) < most_ ||
      ::rename(path_.c_str(), (path_ + ".1").c_str()) != 0) {
    return;
  }
  const UniqueFd next(
      ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (next) {
    (void)::dup2(next.get(), fd_);
  }
}

}  // namespace glovebox
