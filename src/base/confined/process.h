// SPDX-License-Identifier: Apache-2.0
// A process of one of our own programs, with the descriptors that it is given and nothing else of
// ours.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox::confined {

// A socket to speak with a process. If its reader is gone, send(2) fails, where writing to a pipe
// would raise a signal.
struct Channel {
  UniqueFd ours;
  UniqueFd theirs;  // We must close it once the process has started.
};
Result<Channel> make_channel();

// The process is killed and waited for at the latest when this object is destroyed. One thread at a
// time.
class Process {
 public:
  struct Start {
    std::string program{};  // Its file name, among our installed programs.
    std::vector<std::string> arguments{};
    int directory = -1;  // Its working directory; -1 for '/'.
    // What becomes its descriptors 0, 1, 2 and so on. They stay the caller's.
    std::vector<int> descriptors{};
  };
  // kUnsupported if the program is not installed. The process gets an empty environment, a process
  // group of its own and default signal handling. Thread-safe.
  static Result<Process> start(const Start& start);

  Process(Process&& other) noexcept;
  Process& operator=(Process&&) = delete;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process();

  // Readable when the process has ended. Owned by this object.
  [[nodiscard]] int pidfd() const { return pidfd_.get(); }
  [[nodiscard]] pid_t pid() const { return pid_; }

  void kill() const;
  // Waits for its end, and returns its wait status (waitpid(2)). Call it once.
  int wait();

 private:
  Process(pid_t pid, UniqueFd pidfd) : pid_(pid), pidfd_(std::move(pidfd)) {}

  pid_t pid_;
  UniqueFd pidfd_;
};

}  // namespace glovebox::confined
