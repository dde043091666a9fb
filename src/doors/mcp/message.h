// SPDX-License-Identifier: Apache-2.0
// Messages of the Model Context Protocol: JSON-RPC 2.0, parsed within bounds.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/json/json.h"

namespace glovebox::mcp {

using Json = nlohmann::ordered_json;  // What we write.
using Params = nlohmann::json;        // What a client wrote.

// The largest message that a transport accepts.
inline constexpr std::size_t kMaxMessage = 16UL << 20;

namespace code {
inline constexpr int kParse = -32700;
inline constexpr int kInvalidRequest = -32600;
inline constexpr int kUnknownMethod = -32601;
inline constexpr int kInvalidParams = -32602;
inline constexpr int kInternal = -32603;
inline constexpr int kLegacyNotFound = -32002;  // Of a resource, through 2025-11-25.
inline constexpr int kHeaderMismatch = -32020;
inline constexpr int kMissingCapability = -32021;
inline constexpr int kUnsupportedVersion = -32022;
}  // namespace code

struct RpcError {
  int code = code::kInternal;
  std::string message{};
  Json data{};  // Null: none.
};

// The result of a request, or the error.
using Reply = std::variant<Json, RpcError>;

struct Message {
  enum class Kind { kRequest, kNotification, kResponse };
  Kind kind = Kind::kNotification;
  Json id{};             // A string or an integer; null in a notification.
  std::string method{};  // Empty in a response.
  Params params = Params::object();
  // Of a response: what it carries; nothing when it carries an error.
  std::optional<Params> result{};
};

// What is not a message, with the id to reply to if there is one.
struct Malformed {
  Json id{};
  RpcError error{};
};

std::variant<Message, Malformed> parse_message(std::string_view text);

// As JSON text without line breaks. Invalid UTF-8 becomes U+FFFD.
std::string response_text(const Json& id, const Reply& reply);
std::string notification_text(std::string_view method, const Json& params);
std::string request_text(const Json& id, std::string_view method, const Json& params);
std::string to_text(const Json& json);
// The error as messages hold it.
Json error_json(const RpcError& error);

// The value of a member that is a string; nothing when it is absent or of another type.
std::optional<std::string> text_member(const Params& object, std::string_view name);
// The same for what we wrote; empty if there is none.
std::string text_of(const Json& object, std::string_view name);

}  // namespace glovebox::mcp
