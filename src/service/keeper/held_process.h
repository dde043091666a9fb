// SPDX-License-Identifier: Apache-2.0
// HeldProcess: a command in a held sandbox, and what it says.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"
#include "sandbox/sandbox.h"
#include "service/api/sandbox_service.h"
#include "service/keeper/kept_memory.h"
#include "service/keeper/process_pump.h"

namespace glovebox::keeper {

// Safe to use from several threads. Its sandbox and the pump must outlive it. The time that it may
// take stands still while the sandbox is paused.
class HeldProcess final : public KeptMemory::Holder {
 public:
  // Called when it ends, with its request; may add to `end`, and may be empty.
  using OnEnd = std::function<void(const ProcessRequest& request, ProcessEvent& end)>;

  // What it says and nobody has heard yet counts against `memory`, which is its sandbox's.
  static Result<std::shared_ptr<HeldProcess>> start(Sandbox& sandbox,
                                                    ProcessPump& pump,
                                                    std::shared_ptr<KeptMemory> memory,
                                                    const ProcessRequest& request,
                                                    const Limits& limits,
                                                    OnEnd on_end);

  HeldProcess(const HeldProcess&) = delete;
  HeldProcess& operator=(const HeldProcess&) = delete;
  ~HeldProcess() = default;

  // A listener's place in what the process says. While nobody listens, the oldest output is dropped
  // beyond kMostKept, or when the sandbox's memory is wanted for something newer; a slow listener
  // holds the process up instead. One thread.
  class Listener {
   public:
    // From the beginning of what is kept, or from now on. The first listener of all gets the
    // beginning anyway: it was kept for that one.
    Listener(std::shared_ptr<HeldProcess> process, bool from_start);
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;
    ~Listener();
    // The next event, or nothing if there is none now; kEnded is the last. If the sandbox ends
    // first, no kEnded comes.
    std::optional<ProcessEvent> next();
    [[nodiscard]] std::uint32_t pid() const { return process_->pid(); }

   private:
    std::shared_ptr<HeldProcess> process_;
    std::uint64_t at_ = 0;
  };

  Result<void> signal(int signal);
  // It is a dry run: nothing else may change its sandbox meanwhile.
  [[nodiscard]] bool is_dry_run() const { return request_.dry_run.wanted; }
  // Waits while the process does not read; kExhausted after a few seconds.
  Result<void> write(std::string_view bytes);
  Result<void> close_stdin();
  Result<void> resize(ProcessRequest::Terminal size);

  [[nodiscard]] ProcessInfo info() const;
  [[nodiscard]] std::uint32_t pid() const { return process_->pid(); }
  // When it ended, once it has.
  [[nodiscard]] std::optional<std::chrono::steady_clock::time_point> ended() const;

  // For the pump's thread. Reads what there is, and does what is due; false once the process no
  // longer needs that.
  bool look(const ProcessPump& pump);
  // When it must be looked at again at the latest, by the sandbox's clock.
  [[nodiscard]] GuestClock::Base::time_point due() const { return due_; }
  // The sandbox has ended, and nobody will look at it any more.
  void lose();

  [[nodiscard]] std::optional<std::uint64_t> oldest() const override;
  void drop_oldest() override;

 private:
  static constexpr std::size_t kMostKept = 1UL << 20;
  // The same, while the memory of its sandbox is full.
  static constexpr std::size_t kMostKeptInNeed = 64UL << 10;

  struct Said {
    ProcessEvent event;
    std::uint64_t stamp = 0;
  };
  // A stream of the process that is read here.
  struct Source {
    UniqueFd fd;
    bool watched = false;
  };

  HeldProcess(Sandbox& sandbox,
              ProcessPump& pump,
              std::shared_ptr<KeptMemory> memory,
              ProcessRequest request,
              OnEnd on_end);
  Result<void> open_streams(const Limits& limits);
  bool read_from(const ProcessPump& pump, Source& source, ProcessEvent::Kind kind);
  void close(const ProcessPump& pump, Source& source);
  void say(ProcessEvent event);
  void say_end(int wait_status);
  [[nodiscard]] Status reason_of(const ProcessEvent& end) const;
  // Both require the lock.
  [[nodiscard]] bool has_room() const;
  void forget_first();

  Sandbox& sandbox_;
  ProcessPump& pump_;
  const ProcessRequest request_;
  const OnEnd on_end_;
  const std::uint64_t oom_kills_before_;
  std::atomic<bool> killed_ = false;  // By a caller.
  std::unique_ptr<GuestProcess> process_;
  // The pump's thread's own, once it runs.
  Source out_;
  Source err_;
  std::string last_errors_;  // The end of its standard error.
  bool timed_out_ = false;
  GuestClock::Base::time_point deadline_ = GuestClock::Base::time_point::max();
  GuestClock::Base::time_point due_ = GuestClock::Base::time_point::max();
  GuestClock::Base::time_point last_words_ = GuestClock::Base::time_point::max();

  std::mutex input_mutex_;
  UniqueFd in_;

  mutable std::mutex mutex_;
  std::deque<Said> said_;
  std::uint64_t first_ = 0;  // The number of said_.front().
  std::size_t bytes_ = 0;
  std::size_t listeners_ = 0;
  bool heard_ = false;    // Somebody has listened.
  bool stalled_ = false;  // It is not read from, because it has no room.
  std::optional<std::chrono::steady_clock::time_point> ended_;
  KeptMemory::Share share_;
};

}  // namespace glovebox::keeper
