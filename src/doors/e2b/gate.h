// SPDX-License-Identifier: Apache-2.0
// Gate: which sandbox a request for the inside of one means, and whether it may go there.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "doors/e2b/notes.h"
#include "doors/e2b/tokens.h"
#include "doors/transport/http.h"
#include "service/sandbox_service.h"
#include "service/tenants/token_bucket.h"

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
  explicit Gate(SandboxService& service);

  // To be told of each sandbox that a client has come to know: signed URLs and names of hosts carry
  // no token that would say whose it is.
  void remember(const std::string& tenant, const SandboxInfo& info, const SandboxNotes& notes);
  void forget(std::string_view id);
  [[nodiscard]] bool knows(std::string_view id) const;

  // Finds a sandbox by its id, and wakes it when it sleeps and may be woken by traffic. kNotFound
  // when it is dead, asleep or was never there. Does not check any token.
  Result<Visit> enter(std::string_view id, const http::Request& request);

  // The one whose token made this signature. A signature that was seen before is looked up; any
  // other is compared with every sandbox that is known, which anybody may ask for: so what that may
  // cost in a second is bounded (kExhausted).
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
  [[nodiscard]] std::string find_signed(const SignedRequest& request, std::string_view signature);
  Result<std::string> search_signed(const SignedRequest& request, std::string_view signature);

  SandboxService& service_;
  mutable std::mutex mutex_;
  // Shared with searches, which go on without the lock.
  std::map<std::string, std::shared_ptr<const Known>, std::less<>> known_;
  std::unordered_map<std::string, std::string>
      signed_;  // A signature and the sandbox that it opens.
  TokenBucket searches_;
};

}  // namespace glovebox::e2b
