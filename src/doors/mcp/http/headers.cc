// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/http/headers.h"

#include <algorithm>

#include "base/base64.h"
#include "doors/mcp/server.h"
#include "doors/transport/status.h"

namespace glovebox::mcp {
namespace {

RpcError mismatch(const std::string& what) {
  return {.code = code::kHeaderMismatch, .message = what};
}

// Values that no header can hold are sent as "=?base64?…?=".
std::optional<std::string> decoded(std::string_view value) {
  constexpr std::string_view kBegin = "=?base64?";
  constexpr std::string_view kEnd = "?=";
  if (!value.starts_with(kBegin) || !value.ends_with(kEnd) ||
      value.size() < kBegin.size() + kEnd.size()) {
    return std::string(value);
  }
  return from_base64(value.substr(kBegin.size(), value.size() - kBegin.size() - kEnd.size()));
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

std::optional<RpcError> check_headers(const http::Request& request, const Message& message) {
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
  const bool by_name = message.method == "tools/call" || message.method == "prompts/get";
  if (!by_name && message.method != "resources/read") {
    return std::nullopt;
  }
  const auto named = text_member(message.params, by_name ? "name" : "uri");
  const auto name = only_header(request, "mcp-name");
  if (!name || (named && decoded(*name) != named)) {
    return mismatch("the header Mcp-Name must hold the " + std::string(by_name ? "name" : "URI") +
                    " in the message");
  }
  return std::nullopt;
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
