// SPDX-License-Identifier: Apache-2.0
// ProcessPump: one thread that looks after all processes of a sandbox when there is something to
// do, and tells their followers what they say.
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

class Follower;
class HeldProcess;

// Safe to use from several threads, except for its end. Its sandbox must outlive it.
class ProcessPump {
 public:
  explicit ProcessPump(Sandbox& sandbox);
  ProcessPump(const ProcessPump&) = delete;
  ProcessPump& operator=(const ProcessPump&) = delete;
  // Processes that it still has are lost, and their followers learn so.
  ~ProcessPump();

  // Makes the thread, unless it is there. Fails if the host has no more threads.
  Result<void> start();

  // Looks after a process until it has ended. Requires: start() was called.
  void add(std::shared_ptr<HeldProcess> process);

  // Looks after a follower of one of the processes until everything is told, or its caller has
  // gone. Requires: start() was called.
  void add(std::unique_ptr<Follower> follower);

  // Looks at all of them: something has changed that no descriptor reports.
  void poke() const;

  // An eventfd: writing to it is a poke().
  [[nodiscard]] int wake_fd() const { return wake_.get(); }

  // Sets whether the process is looked at when `fd` is readable. For the thread itself.
  void watch(int fd, HeldProcess& process, bool wanted) const;

 private:
  void run();
  void loop();
  // `ready` is what epoll named.
  void look_after(const std::vector<void*>& ready, bool all);
  void tell(Follower& follower);
  [[nodiscard]] int milliseconds_left() const;

  Sandbox& sandbox_;
  UniqueFd epoll_;
  UniqueFd wake_;
  // The thread's own, by the pointers that epoll returns for them.
  std::map<void*, std::shared_ptr<HeldProcess>> tended_;
  std::map<void*, std::unique_ptr<Follower>> followers_;

  std::mutex mutex_;  // Of what follows.
  std::vector<std::shared_ptr<HeldProcess>> added_;
  std::vector<std::unique_ptr<Follower>> added_followers_;
  bool stopping_ = false;
  bool lost_ = false;  // The sandbox has ended.
  std::thread thread_;
};

}  // namespace glovebox::keeper
