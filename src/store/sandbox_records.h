// SPDX-License-Identifier: Apache-2.0
// SandboxRecords: what is known about every sandbox, living or ended.
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

  std::string id;  // Unique among all tenants' sandboxes.
  std::string tenant;
  std::string slot;  // The keeper's own id.
  std::string template_name;
  std::string tier;
  State state = State::kCreating;
  SystemTime created{};
  SystemTime expires{};
  std::optional<SystemTime> ended_at;  // Exactly when `state` is kEnded.
  bool pause_on_timeout = false;       // Otherwise it ends then.
  bool auto_resume = false;
  Limits limits;
  Environment env;
  std::map<std::string, std::string> metadata;
  NetworkRules network{};
  std::string extra = "{}";
  std::string walls = "{}";
  std::string storage = "{}";  // JSON of what it has on disk.
  // As passed to end(); empty for living sandboxes, and if it ended before reasons were noted.
  std::string end_reason{};

  friend bool operator==(const SandboxRecord&, const SandboxRecord&) = default;
};

// Safe to use from any thread.
class SandboxRecords {
 public:
  explicit SandboxRecords(Database& database) : database_(database) {}

  // kConflict if the id is taken, kNotFound if there is no such tenant. With kProcess, the record
  // of a sandbox that a power failure ends anyway is gone afterwards.
  Result<void> insert(const SandboxRecord& record, Durability durability);
  // Inserts soon, for a caller that does not wait: later writes find the record there.
  void leave_insert(SandboxRecord record, Durability durability);

  // Also kNotFound if it is another tenant's.
  Result<SandboxRecord> find(std::string_view tenant, std::string_view id);

  // Reads, edits and writes in one transaction; returns the changed record. If `edit` refuses,
  // nothing changes. It runs under Work's rules. id, tenant and created stay as they are.
  using Edit = std::function<Result<void>(SandboxRecord&)>;
  Result<SandboxRecord> change(std::string_view tenant,
                               std::string_view id,
                               const Edit& edit,
                               Durability durability);

  // Marks it as ended, and forgets what it was given: its environment, its network's rules, the
  // tokens in `extra`, and what it was made of. An ended sandbox stays as it is. `reason` has at
  // most 64 characters.
  Result<void> end(std::string_view tenant,
                   std::string_view id,
                   SystemTime at,
                   std::string_view reason,
                   Durability durability);

  // Of all tenants, oldest first: the sandboxes that a starting daemon has to look for.
  Result<std::vector<SandboxRecord>> alive();

  // Forgets the oldest sandboxes that ended before `before`, at most `most`; returns how many.
  Result<std::uint64_t> forget_ended(SystemTime before, std::size_t most = 1'000);

 private:
  Database& database_;
};

}  // namespace glovebox
