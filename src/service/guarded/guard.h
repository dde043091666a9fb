// SPDX-License-Identifier: Apache-2.0
// Guard: decides whether a caller may do something.
#pragma once

#include <memory>
#include <string_view>

#include "base/result.h"
#include "files/file_client.h"
#include "service/api/caller.h"
#include "service/api/sandbox_service.h"
#include "service/templates/recipe.h"

namespace glovebox {

// What a call needs of a key.
enum class Need {
  kRead,     // The scope "read".
  kLook,     // "read" or "run": what an action must know about its target.
  kRun,      // "run".
  kAdmin,    // "admin".
  kApprove,  // "approve".
};

// Any thread; the service outlives it. Each function fails with kRefused unless the caller's key is
// still valid and has what is needed; a caller that showed a token is confined to what it opens.
class Guard {
 public:
  explicit Guard(SandboxService& service) : service_(service) {}

  // Something of the whole tenant's, or of the daemon.
  [[nodiscard]] Result<void> tenant(const Caller& caller, Need need) const;
  // Something in one sandbox,
  [[nodiscard]] Result<void> sandbox(const Caller& caller, Need need, std::string_view id) const;
  // or the end of one, which a stop keeps as evidence from all but administrators,
  [[nodiscard]] Result<void> end(const Caller& caller, std::string_view id) const;
  // or one volume, by its id if a token opened it.
  [[nodiscard]] Result<void> volume(const Caller& caller, Need need, std::string_view id) const;
  // Something new that runs, in a sandbox or, without an id, in none yet: refused, too, while an
  // emergency stop is in effect for it.
  [[nodiscard]] Result<void> work(const Caller& caller, std::string_view sandbox = {}) const;
  // A template: some recipes read the host or run its programs.
  [[nodiscard]] Result<void> recipe(const Caller& caller, const Recipe& recipe) const;
  // Anything that needs this scope, wherever it is.
  [[nodiscard]] Result<void> scope(const Caller& caller, std::string_view scope) const;

  // What a process says, for as long as the key is valid: it may go on for days.
  [[nodiscard]] Result<std::unique_ptr<ProcessFeed>> feed(
      const Caller& caller, Result<std::unique_ptr<ProcessFeed>> feed) const;

 private:
  [[nodiscard]] Result<void> not_stopped(const Caller& caller, std::string_view sandbox) const;
  [[nodiscard]] Result<void> key(const Caller& caller, Need need) const;

  SandboxService& service_;
};

[[nodiscard]] constexpr Need of(FileAccess access) {
  return access == FileAccess::kRead ? Need::kLook : Need::kRun;
}

// `files`, limited to that access.
[[nodiscard]] Result<FileClient> limited(FileAccess access, Result<FileClient> files);

}  // namespace glovebox
