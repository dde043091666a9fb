// SPDX-License-Identifier: Apache-2.0
// HeldProcess: a command in a held sandbox, and what it says.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "base/result.h"
#include "base/unique_fd.h"
#include "sandbox/sandbox.h"
#include "service/sandbox_service.h"

namespace glovebox::keeper {

// Safe to use from several threads. Its sandbox must outlive it.
class HeldProcess {
 public:
  static Result<std::shared_ptr<HeldProcess>> start(Sandbox& sandbox,
                                                    const ProcessRequest& request,
                                                    const Limits& limits);

  HeldProcess(const HeldProcess&) = delete;
  HeldProcess& operator=(const HeldProcess&) = delete;
  ~HeldProcess();  // The sandbox is dead by then, or the process has ended.

  // Where a listener is in what the process says. Output that nobody listens to is dropped beyond
  // kMostKept; a listener that is slow holds the process up instead.
  class Listener {
   public:
    // From the beginning of what is kept, or from now on. The first of all gets the beginning
    // anyway: it is for them that it was kept.
    Listener(std::shared_ptr<HeldProcess> process, bool from_start);
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;
    ~Listener();
    // The next event, kEnded at last and then never again; nothing when none came until then.
    // Without a kEnded nothing comes after the sandbox has ended.
    std::optional<ProcessEvent> next(std::chrono::steady_clock::time_point deadline);

   private:
    std::shared_ptr<HeldProcess> process_;
    std::uint64_t at_ = 0;
  };

  Result<void> signal(int signal);
  // Waits while the process does not read, for at most a few seconds: kExhausted then.
  Result<void> write(std::string_view bytes);
  Result<void> close_stdin();
  Result<void> resize(ProcessRequest::Terminal size);

  [[nodiscard]] ProcessInfo info() const;
  [[nodiscard]] std::uint32_t pid() const { return pid_; }
  // When it ended, once it has.
  [[nodiscard]] std::optional<std::chrono::steady_clock::time_point> ended() const;

 private:
  static constexpr std::size_t kMostKept = 1UL << 20;

  HeldProcess(Sandbox& sandbox, ProcessRequest request)
      : sandbox_(sandbox), request_(std::move(request)) {}
  void pump();
  void read_into(UniqueFd& from, ProcessEvent::Kind kind);
  void say(ProcessEvent event);
  void lose();
  bool has_room() const;

  Sandbox& sandbox_;
  const ProcessRequest request_;
  Sandbox::Detached process_ = 0;
  std::uint32_t pid_ = 0;
  UniqueFd out_;
  UniqueFd err_;
  UniqueFd terminal_;
  std::mutex input_mutex_;
  UniqueFd in_;

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::deque<ProcessEvent> said_;
  std::uint64_t first_ = 0;  // The number of said_.front().
  std::size_t bytes_ = 0;
  std::size_t listeners_ = 0;
  bool heard_ = false;  // Somebody has listened.
  bool stopping_ = false;
  std::optional<std::chrono::steady_clock::time_point> ended_;
  std::thread pump_;
};

}  // namespace glovebox::keeper
