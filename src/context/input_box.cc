// SPDX-License-Identifier: Apache-2.0
#include "context/input_box.h"

#include <sys/eventfd.h>

#include <utility>

namespace glovebox {

Result<void> InputBox::answer(Answer answer, std::optional<std::uint64_t> request) {
  if (answer && answer->size() > kMaxAnswer) {
    return Error(ErrorCode::kInvalid, "the input is larger than 64 KiB",
                 "write it to a file and have the code read that");
  }
  const std::scoped_lock lock(mutex_);
  if (first_open_ == next_) {
    return Error(ErrorCode::kConflict, "no input is requested in this context",
                 "set allow_input for the execution, and reply once to each input_request event");
  }
  if (request.value_or(first_open_) != first_open_) {
    return Error(ErrorCode::kConflict, "input request " + std::to_string(*request) + " is not open",
                 "reply to request " + std::to_string(first_open_) + " first");
  }
  ++first_open_;
  answers_.push_back(std::move(answer));
  if (ready_) {
    (void)::eventfd_write(ready_.get(), 1);
  }
  return {};
}

std::optional<std::uint64_t> InputBox::open() {
  const std::scoped_lock lock(mutex_);
  if (next_ - first_open_ >= kMaxOpen) {
    return std::nullopt;
  }
  if (!ready_) {
    ready_ = UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE));
  }
  return next_++;
}

std::optional<InputBox::Answer> InputBox::take() {
  const std::scoped_lock lock(mutex_);
  if (answers_.empty()) {
    return std::nullopt;
  }
  if (eventfd_t count = 0; ready_) {
    (void)::eventfd_read(ready_.get(), &count);
  }
  Answer answer = std::move(answers_.front());
  answers_.pop_front();
  return answer;
}

std::size_t InputBox::close() {
  while (take()) {
  }
  const std::scoped_lock lock(mutex_);
  return static_cast<std::size_t>(next_ - std::exchange(first_open_, next_));
}

}  // namespace glovebox
