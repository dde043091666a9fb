// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/message.h"

#include <cstdint>
#include <utility>

#include "spec/json/bounded_json.h"

namespace glovebox::mcp {
namespace {

constexpr JsonBounds kBounds{.values = 100'000, .depth = 64};
constexpr std::size_t kMaxId = 1'024;

Malformed invalid(std::string message, Json id = {}) {
  return {.id = std::move(id),
          .error = {.code = code::kInvalidRequest, .message = std::move(message)}};
}

// Null when the value is not an id.
Json read_id(const Params& value) {
  if (value.is_string() && value.get_ref<const std::string&>().size() <= kMaxId) {
    return value.get_ref<const std::string&>();
  }
  if (value.is_number_unsigned()) {
    return value.get<std::uint64_t>();
  }
  return value.is_number_integer() ? Json(value.get<std::int64_t>()) : Json();
}

}  // namespace

std::variant<Message, Malformed> parse_message(std::string_view text) {
  auto parsed = parse_json(text, kBounds);
  if (!parsed) {
    return Malformed{
        .id = {},
        .error = {.code = parsed.error().code() == ErrorCode::kUnavailable ? code::kInternal
                                                                           : code::kParse,
                  .message = parsed.error().message()}};
  }
  if (!parsed->is_object()) {
    return invalid(parsed->is_array() ? "batches are not supported; send one message at a time"
                                      : "a message must be a JSON object");
  }
  Message message;
  const auto id = parsed->find("id");
  const bool has_id = id != parsed->end();
  if (has_id) {
    message.id = read_id(*id);
  }
  if (text_member(*parsed, "jsonrpc") != "2.0") {
    return invalid("\"jsonrpc\" must be \"2.0\"", message.id);
  }
  if (const auto method = text_member(*parsed, "method")) {
    message.method = *method;
    message.kind = has_id ? Message::Kind::kRequest : Message::Kind::kNotification;
    if (has_id && message.id.is_null()) {
      return invalid("\"id\" must be a string or an integer");
    }
    if (const auto params = parsed->find("params"); params != parsed->end()) {
      if (!params->is_object()) {
        return Malformed{
            .id = message.id,
            .error = {.code = code::kInvalidParams, .message = "\"params\" must be an object"}};
      }
      message.params = std::move(*params);
    }
    return message;
  }
  if (!has_id || (!parsed->contains("result") && !parsed->contains("error"))) {
    return invalid("a message needs a \"method\", or an \"id\" with a \"result\" or an \"error\"",
                   message.id);
  }
  message.kind = Message::Kind::kResponse;
  if (const auto result = parsed->find("result"); result != parsed->end()) {
    message.result = std::move(*result);
  }
  return message;
}

std::string to_text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json error_json(const RpcError& error) {
  Json json{{"code", error.code}, {"message", error.message}};
  if (!error.data.is_null()) {
    json["data"] = error.data;
  }
  return json;
}

std::string response_text(const Json& id, const Reply& reply) {
  Json message{{"jsonrpc", "2.0"}, {"id", id}};
  if (const auto* const error = std::get_if<RpcError>(&reply)) {
    message["error"] = error_json(*error);
  } else {
    message["result"] = std::get<Json>(reply);
  }
  return to_text(message);
}

std::string notification_text(std::string_view method, const Json& params) {
  return to_text({{"jsonrpc", "2.0"}, {"method", method}, {"params", params}});
}

std::string request_text(const Json& id, std::string_view method, const Json& params) {
  return to_text({{"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", params}});
}

std::optional<std::string> text_member(const Params& object, std::string_view name) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  return found != object.end() && found->is_string() ? std::optional(found->get<std::string>())
                                                     : std::nullopt;
}

std::string text_of(const Json& object, std::string_view name) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace glovebox::mcp
