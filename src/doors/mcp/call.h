// SPDX-License-Identifier: Apache-2.0
// Call: one request of a client, as the code that answers it sees it.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "doors/mcp/conversation.h"
#include "doors/mcp/message.h"
#include "service/api/caller.h"

namespace glovebox::mcp {

inline constexpr std::string_view kStateless = "2026-07-28";
// The only revision before that one whose clients can ask for a task.
inline constexpr std::string_view kWithTasks = "2025-11-25";

// The conversation, the entry and what the outlet needs outlive it. One thread.
class Call {
 public:
  Call(const Message& message,
       std::string version,
       Params client_capabilities,
       const Caller& caller,
       Conversation& conversation,
       Cancellation& cancellation,
       Outlet outlet);

  [[nodiscard]] const Message& message() const { return message_; }
  [[nodiscard]] const std::string& method() const { return message_.method; }
  [[nodiscard]] const Params& params() const { return message_.params; }
  // "name" of the request and its "arguments"; empty if they are absent.
  [[nodiscard]] std::string name() const;
  [[nodiscard]] const Params& arguments() const;

  // The revision that the request speaks, and whether it is a stateless one.
  [[nodiscard]] const std::string& version() const { return version_; }
  [[nodiscard]] bool stateless() const { return version_ == kStateless; }
  [[nodiscard]] bool client_can(std::string_view capability) const;
  // What the client says of an extension; null if it does not have it.
  [[nodiscard]] const Params* client_extension(std::string_view extension) const;
  [[nodiscard]] const Params& client_capabilities() const { return client_capabilities_; }
  // Whether the client shows its user a form and returns what was filled in.
  [[nodiscard]] bool client_has_forms() const;

  [[nodiscard]] const Caller& caller() const { return caller_; }
  [[nodiscard]] Conversation& conversation() const { return conversation_; }
  [[nodiscard]] Cancellation& cancellation() const { return cancellation_; }

  // Notifications about the request. Nothing is sent if the client did not ask for any.
  void tell(std::string_view message) const { outlet_(message); }
  [[nodiscard]] bool wants_progress() const {
    return !progress_token_.is_null() || outlet_.print != nullptr;
  }
  void progress(double progress, std::optional<double> total, std::string_view message) const;
  void log(std::string_view level, const Json& data) const;

  // Lets the client go, if it can come back for the remaining messages about the request.
  void release() const {
    if (outlet_.release) {
      outlet_.release();
    }
  }

  // Whether the client is asked by the response to the request, which it then sends again.
  [[nodiscard]] bool asks_by_response() const { return stateless() && outlet_.ask == nullptr; }
  // Asks the client in another way; fails with kUnsupported where asks_by_response().
  // `is_moot` as Conversation::ask() has it.
  [[nodiscard]] Result<Params> ask(std::string_view method,
                                   const Json& params,
                                   const std::function<bool()>& is_moot = {}) const;

 private:
  const Message& message_;
  const std::string version_;
  const Params client_capabilities_;
  const Caller& caller_;
  Conversation& conversation_;
  Cancellation& cancellation_;
  const Outlet outlet_;
  Json progress_token_{};
  std::string log_level_{};
};

// The severity of a level (RFC 5424), 0 the least; nothing if it is not a level.
std::optional<int> severity(std::string_view level);

}  // namespace glovebox::mcp
