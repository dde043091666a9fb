// SPDX-License-Identifier: Apache-2.0
// Ports of a sandbox, by path. The guest behind them sees the client's request without the keys.
#include <algorithm>
#include <charconv>

#include "doors/rest/port_pass.h"
#include "doors/rest/routes.h"
#include "doors/rest/sandbox_json.h"
#include "doors/transport/status.h"

namespace glovebox::rest {
namespace {

// "/v1/sandboxes/ID/ports/PORT": what is ours of the path.
constexpr int kOwnSegments = 5;

std::string inner_target(const Target& target, bool named_by_host) {
  std::string_view rest = target.raw_path;
  for (int i = 0; !named_by_host && i < kOwnSegments; ++i) {
    rest.remove_prefix(std::min(rest.find('/', 1), rest.size()));
  }
  std::string inner(rest.empty() ? "/" : rest);
  if (!target.raw_query.empty()) {
    inner += "?" + std::string(target.raw_query);
  }
  return inner;
}

bool is_any(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::any_of(names.begin(), names.end(),
                     [&](std::string_view other) { return http::equal_names(name, other); });
}

std::string inner_head(const Call& call) {
  const http::Request& request = call.request;
  const auto wanted = request.header("upgrade");
  // With a token, the guest may have an authorization of its own.
  const bool by_bearer = !request.over_unix_socket() && !request.header("x-api-key") &&
                         (!call.named_by_host || carries_key(request));
  std::string head = std::string(request.method()) + " " +
                     inner_target(call.target, call.named_by_host) + " HTTP/1.1\r\n";
  for (const auto& [name, value] : request.headers()) {
    const bool ours =
        is_any(name, {"x-api-key", "x-port-token", "connection", "keep-alive", "proxy-connection",
                      "proxy-authorization", "expect", "upgrade", "te"}) ||
        (by_bearer && is_any(name, {"authorization"}));
    if (!ours) {
      head += name + ": " + value + "\r\n";
    }
  }
  if (wanted) {
    head += "Connection: Upgrade\r\nUpgrade: " + std::string(*wanted) + "\r\n\r\n";
  } else {
    head += "Connection: close\r\n\r\n";
  }
  return head;
}

}  // namespace

Result<void> proxy_port(Call& call) {
  const std::string& text = call.parameters[1];
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size() || port == 0) {
    return Error(ErrorCode::kInvalid, "the port is to be a number from 1 to 65535");
  }
  FileClient files = GB_TRY(call.service.files(call.caller, call.parameters[0]));
  auto peer = files.connect(port);
  if (!peer) {
    if (peer.error().code() != ErrorCode::kUnavailable) {
      return std::move(peer).error();
    }
    call.send_problem(502, "unavailable", "nothing listens on this port of the sandbox");
    return {};
  }
  call.status = 200;  // The guest's own status passes by unread.
  if (auto relayed = call.response.relay(*std::move(peer), inner_head(call)); !relayed) {
    call.send_problem(502, "unavailable", relayed.error().message());
  }
  return {};
}

Result<void> create_port_token(Call& call) {
  constexpr std::chrono::hours kMost{24};
  Fields fields = GB_TRY(call.fields());
  const auto port = fields.count("port", 1, 65'535);
  if (!port) {
    fields.refuse("port", "a number from 1 to 65535 is wanted");
  }
  const auto lifetime = fields.duration("expires_in").value_or(std::chrono::hours(1));
  if (lifetime > kMost) {
    fields.refuse("expires_in", "24 hours are the most");
  }
  GB_TRY(fields.done());
  const SandboxInfo info = GB_TRY(call.service.find(call.caller, call.parameters[0]));
  const SystemTime expires = std::chrono::system_clock::now() + lifetime;
  call.send_json(201,
                 {{"token", call.port_tokens.make(call.caller.tenant, info.id,
                                                  static_cast<std::uint16_t>(*port), expires)},
                  {"port", *port},
                  {"expires", to_text(expires)}},
                 {{"Cache-Control", "no-store"}});
  return {};
}

}  // namespace glovebox::rest
