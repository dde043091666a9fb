// SPDX-License-Identifier: Apache-2.0
// InputBox: what code asks its user for while it is executed, and the answers.
//
// Whoever executes opens a request and goes on with everything else; an answer makes fd() readable.
// Requests are answered in the order in which they were made, each of them once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox {

// Safe to use from several threads, but for what only the executing one calls. Of one context, or
// of one execution.
class InputBox {
 public:
  static constexpr std::size_t kMaxAnswer = 64UL * 1024;  // Bytes.
  // Open at once: an interpreter whose input does not block may ask again and again.
  static constexpr std::size_t kMaxOpen = 16;

  using Answer = std::optional<std::string>;  // Nothing is the end of input.

  // Answers the oldest open request; with `request`, only if it has that number. kConflict when
  // there is no such request, kInvalid when the answer is too large.
  Result<void> answer(Answer answer, std::optional<std::uint64_t> request = {});

  // ---- for the executing thread

  // The number of a new request, counted from 1 as long as the box lives; nothing when kMaxOpen are
  // open.
  std::optional<std::uint64_t> open();
  [[nodiscard]] std::uint64_t newest() const { return next_ - 1; }  // 0: there was none.
  // An answer that was not taken yet.
  std::optional<Answer> take();
  // Readable when there is one; -1 before the first request, and where the host has no descriptor
  // left: then there is nothing but to look from time to time.
  [[nodiscard]] int fd() const { return ready_.get(); }
  // Closes the open requests and drops answers that were not taken. Returns how many requests were
  // left without an answer.
  std::size_t close();

 private:
  std::mutex mutex_;
  std::uint64_t first_open_ = 1;
  std::uint64_t next_ = 1;
  std::deque<Answer> answers_;
  UniqueFd ready_;
};

}  // namespace glovebox
