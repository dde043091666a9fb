// SPDX-License-Identifier: Apache-2.0
// Agent: one thread and one poll loop between the outside, a kernel and the signals.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "channels.h"
#include "connection.h"
#include "executions.h"
#include "kernel_process.h"
#include "kernelspec.h"
#include "mime_values.h"
#include "outside.h"
#include "questions.h"
#include "wire.h"

namespace glovebox::jupyter {

struct AgentOptions {
  Kernelspec spec;
  std::size_t inline_limit = 0;
  std::chrono::milliseconds start_timeout{0};
};

class Agent {
 public:
  // `signals` is a signalfd for SIGINT, SIGTERM and SIGCHLD.
  Agent(AgentOptions options,
        Outside outside,
        UniqueFd signals,
        KernelProcess kernel,
        const Connection& connection,
        const std::string& session);
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  // Serves until the end. Returns our exit status: 0 when the outside ended it, or the kernel
  // ended well while nothing ran.
  int run();

 private:
  using Clock = Executions::Clock;

  enum class State { kStarting, kServing, kEnding };

  void poll_once();
  [[nodiscard]] std::chrono::milliseconds time_to_wait() const;
  void read_outside();
  void handle_request(const Request& request);
  void read_signals();
  void read_kernel(Channel channel);
  void handle_message(Channel channel, const Message& message);
  void handle_time();
  [[nodiscard]] bool can_be_asked() const;
  void greet();
  void become_ready();
  void interrupt_kernel();
  void shut_down();
  void handle_death();
  void end_with(int status);

  AgentOptions options_;
  Outside outside_;
  UniqueFd signals_;
  KernelProcess kernel_;
  Channels channels_;
  RequestMaker maker_;
  MimeValues values_;
  Executions executions_;
  Questions questions_;

  State state_ = State::kStarting;
  int status_ = 0;
  Clock::time_point start_deadline_;
  bool greeted_ = false;
  std::optional<Clock::time_point> next_greeting_;
  std::optional<Json> kernel_info_;
  bool output_connected_ = false;
};

}  // namespace glovebox::jupyter
