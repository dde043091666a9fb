// SPDX-License-Identifier: Apache-2.0
// Ports of a sandbox, by path. The guest behind them sees the client's request without the keys.
#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "doors/ports/guest_head.h"
#include "doors/rest/routes.h"
#include "doors/rest/sandbox_json.h"

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

}  // namespace

Result<void> proxy_port(Call& call) {
  const std::string& text = call.parameters[1];
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size() || port == 0) {
    return Error(ErrorCode::kInvalid, "invalid port '" + printable(text) + "'",
                 "use a number from 1 to 65535");
  }
  FileClient files =
      GB_TRY(call.service.files(call.caller, call.parameters[0], FileAccess::kConnect));
  auto peer = files.connect(port);
  if (!peer) {
    if (peer.error().code() != ErrorCode::kUnavailable) {
      return std::move(peer).error();
    }
    call.send_problem(502, "unavailable", "nothing is listening on this port of the sandbox",
                      "start a server on 127.0.0.1 in the sandbox first");
    return {};
  }
  const std::string head =
      ports::guest_head(call.request, inner_target(call.target, call.named_by_host), {});
  GB_TRY(call.response.relay(*std::move(peer), head));
  return {};
}

Result<void> create_port_token(Call& call) {
  constexpr std::chrono::hours kMost{24};
  Fields fields = GB_TRY(call.fields());
  const auto port = fields.count("port", 1, 65'535);
  if (!port) {
    fields.refuse("port", "must be a number from 1 to 65535");
  }
  const auto lifetime = fields.duration("expires_in").value_or(std::chrono::hours(1));
  if (lifetime > kMost) {
    fields.refuse("expires_in", "must be at most 24 hours");
  }
  GB_TRY(fields.done());
  const SandboxInfo info = GB_TRY(call.service.find(call.caller, call.parameters[0]));
  const SystemTime expires = std::chrono::system_clock::now() + lifetime;
  call.send_json(201, "port_token",
                 {{"token", call.port_tokens.make(call.caller.key, info.id,
                                                  static_cast<std::uint16_t>(*port), expires)},
                  {"port", *port},
                  {"expires", to_text(expires)}},
                 {{"Cache-Control", "no-store"}});
  return {};
}

}  // namespace glovebox::rest
