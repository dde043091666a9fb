// SPDX-License-Identifier: Apache-2.0
#include "service/keeper/wire.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "base/json/json.h"
#include "base/sys/descriptors.h"
#include "base/sys/send_now.h"
#include "base/text.h"

namespace glovebox::keeper {
namespace {

constexpr std::size_t kReceiveSize = 64UL * 1024;
// What an idle connection may keep allocated.
constexpr std::size_t kKept = 4UL * 1024;
constexpr std::chrono::milliseconds kForever{-1};

Error gone() {
  return {ErrorCode::kUnavailable, "the sandbox keeper is gone", "try again in a moment"};
}

bool is_ready(int socket, short events, std::chrono::milliseconds patience) {
  pollfd polled{socket, events, 0};
  int ready = 0;
  do {
    ready = ::poll(&polled, 1, static_cast<int>(patience.count()));
  } while (ready < 0 && errno == EINTR);
  return ready != 0;
}

// Whether the number that arrived is one of ours. The compiler warns of a code that is missing.
bool is_code(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalid:
    case ErrorCode::kNotFound:
    case ErrorCode::kConflict:
    case ErrorCode::kExhausted:
    case ErrorCode::kUnsupported:
    case ErrorCode::kUnavailable:
    case ErrorCode::kRefused:
    case ErrorCode::kInternal:
      return true;
  }
  return false;
}

}  // namespace

Result<void> KeeperWire::send(MessageType type,
                              std::string_view text,
                              std::span<const int> passed,
                              std::chrono::milliseconds patience) {
  queue(type, text);
  return send_queued(passed, patience);
}

void KeeperWire::queue(MessageType type, std::string_view text) {
  append_message(outgoing_, static_cast<std::uint8_t>(type), 0, text);
}

Result<void> KeeperWire::flush() { return send_queued({}, std::chrono::milliseconds(0)); }

Result<void> KeeperWire::flush_all() { return send_queued({}, kSendPatience); }

Result<void> KeeperWire::send_queued(std::span<const int> passed,
                                     std::chrono::milliseconds patience) {
  while (sent_ < outgoing_.size()) {
    const std::string_view left = std::string_view(outgoing_).substr(sent_);
    const auto sent = sys::send_now(socket_.get(), left, passed);
    if (!sent) {
      return gone();
    }
    if (*sent > 0) {
      passed = {};
      sent_ += *sent;
    }
    if (*sent < left.size()) {
      if (patience.count() == 0) {
        return {};
      }
      if (!is_ready(socket_.get(), POLLOUT, patience)) {
        return gone();
      }
    }
  }
  if (outgoing_.capacity() > kKept) {
    outgoing_ = {};
  }
  outgoing_.clear();
  sent_ = 0;
  return {};
}

Result<std::optional<Message>> KeeperWire::receive(
    std::optional<std::chrono::milliseconds> patience) {
  // Not cleared: a page for each connection that is never touched costs nothing.
  const std::unique_ptr<char[]> buffer(new char[kReceiveSize]);
  for (;;) {
    Frame frame;
    while (GB_TRY(parser_.next(frame))) {
      switch (joiner_.join(frame)) {
        case MessageJoiner::Joined::kMore:
          break;
        case MessageJoiner::Joined::kWhole:
          return std::optional(Message{static_cast<MessageType>(frame.type), joiner_.take(frame)});
        case MessageJoiner::Joined::kTooLong:
          return Error(ErrorCode::kInternal, "a message from the sandbox keeper is too long");
      }
    }
    if (patience && !is_ready(socket_.get(), POLLIN, *patience)) {
      return std::optional<Message>();
    }
    const ssize_t got = sys::receive_with(socket_.get(), {buffer.get(), kReceiveSize}, passed_, 0);
    if (got < 0 &&
        (errno == EINTR || (errno == EAGAIN && is_ready(socket_.get(), POLLIN, kForever)))) {
      continue;
    }
    if (got <= 0) {
      return gone();
    }
    parser_.feed({buffer.get(), static_cast<std::size_t>(got)});
  }
}

std::string encode(const Error& error) {
  nlohmann::json json{{"code", static_cast<int>(error.code())},
                      {"message", to_utf8(error.message())},
                      {"hint", to_utf8(error.hint())}};
  if (error.os_error() != 0) {
    json["os_error"] = error.os_error();
  }
  if (error.retry_after()) {
    json["retry_after"] = error.retry_after()->count();
  }
  return json.dump();
}

Error decode_error(std::string_view text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  const auto member = [&json](const char* name) {
    const auto found = json.is_object() ? json.find(name) : json.end();
    return json.is_object() && found != json.end() ? *found : nlohmann::json();
  };
  const nlohmann::json code = member("code");
  const nlohmann::json message = member("message");
  const auto known = static_cast<ErrorCode>(code.is_number_unsigned() ? code.get<int>() : -1);
  if (!is_code(known) || !message.is_string()) {
    return {ErrorCode::kInternal, "the sandbox keeper sent a malformed error"};
  }
  const nlohmann::json hint = member("hint");
  const nlohmann::json os_error = member("os_error");
  const nlohmann::json wait = member("retry_after");
  Error error = Error(known, message.get<std::string>(),
                      hint.is_string() ? hint.get<std::string>() : std::string())
                    .with_os_error(os_error.is_number_integer() ? os_error.get<int>() : 0);
  return wait.is_number_unsigned()
             ? std::move(error).with_retry_after(std::chrono::seconds(wait.get<std::uint32_t>()))
             : error;
}

}  // namespace glovebox::keeper
