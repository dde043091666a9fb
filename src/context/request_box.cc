// SPDX-License-Identifier: Apache-2.0
#include "context/request_box.h"

#include <sys/eventfd.h>

#include <utility>

namespace glovebox {
namespace {

Error not_open(std::uint64_t call) {
  return {ErrorCode::kConflict, "tool call '" + std::to_string(call) + "' is not open",
          "it was answered before, or its execution has ended"};
}

}  // namespace

Result<void> RequestBox::answer(Line line, std::optional<std::uint64_t> request) {
  if (line && line->size() > kMaxLine) {
    return Error(ErrorCode::kInvalid, "the input is larger than 64 KiB",
                 "write it to a file and have the code read that");
  }
  const std::scoped_lock lock(mutex_);
  if (lines_.empty()) {
    return Error(ErrorCode::kConflict, "no input is requested in this context",
                 "set allow_input for the execution, and reply once to each input_request event");
  }
  if (request.value_or(lines_.front()) != lines_.front()) {
    return Error(ErrorCode::kConflict, "input request " + std::to_string(*request) + " is not open",
                 "reply to request " + std::to_string(lines_.front()) + " first");
  }
  lines_.pop_front();
  put({.type = agent::Request::kInput, .payload = agent::encode_input(line ? &*line : nullptr)});
  return {};
}

Result<void> RequestBox::answer_call(std::uint64_t call, const ToolAnswer& answer) {
  if ((answer.error ? *answer.error : answer.result).size() > kMaxResult) {
    return Error(ErrorCode::kInvalid, "the result of a tool may have 1 MiB",
                 "write it to a file in the sandbox, and return its path");
  }
  const std::scoped_lock lock(mutex_);
  const auto found = calls_.find(call);
  if (found == calls_.end()) {
    if (call == 0 || call >= next_) {
      return Error(ErrorCode::kNotFound, "no tool call '" + std::to_string(call) + "'",
                   "use the id of a tool_call event of this context");
    }
    return not_open(call);
  }
  if (waiting_ + answer.result.size() > kMaxWaiting) {
    return Error(ErrorCode::kExhausted,
                 "4 MiB of results wait for the code in this context to take them",
                 "try again when the sandbox is resumed and the code has read them");
  }
  std::string payload = GB_TRY(agent::encode(found->second.number, answer));
  calls_.erase(found);
  put({.type = agent::Request::kToolResult, .payload = std::move(payload)});
  return {};
}

ToolWait RequestBox::wait_of(std::uint64_t call) {
  const std::scoped_lock lock(mutex_);
  const auto found = calls_.find(call);
  return found == calls_.end() ? ToolWait{}
                               : ToolWait{.open = true, .agreed = found->second.agreed};
}

Result<void> RequestBox::agree(std::uint64_t call, std::string hash) {
  const std::scoped_lock lock(mutex_);
  const auto found = calls_.find(call);
  if (found == calls_.end()) {
    return not_open(call);
  }
  found->second.agreed = std::move(hash);
  return {};
}

std::uint64_t RequestBox::issue() {
  if (!ready_) {
    ready_ = UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE));
  }
  return next_++;
}

void RequestBox::put(Answer answer) {
  waiting_ += answer.payload.size();
  answers_.push_back(std::move(answer));
  if (ready_) {
    (void)::eventfd_write(ready_.get(), 1);
  }
}

std::optional<std::uint64_t> RequestBox::open_line() {
  const std::scoped_lock lock(mutex_);
  if (lines_.size() >= kMaxOpenLines) {
    return std::nullopt;
  }
  return lines_.emplace_back(issue());
}

std::optional<std::uint64_t> RequestBox::open_call(std::uint32_t number) {
  const std::scoped_lock lock(mutex_);
  if (calls_.size() >= kMaxOpenCalls) {
    return std::nullopt;
  }
  const std::uint64_t call = issue();
  calls_.emplace(call, OpenCall{.number = number});
  return call;
}

std::optional<RequestBox::Answer> RequestBox::take() {
  const std::scoped_lock lock(mutex_);
  if (answers_.empty()) {
    return std::nullopt;
  }
  if (eventfd_t count = 0; ready_) {
    (void)::eventfd_read(ready_.get(), &count);
  }
  Answer answer = std::move(answers_.front());
  answers_.pop_front();
  waiting_ -= answer.payload.size();
  return answer;
}

std::size_t RequestBox::close() {
  while (take()) {
  }
  const std::scoped_lock lock(mutex_);
  calls_.clear();
  return std::exchange(lines_, {}).size();
}

}  // namespace glovebox
