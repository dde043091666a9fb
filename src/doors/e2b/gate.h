// SPDX-License-Identifier: Apache-2.0
// Gate: finds the sandbox whose inside a request is for.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "doors/e2b/notes.h"
#include "doors/e2b/strangers.h"
#include "doors/e2b/tokens.h"
#include "service/api/sandbox_service.h"

namespace glovebox::e2b {

// A sandbox that a request names, and a caller who may use it and nothing else. Do not use the
// caller until the request has shown what entrance.h asks for.
struct Visit {
  Caller caller;
  SandboxInfo info;
  SandboxNotes notes;
};

// Any thread.
class Gate {
 public:
  // Starts out knowing the sandboxes that already exist.
  explicit Gate(SandboxService& service);

  // Must be called for each sandbox that gets notes: a signed URL may not name its sandbox.
  void remember(const SandboxInfo& info, const SandboxNotes& notes);
  void forget(std::string_view id);
  // Whether this sandbox was made, or opened, through this door.
  [[nodiscard]] bool knows(std::string_view id) const;

  // By its id; kNotFound when it is dead, was never there, or has nothing to do with this door.
  // Checks no token and wakes nobody.
  [[nodiscard]] Result<Visit> find(std::string_view id) const;

  // The sandbox whose token made this signature. A signature that was seen before is looked up; any
  // other is compared with every known sandbox. Anybody can cause that, so with a thousand
  // sandboxes or more, its cost per second is bounded (kExhausted).
  Result<Visit> find_signed(const SignedRequest& request, std::string_view signature);

  // Counts a request that has shown a token, and wakes a sleeping sandbox that traffic may wake;
  // kNotFound if traffic may not wake it.
  Result<void> let_in(Visit& visit, bool counted);

 private:
  struct Known {
    std::string access_token;
    SystemTime expires;
  };
  void drop_expired();
  [[nodiscard]] std::string look_up(const SignedRequest& request, std::string_view signature);
  Result<std::string> search(const SignedRequest& request, std::string_view signature);

  SandboxService& service_;
  mutable std::mutex mutex_;
  // Shared with searches, which continue without the lock.
  std::map<std::string, std::shared_ptr<const Known>, std::less<>> known_;
  std::unordered_map<std::string, std::string>
      signed_;  // A signature and the sandbox that it opens.
  Strangers searches_;
};

}  // namespace glovebox::e2b
