// SPDX-License-Identifier: Apache-2.0
// Access: who is calling, and whether they still may.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "service/api/caller.h"
#include "service/api/sandboxes.h"

namespace glovebox {

// A sandbox, and a caller who may use it and nothing else.
struct Bearer {
  Caller caller{};
  SandboxInfo info{};
};

class Access {
 public:
  virtual ~Access() = default;

  // The caller that holds this key; kRefused if nobody does. Takes the same time for every wrong
  // key. `unix_peer` is a caller that has proved to be the user who runs this daemon.
  virtual Result<Caller> authenticate(std::string_view key) = 0;
  virtual Caller unix_peer() = 0;
  // kRefused if the caller's key was revoked or has expired, or if it lacks this scope. For what a
  // door does without any other call, and before it parses a request.
  virtual Result<void> admit(const Caller& caller, std::string_view scope) = 0;
  // Counts one more request of a caller that was authenticated before: for each message on a
  // connection that stays open. kRefused once the key was revoked or has expired.
  virtual Result<void> renew(const Caller& caller) = 0;
  // For clients that show a sandbox's token instead of a key. Nothing is proved yet: the door
  // compares the token before it uses the caller. A caller that carries the id of a key is refused
  // once that key is no longer valid.
  virtual Result<Bearer> bearer(std::string_view sandbox) = 0;
  // All that exist now.
  virtual std::vector<Bearer> bearers() = 0;
  // Random, and the same after a restart: for what doors sign. Valid as long as this object.
  [[nodiscard]] virtual std::string_view signing_key() const = 0;
};

}  // namespace glovebox
