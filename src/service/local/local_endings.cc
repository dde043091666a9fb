// SPDX-License-Identifier: Apache-2.0
// How sandboxes end: what the keeper says of it, what is noted, and what is told.

#include "base/json/json.h"
#include "base/time_text.h"
#include "service/keeper/codec.h"
#include "service/local/local_service.h"

namespace glovebox {
namespace {

using nlohmann::json;

Ending to_ending(const json& said) {
  return {.reason = to_end_reason(said.value("reason", std::string())),
          .at = keeper::to_time(said.value("at", std::int64_t{0}))};
}

// What nobody did on purpose is worth a look.
bool is_alarming(EndReason reason) {
  switch (reason) {
    case EndReason::kDeleted:
    case EndReason::kExpired:
    case EndReason::kEmergencyStop:
      return false;
    case EndReason::kOutOfMemory:
    case EndReason::kCrashed:
    case EndReason::kKeeperEnded:
    case EndReason::kUnknown:
      break;
  }
  return true;
}

void tell(Log& log,
          const std::string& tenant,
          std::string_view id,
          const Ending& ending,
          std::string_view what) {
  const std::string text = "sandbox " + std::string(id) + " of tenant " + tenant +
                           std::string(what) + std::string(to_string(ending.reason)) + ", at " +
                           to_rfc3339(ending.at);
  if (is_alarming(ending.reason)) {
    log.warning(text);
  } else {
    log.info(text);
  }
}

}  // namespace

Ending LocalService::KeeperEndings::of(const std::string& sandbox, SystemTime created) const {
  if (const auto found = ended.find(sandbox); found != ended.end()) {
    return found->second;
  }
  // A keeper that is younger than the sandbox has never had it.
  return {.reason = since && created < *since ? EndReason::kKeeperEnded : EndReason::kUnknown,
          .at = std::chrono::system_clock::now()};
}

LocalService::KeeperEndings LocalService::keeper_endings(
    const std::vector<std::string>& sandboxes) {
  const auto said = keeper_.call("endings", {{"sandboxes", sandboxes}});
  if (!said || !said->is_object()) {
    return {};
  }
  KeeperEndings told{.since = keeper::to_time(said->value("since", std::int64_t{0}))};
  const json ended = said->value("ended", json::object());
  for (const auto& [id, ending] : ended.items()) {
    told.ended.emplace(id, to_ending(ending));
  }
  return told;
}

// Whether its processes are known to be gone, and it can be made again.
bool LocalService::sleeps_on_disk(const SandboxInfo& info) const {
  return info.state == SandboxState::kPaused &&
         (info.restarted ? workspaces_.has(info) : workspaces_.has_saved(info));
}

// A sandbox that can be made again from disk only sleeps if its processes are gone without its
// tenant's wish.
void LocalService::lose(const SandboxEntry& entry, const Ending& ending) {
  SandboxInfo info = entry.info;
  const bool stays = is_alarming(ending.reason) || ending.reason == EndReason::kEmergencyStop;
  if (!stays || !workspaces_.has(info)) {
    forget(info.id, ending);
    return;
  }
  info.state = SandboxState::kPaused;
  info.restarted = true;
  book_.set(info);
  if (ended_) {
    ended_(entry.tenant, info.id, ending);
  }
  tell(log_, entry.tenant, info.id, ending, " stopped, and can be resumed from its disk: ");
}

void LocalService::forget(std::string_view id, const Ending& ending) {
  const std::scoped_lock lock(noting_);
  if (const auto gone = book_.remove(id)) {
    end_record(gone->tenant, id, ending);
  }
}

void LocalService::end_record(const std::string& tenant,
                              std::string_view id,
                              const Ending& ending) {
  (void)records_.end(tenant, id, ending.at, to_string(ending.reason), Durability::kProcess);
  ++ends_[static_cast<std::size_t>(ending.reason)];
  if (ended_) {
    ended_(tenant, id, ending);
  }
  tell(log_, tenant, id, ending, " ended: ");
}

std::optional<Ending> LocalService::ending(const Caller& caller,
                                           std::string_view sandbox,
                                           std::string_view context) {
  if (const auto known = book_.find(caller.tenant, sandbox)) {
    const std::string id(sandbox);
    const KeeperEndings told = keeper_endings({id});
    if (told.ended.contains(id) || (told.since && known->created < *told.since)) {
      look_for_ended();  // Somebody was faster than the watcher.
    }
    if (book_.find(caller.tenant, sandbox)) {
      const auto said =
          context.empty()
              ? Result<json>(json())
              : keeper_.call("context_ending", {{"sandbox", sandbox}, {"context", context}});
      return said && said->is_object() ? std::optional(to_ending(*said)) : std::nullopt;
    }
  }
  // Nobody must find it unknown between its leaving the book and the end in its record.
  const std::scoped_lock lock(noting_);
  const auto record = records_.find(caller.tenant, sandbox);
  if (!record || !record->ended_at) {
    return std::nullopt;
  }
  return Ending{.reason = to_end_reason(record->end_reason), .at = *record->ended_at};
}

}  // namespace glovebox
