// SPDX-License-Identifier: Apache-2.0
// Secrets: stored for what sandboxes send out, and never shown again.
#pragma once

#include "doors/e2b/routes.h"
#include "service/api/secret_service.h"

namespace glovebox::e2b {

class SecretRoutes {
 public:
  explicit SecretRoutes(SandboxService& service) : service_(service) {}

  void add_to(Routes& routes);

 private:
  Result<void> create(ControlCall& call);
  Result<void> list(ControlCall& call);
  Result<void> show(ControlCall& call);
  Result<void> change(ControlCall& call);
  Result<void> remove(ControlCall& call);

  SandboxService& service_;
};

}  // namespace glovebox::e2b
