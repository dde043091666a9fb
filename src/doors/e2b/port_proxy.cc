// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/port_proxy.h"

#include <algorithm>
#include <optional>
#include <string>

#include "doors/e2b/answers.h"
#include "doors/ports/guest_head.h"
#include "spec/json/error_json.h"

namespace glovebox::e2b {
namespace {

// The host that the client wants the guest to see, instead of the one by which it is reached.
std::optional<std::string> masked_host(const Visit& visit) {
  const Json* const mask = member(visit.notes.network, "maskRequestHost");
  if (mask == nullptr || !mask->is_string()) {
    return std::nullopt;
  }
  std::string host = mask->get<std::string>();
  std::erase_if(host, [](char c) { return c <= ' ' || c > '~'; });
  return host;
}

}  // namespace

void PortProxy::serve(std::uint16_t port,
                      const Visit& visit,
                      http::Request& request,
                      http::Response& response) {
  auto files = service_.files(visit.caller, visit.info.id, FileAccess::kConnect);
  auto connection = files ? files->connect(port) : Result<UniqueFd>(files.error());
  if (!connection) {
    answer(response, 502,
           {{"sandboxId", visit.info.id},
            {"message", "The sandbox is running but port is not open"},
            {"port", port},
            {"code", 502}});
    return;
  }
  const std::string head = ports::guest_head(request, request.target(), masked_host(visit));
  if (auto relayed = response.relay(*std::move(connection), head); !relayed) {
    refuse_traffic(response, http_status(relayed.error().code()), visit.info.id,
                   relayed.error().message());
  }
}

}  // namespace glovebox::e2b
