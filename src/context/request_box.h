// SPDX-License-Identifier: Apache-2.0
// RequestBox: what code asks of its user while it is executed, and the answers: lines of input, and
// what the tools that it calls return.
//
// The executing thread opens a request and continues with everything else; an answer makes fd()
// readable. Each request is answered once: lines in the order in which they were asked for, calls
// in any order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "context/agent_protocol.h"
#include "spec/tool.h"

namespace glovebox {

// Safe to use from several threads, except for what only the executing one calls. Belongs to one
// context, or to one execution.
class RequestBox {
 public:
  static constexpr std::size_t kMaxLine = 64UL * 1024;  // Bytes.
  static constexpr std::size_t kMaxResult = 1UL << 20;
  // Open at once: an interpreter whose requests do not block may ask again and again.
  static constexpr std::size_t kMaxOpenLines = 16;
  static constexpr std::size_t kMaxOpenCalls = 64;
  // Bytes of results that the interpreter has not taken, because it is paused or does not listen.
  static constexpr std::size_t kMaxWaiting = 4UL << 20;

  using Line = std::optional<std::string>;  // Nothing is the end of input.

  // Answers the oldest open request for a line; with `request`, only if it has that number.
  // kConflict when there is no such request, kInvalid when the line is too large.
  Result<void> answer(Line line, std::optional<std::uint64_t> request = {});

  // Answers a call by its number. kNotFound when there never was one, kConflict when it is not open
  // any more, kInvalid when the answer is too large or not JSON, and kExhausted when too much waits
  // to be taken: then the call stays open.
  Result<void> answer_call(std::uint64_t call, const ToolAnswer& answer);

  // The state of a call. Nobody has agreed to anything about a call that is not open.
  ToolWait wait_of(std::uint64_t call);

  // Notes what a person has agreed to about a call, by its hash, for as long as the call is open.
  // kConflict when it is not.
  Result<void> agree(std::uint64_t call, std::string hash);

  // For the executing thread.

  // The number of a new request, counted from 1 as long as the box lives; nothing when too many of
  // its kind are open. `number` is what the agent calls it.
  std::optional<std::uint64_t> open_line();
  std::optional<std::uint64_t> open_call(std::uint32_t number);

  // What goes to the agent.
  struct Answer {
    agent::Request type{};
    std::string payload;
  };
  // An answer that was not taken yet.
  std::optional<Answer> take();
  // Readable when there is an answer; -1 before the first request, and if the host has no
  // descriptor left: then the caller has to look from time to time.
  [[nodiscard]] int fd() const { return ready_.get(); }
  // Closes the open requests and drops answers that were not taken. Returns how many requests for a
  // line were left without an answer.
  std::size_t close();

 private:
  // What follows requires the mutex.
  std::uint64_t issue();
  void put(Answer answer);

  std::mutex mutex_;
  std::uint64_t next_ = 1;
  std::deque<std::uint64_t> lines_;  // The numbers of those that are open.
  struct OpenCall {
    std::uint32_t number = 0;  // What the agent calls it.
    std::string agreed{};
  };
  std::map<std::uint64_t, OpenCall> calls_;  // By their numbers.
  std::deque<Answer> answers_;
  std::size_t waiting_ = 0;  // Bytes of them.
  UniqueFd ready_;
};

}  // namespace glovebox
