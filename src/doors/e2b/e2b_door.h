// SPDX-License-Identifier: Apache-2.0
// E2bDoor: E2B's protocol, as its JavaScript SDKs e2b 2.51.0 and @e2b/code-interpreter 2.8.0 speak
// it (docs/e2b.md). One port serves this door and the others.
#pragma once

#include <memory>
#include <string_view>

#include "doors/e2b/options.h"
#include "doors/ports/door.h"
#include "service/api/sandbox_service.h"

namespace glovebox::e2b {

// The service outlives it.
class E2bDoor final : public Door {
 public:
  E2bDoor(SandboxService& service, E2bOptions options);
  ~E2bDoor() override;
  E2bDoor(const E2bDoor&) = delete;
  E2bDoor& operator=(const E2bDoor&) = delete;

  // Whether a request is for this door: by E2B's headers, by a host name PORT-ID.DOMAIN of a
  // sandbox that was made here, by the signature of a file's URL, or by a route of E2B's control
  // API.
  [[nodiscard]] bool claims(const Arrival& arrival) const override;
  // For any port but the two that this door serves itself.
  [[nodiscard]] bool is_for_guest(const Arrival& arrival) const override;
  void handle(const Arrival& arrival, http::Response& response) override;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace glovebox::e2b
