// SPDX-License-Identifier: Apache-2.0
// Executions: carries each execution from its frame to Jupyter and back.
//
// One execution is with the kernel at a time; the others wait here, because a kernel that knew of
// them would abort them after an error. An execution is done when both its reply (shell channel)
// and the `idle` status of its request (iopub channel) have come: the channels are two sockets, so
// the reply often overtakes the last output.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "channels.h"
#include "mime_values.h"
#include "outside.h"
#include "wire.h"

namespace glovebox::jupyter {

class Executions {
 public:
  using Clock = std::chrono::steady_clock;

  static constexpr std::size_t kMaxWaiting = 256;
  static constexpr std::size_t kMaxWaitingBytes = 64U << 20;

  Executions(Outside& outside,
             Channels& channels,
             RequestMaker& maker,
             MimeValues& values,
             std::function<void()> interrupt_kernel)
      : outside_(outside),
        channels_(channels),
        maker_(maker),
        values_(values),
        interrupt_kernel_(std::move(interrupt_kernel)) {}

  // Frames 1 and 2.
  void handle_execute(const Request& request);
  void handle_input(const Request& request);

  // Messages of the kernel.
  void handle_output(const Message& message);  // iopub
  void handle_reply(const Message& message);   // shell
  void handle_stdin(const Message& message);

  // Interrupts the running execution, if there is one: an interrupt might end an idle kernel.
  void interrupt();

  // When something must be done even if no message comes.
  [[nodiscard]] std::optional<Clock::time_point> deadline() const;
  void handle_time(Clock::time_point now);
  // The outside takes no output, so nothing is read: what is missing may have arrived long ago.
  void postpone(Clock::time_point now);

  // Messages on their way over this channel may never arrive.
  void handle_loss(Channel channel);

  // Ends the running execution with an error, and the waiting ones as aborted. Returns whether
  // there was a running one.
  bool handle_death(const std::string& how);

  // Sends a note on the newest channel, but only the first of each `kind` in an execution.
  void note_once(const std::string& kind, std::string_view text);

 private:
  struct Waiting {
    std::uint32_t channel = 0;
    Json content;
    std::size_t size = 0;
  };

  struct Running {
    std::uint32_t channel = 0;
    std::string id;
    bool silent = false;
    bool started = false;
    bool idle = false;
    bool error_sent = false;
    const char* missing = nullptr;  // What to say about output that may be missing.
    std::int64_t count = 0;
    std::optional<Json> reply;                       // Its content.
    std::optional<Json> input_request;               // Its header.
    std::optional<Clock::time_point> interrupt_due;  // Came before the kernel was ready for it.
    std::optional<Clock::time_point> missing_due;    // By then reply and idle must both be there.
  };

  void start_next();
  void start(std::int64_t count);
  void half_done();
  void finish();
  void send_pages(const Json& reply);
  void send_error(std::uint32_t channel, const Json& content);
  void handle_own_status(const Message& message);
  void send_stream(std::uint32_t channel, const Json& content);
  void send_bundle(FrameType type, std::uint32_t channel, const Json& content);
  void send_display(std::uint32_t channel, const Json& content, bool update);
  void done(std::uint32_t channel, const char* status, std::int64_t count);
  [[nodiscard]] bool is_of_running(const Message& message) const;
  [[nodiscard]] std::uint32_t output_channel(const Message& message);

  Outside& outside_;
  Channels& channels_;
  RequestMaker& maker_;
  MimeValues& values_;
  std::function<void()> interrupt_kernel_;
  std::deque<Waiting> waiting_;
  std::size_t waiting_bytes_ = 0;
  std::optional<Running> running_;
  std::uint32_t last_channel_ = 0;
  std::set<std::string> noted_;
};

}  // namespace glovebox::jupyter
