// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/http/admission.h"

#include <string_view>
#include <utility>

#include "base/base64.h"
#include "doors/mcp/http/headers.h"
#include "doors/mcp/message.h"
#include "doors/transport/status.h"

namespace glovebox::mcp {
namespace {

constexpr std::size_t kMaxKey = 512;

// What follows the scheme in the header Authorization.
std::optional<std::string_view> credentials(const http::Request& request, std::string_view scheme) {
  const auto given = request.header("authorization");
  if (!given || given->size() <= scheme.size() || (*given)[scheme.size()] != ' ' ||
      !http::equal_names(given->substr(0, scheme.size()), scheme)) {
    return std::nullopt;
  }
  return given->substr(scheme.size() + 1);
}

std::optional<std::string> shown_key(const http::Request& request) {
  if (const auto key = request.header("x-api-key")) {
    return std::string(*key);
  }
  if (const auto bearer = credentials(request, "Bearer")) {
    return std::string(*bearer);
  }
  const auto basic = credentials(request, "Basic");
  const auto pair = basic && basic->size() <= 2 * kMaxKey ? from_base64(*basic) : std::nullopt;
  if (!pair || pair->find(':') == std::string::npos) {
    return std::nullopt;
  }
  return pair->substr(pair->find(':') + 1);
}

}  // namespace

void send_error(http::Response& response,
                int status,
                int number,
                std::string message,
                const http::Headers& more) {
  http::Headers headers{{"Content-Type", "application/json"}, {"Cache-Control", "no-store"}};
  headers.insert(headers.end(), more.begin(), more.end());
  (void)response.send(status, headers,
                      response_text({}, RpcError{.code = number, .message = std::move(message)}));
}

std::optional<Caller> Admission::admit(http::Request& request, http::Response& response) const {
  if (!may_come_from(request, origins)) {
    send_error(response, 403, code::kInvalidRequest, "this origin may not use the server");
    return std::nullopt;
  }
  auto caller = authenticate(request);
  if (!caller) {
    const bool refused = caller.error().code() == ErrorCode::kRefused;
    send_error(response, refused ? 401 : 503, code::kInvalidRequest,
               refused ? "a valid API key is required" : caller.error().message(),
               refused ? http::Headers{{"WWW-Authenticate", "Bearer"}} : http::Headers{});
    return std::nullopt;
  }
  request.facts().tenant = caller->tenant;
  request.facts().key = caller->key;
  return *std::move(caller);
}

Result<Caller> authenticate_by_key(SandboxService& service, const http::Request& request) {
  const auto key = shown_key(request);
  if (!key && request.over_unix_socket()) {
    return service.unix_peer();
  }
  if (!key || key->size() > kMaxKey) {
    return Error(ErrorCode::kRefused, "no API key");
  }
  return service.authenticate(*key);
}

}  // namespace glovebox::mcp
