// SPDX-License-Identifier: Apache-2.0
// RestDoor: glovebox's own HTTP API (api/openapi.yaml), over one SandboxService.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "doors/ports/door.h"
#include "doors/rest/call.h"
#include "doors/rest/port_pass.h"
#include "doors/transport/http.h"
#include "service/api/approval_desk.h"
#include "service/api/sandbox_service.h"

namespace glovebox::rest {

struct RestOptions {
  // What a caller is shown under /metrics, in Prometheus' text format. From any thread.
  std::function<std::string(const Caller& caller)> metrics;
  // What waits for approval; null if nothing can. It outlives the door.
  ApprovalDesk* approvals = nullptr;
  // Clients reach us by TLS.
  bool tls = false;
};

class RestDoor final : public Door {
 public:
  RestDoor(SandboxService& service, RestOptions options);
  RestDoor(const RestDoor&) = delete;
  RestDoor& operator=(const RestDoor&) = delete;

  // Claims any request: this door comes after all others, and answers what is not found.
  [[nodiscard]] bool claims(const Arrival& arrival) const override;
  [[nodiscard]] bool is_for_guest(const Arrival& arrival) const override;
  void handle(const Arrival& arrival, http::Response& response) override;

 private:
  // Finds out who calls: kRefused if it is nobody we know.
  Result<void> authenticate(Call& call);
  void answer(Call& call);
  // A request for PORT-ID.host; its caller shows a key, or a token of that port.
  void answer_port(Call& call, const PortHost& name);
  // The caller in whose name one of the tokens was made; kRefused if none is valid.
  Result<Caller> token_holder(const PortPass& pass, const PortHost& name);

  SandboxService& service_;
  RestOptions options_;
  const PortTokens port_tokens_;
};

}  // namespace glovebox::rest
