// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/http/headers.h"

#include <algorithm>

#include "base/base64.h"
#include "doors/transport/status.h"

namespace glovebox::mcp {
namespace {

RpcError mismatch(const std::string& what) {
  return {.code = code::kHeaderMismatch, .message = what};
}

// Values that no header can hold are sent as "=?base64?…?=". Nothing when that is not written as
// RFC 4648 does, for a router may read it with less patience than we would.
std::optional<std::string> decoded(std::string_view value) {
  constexpr std::string_view kBegin = "=?base64?";
  constexpr std::string_view kEnd = "?=";
  if (!value.starts_with(kBegin) || !value.ends_with(kEnd) ||
      value.size() < kBegin.size() + kEnd.size()) {
    return std::string(value);
  }
  const std::string_view coded =
      value.substr(kBegin.size(), value.size() - kBegin.size() - kEnd.size());
  auto text = from_base64(coded);
  return text && to_base64(*text) == coded ? text : std::nullopt;
}

// The only one of its name, or nothing.
std::optional<std::string_view> only_header(const http::Request& request, std::string_view name) {
  std::optional<std::string_view> found;
  for (const auto& [each, value] : request.headers()) {
    if (http::equal_names(each, name)) {
      if (found) {
        return std::nullopt;
      }
      found = value;
    }
  }
  return found;
}

// The parameter that Mcp-Name repeats; null for a method without one.
const char* named_by(std::string_view method) {
  if (method == "tools/call" || method == "prompts/get") {
    return "name";
  }
  if (method == "tasks/get" || method == "tasks/update" || method == "tasks/cancel") {
    return "taskId";
  }
  return method == "resources/read" ? "uri" : nullptr;
}

// What a header must hold for the value; nothing for a value that no header repeats.
std::optional<std::string> mirrored_text(const Params& value) {
  if (value.is_string()) {
    return value.get<std::string>();
  }
  return value.is_boolean() || value.is_number_integer() ? std::optional(value.dump())
                                                         : std::nullopt;
}

std::optional<RpcError> check_mirrored(const http::Request& request,
                                       const Message& message,
                                       const std::vector<Features::Mirrored>& mirrored) {
  const auto arguments = message.params.find("arguments");
  for (const auto& [argument, name] : mirrored) {
    const std::string header_name = "mcp-param-" + name;
    const auto header = only_header(request, header_name);
    const bool given = arguments != message.params.end() && arguments->is_object() &&
                       arguments->contains(argument);
    const auto expected = given ? mirrored_text(arguments->at(argument)) : std::nullopt;
    const bool agrees = expected ? header && decoded(*header) == expected
                                 : !request.header(header_name).has_value();
    if (!agrees) {
      return mismatch("the header Mcp-Param-" + name + " must hold the argument '" + argument +
                      "'");
    }
  }
  return std::nullopt;
}

// The host of "scheme://host:port" or "host:port".
std::string_view host_of(std::string_view text) {
  if (const std::size_t scheme = text.find("://"); scheme != std::string_view::npos) {
    text.remove_prefix(scheme + 3);
  }
  if (text.starts_with('[')) {
    return text.substr(0, std::min(text.find(']') + 1, text.size()));
  }
  return text.substr(0, text.find(':'));
}

bool is_this_machine(std::string_view host) {
  return host == "localhost" || host == "127.0.0.1" || host == "[::1]";
}

}  // namespace

std::optional<RpcError> check_headers(const http::Request& request,
                                      const Message& message,
                                      const Features& features) {
  const auto version = Server::stateless_version(message);
  if (!version) {
    return RpcError{.code = code::kInvalidParams,
                    .message = "\"_meta\" lacks io.modelcontextprotocol/protocolVersion"};
  }
  const auto header = only_header(request, "mcp-protocol-version");
  if (!header || header != version) {
    return mismatch("the header MCP-Protocol-Version must name the version in \"_meta\"");
  }
  if (message.kind != Message::Kind::kRequest) {
    return std::nullopt;
  }
  if (only_header(request, "mcp-method") != std::string_view(message.method)) {
    return mismatch("the header Mcp-Method must name the method of the message");
  }
  const char* const member = named_by(message.method);
  if (member == nullptr) {
    return std::nullopt;
  }
  const auto named = text_member(message.params, member);
  const auto name = only_header(request, "mcp-name");
  if (!name || (named && decoded(*name) != named)) {
    return mismatch("the header Mcp-Name must hold \"" + std::string(member) + "\" of the message");
  }
  return message.method == "tools/call" && named
             ? check_mirrored(request, message, features.mirrored(*named))
             : std::nullopt;
}

bool may_come_from(const http::Request& request, const std::vector<std::string>& origins) {
  const auto origin = request.header("origin");
  if (!origin || std::ranges::find(origins, *origin) != origins.end()) {
    return true;
  }
  // A name that an attacker has pointed at this machine is in both headers (DNS rebinding).
  return is_this_machine(host_of(*origin)) &&
         is_this_machine(host_of(request.header("host").value_or("")));
}

bool accepts(const http::Request& request, std::string_view type) {
  const std::string_view wanted = request.header("accept").value_or("");
  return wanted.find(type) != std::string_view::npos ||
         wanted.find("*/*") != std::string_view::npos;
}

int status_of(std::string_view response_text) {
  // Only our own errors begin so; a result cannot.
  constexpr std::string_view kError = R"("error":{"code":)";
  const std::size_t at = response_text.substr(0, 2'048).find(kError);
  if (at == std::string_view::npos || response_text.find("\"result\":") < at) {
    return 200;
  }
  const std::string_view number = response_text.substr(at + kError.size(), 7);
  if (number.starts_with("-32601")) {
    return 404;
  }
  return number.starts_with("-32603") ? 200 : 400;
}

}  // namespace glovebox::mcp
