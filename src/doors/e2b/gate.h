// SPDX-License-Identifier: Apache-2.0
// Gate: which sandbox a request for the inside of one means, and whether it may go there.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "doors/e2b/notes.h"
#include "doors/e2b/secrets.h"
#include "doors/transport/http.h"
#include "service/sandbox_service.h"

namespace glovebox::e2b {

// A living sandbox that a request may look at, with who its owner is.
struct Visit {
  Caller caller;
  SandboxInfo info;
  SandboxNotes notes;
};

// Any thread.
class Gate {
 public:
  explicit Gate(SandboxService& service) : service_(service) {}

  // To be told of each sandbox that a client has come to know: signed URLs and names of hosts carry
  // no token that would say whose it is.
  void remember(const std::string& tenant, const SandboxInfo& info, const SandboxNotes& notes);
  void forget(std::string_view id);
  [[nodiscard]] bool knows(std::string_view id) const;

  // Finds a sandbox by its id, and wakes it when it sleeps and may be woken by traffic. kNotFound
  // when it is dead, asleep or was never there. Does not check any token.
  Result<Visit> enter(std::string_view id, const http::Request& request);

  // The one whose token made this signature.
  Result<Visit> enter_signed(const SignedRequest& request, std::string_view signature);

  // Whether the request shows the secret for commands, files and code.
  static bool shows_access_token(const http::Request& request, const SandboxNotes& notes);
  static bool shows_traffic_token(const http::Request& request, const SandboxNotes& notes);

 private:
  struct Known {
    std::string tenant;
    std::string access_token;
    SystemTime expires;
  };
  [[nodiscard]] std::optional<std::string> tenant_of(std::string_view id) const;
  Result<Visit> enter_as(const std::string& tenant, std::string_view id);
  void drop_expired();

  SandboxService& service_;
  mutable std::mutex mutex_;
  std::map<std::string, Known, std::less<>> known_;
};

}  // namespace glovebox::e2b
