// SPDX-License-Identifier: Apache-2.0
// SandboxRecords: what is known of every sandbox, living ones and ended ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "spec/command.h"
#include "spec/limits.h"
#include "spec/network_rules.h"
#include "store/database.h"

namespace glovebox {

struct SandboxRecord {
  enum class State { kCreating, kRunning, kPaused, kEnded };

  std::string id;  // Of all tenants' sandboxes, no two have the same.
  std::string tenant;
  std::string slot;  // The keeper's own id.
  std::string template_name;
  std::string tier;
  State state = State::kCreating;
  SystemTime created{};
  SystemTime expires{};
  std::optional<SystemTime> ended_at;  // Exactly when `state` is kEnded.
  bool pause_on_timeout = false;       // Else it ends then.
  bool auto_resume = false;
  Limits limits;
  Environment env;
  std::map<std::string, std::string> metadata;
  NetworkRules network{};
  std::string extra = "{}";
  std::string walls = "{}";
  std::string storage = "{}";  // JSON of what it has on disk.
  // As end() was told; empty of what lives, and of what ended before reasons were noted.
  std::string end_reason{};

  friend bool operator==(const SandboxRecord&, const SandboxRecord&) = default;
};

// Safe to use from any thread.
class SandboxRecords {
 public:
  explicit SandboxRecords(Database& database) : database_(database) {}

  // kConflict when the id is taken, kNotFound when there is no such tenant. With kProcess, a
  // sandbox that a power failure ends anyway is not there afterwards.
  Result<void> insert(const SandboxRecord& record, Durability durability);
  // Soon, for who does not wait for it: the writes that follow find it there.
  void leave_insert(SandboxRecord record, Durability durability);

  // kNotFound too when it is another tenant's.
  Result<SandboxRecord> find(std::string_view tenant, std::string_view id);

  // Reads, edits and writes in one transaction; returns what it became. `edit` may refuse, and
  // then nothing is changed. It runs under Work's rules. id, tenant and created stay as they are.
  using Edit = std::function<Result<void>(SandboxRecord&)>;
  Result<SandboxRecord> change(std::string_view tenant,
                               std::string_view id,
                               const Edit& edit,
                               Durability durability);

  // Marks it as ended, and forgets what it was given: its environment, its network's rules, the
  // tokens in `extra`, and what it was made of. What has ended already stays as it is. `reason` has
  // at most 64 characters.
  Result<void> end(std::string_view tenant,
                   std::string_view id,
                   SystemTime at,
                   std::string_view reason,
                   Durability durability);

  // Of all tenants, oldest first: what a daemon that starts has to look for.
  Result<std::vector<SandboxRecord>> alive();

  // Forgets the oldest of those that ended before `before`, at most `most`; returns how many.
  Result<std::uint64_t> forget_ended(SystemTime before, std::size_t most = 1'000);

 private:
  Database& database_;
};

}  // namespace glovebox
