// SPDX-License-Identifier: Apache-2.0
// ProcessPump: one thread that looks after all processes of a sandbox, when there is something to
// do for them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "sandbox/sandbox.h"

namespace glovebox::keeper {

class HeldProcess;

// Safe to use from several threads, but for its end. Its sandbox must outlive it.
class ProcessPump {
 public:
  explicit ProcessPump(Sandbox& sandbox) : sandbox_(sandbox) {}
  ProcessPump(const ProcessPump&) = delete;
  ProcessPump& operator=(const ProcessPump&) = delete;
  ~ProcessPump();  // Processes that it still has are lost.

  // Makes the thread, unless it is there. Fails when the host has no more of them.
  Result<void> start();

  // Looks after a process until it has ended. Requires: start() was called.
  void add(std::shared_ptr<HeldProcess> process);

  // Looks at all of them: something has changed that no descriptor tells.
  void poke() const;

  // An eventfd: writing to it is a poke().
  [[nodiscard]] int wake_fd() const { return wake_.get(); }

  // Whether the process is looked at when `fd` can be read from. For the thread itself.
  void watch(int fd, HeldProcess& process, bool wanted) const;

 private:
  void run();
  void loop();
  void look_after(std::vector<HeldProcess*> ready, bool all);
  [[nodiscard]] int milliseconds_left() const;

  Sandbox& sandbox_;
  UniqueFd epoll_;
  UniqueFd wake_;
  std::map<HeldProcess*, std::shared_ptr<HeldProcess>> tended_;  // The thread's own.

  std::mutex mutex_;  // Of what follows.
  std::vector<std::shared_ptr<HeldProcess>> added_;
  bool stopping_ = false;
  bool lost_ = false;  // The sandbox has ended.
  std::thread thread_;
};

}  // namespace glovebox::keeper
