// SPDX-License-Identifier: Apache-2.0
// The life of one sandbox.
#include <nlohmann/json.hpp>
#include <utility>

#include "service/keeper/codec.h"
#include "service/local/local_service.h"

namespace glovebox {
namespace {

using nlohmann::json;

}  // namespace

Result<SandboxInfo> LocalService::change(const Caller& caller,
                                         std::string_view id,
                                         const SandboxChange& change) {
  SandboxEntry entry{.tenant = caller.tenant,
                     .claim = {},
                     .info = GB_TRY(book_.find(caller.tenant, id))};
  SandboxInfo& info = entry.info;
  if (change.timeout) {
    info.expires = std::chrono::system_clock::now() + *change.timeout;
  }
  info.on_timeout = change.on_timeout.value_or(info.on_timeout);
  info.auto_resume = change.auto_resume.value_or(info.auto_resume);
  info.metadata = change.metadata.value_or(info.metadata);
  info.network = change.network.value_or(info.network);
  info.extra = change.extra.value_or(info.extra);
  return store(entry);
}

Result<void> LocalService::kill(const Caller& caller, std::string_view id) {
  (void)GB_TRY(book_.find(caller.tenant, id));
  const auto killed = call("kill", {{"sandbox", id}});
  // Its time may have been over just now: gone is gone.
  if (!killed && killed.error().code() != ErrorCode::kNotFound) {
    return killed.error();
  }
  forget(id);
  return {};
}

Result<void> LocalService::pause(const Caller& caller, std::string_view id) {
  const SandboxInfo info = GB_TRY(book_.find(caller.tenant, id));
  if (info.state == SandboxState::kPaused) {
    return Error(ErrorCode::kConflict, "sandbox '" + info.id + "' is paused already");
  }
  (void)GB_TRY(call("pause", {{"sandbox", id}}));
  book_.set_state(id, SandboxState::kPaused);
  return {};
}

Result<SandboxInfo> LocalService::resume(const Caller& caller, std::string_view id) {
  SandboxEntry entry{.tenant = caller.tenant,
                     .claim = {},
                     .info = GB_TRY(book_.find(caller.tenant, id))};
  // One whose time ran out while it slept would be paused again at once.
  const auto now = std::chrono::system_clock::now();
  if (entry.info.expires <= now) {
    entry.info.expires = now + std::chrono::minutes(5);
  }
  entry.info = GB_TRY(store(entry));
  (void)GB_TRY(call("resume", {{"sandbox", id}}));
  entry.info.state = SandboxState::kRunning;
  book_.set_state(id, SandboxState::kRunning);
  return entry.info;
}

Result<SandboxUsage> LocalService::usage(const Caller& caller, std::string_view id) {
  (void)GB_TRY(book_.find(caller.tenant, id));
  return keeper::to_usage(GB_TRY(call("usage", {{"sandbox", id}})));
}

}  // namespace glovebox
