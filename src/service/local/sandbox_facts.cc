// SPDX-License-Identifier: Apache-2.0
#include "service/local/sandbox_facts.h"

#include <string>

#include "base/json/json.h"
#include "service/keeper/codec.h"
#include "service/local/local_workspaces.h"

namespace glovebox {

using nlohmann::json;

void refresh(SandboxInfo& info, const json& said) {
  if (const auto user = said.value("image_user", std::string()); !user.empty()) {
    info.as_root = true;
    info.run_as = user;
  }
  info.id = said.value("id", std::string());
  info.tier = said.value("tier", std::string());
  info.limits = keeper::to_limits(said.value("limits", json::object()));
  info.walls = said.value("walls", std::string());
  info.state = said.value("paused", false) ? SandboxState::kPaused : SandboxState::kRunning;
  info.expires = keeper::to_time(said.value("expires", std::int64_t{0}));
  info.on_timeout = static_cast<OnTimeout>(said.value("on_timeout", 0));
}

SandboxRecord record_of(const SandboxEntry& entry) {
  const SandboxInfo& info = entry.info;
  return {.id = info.id,
          .tenant = entry.tenant,
          .slot = info.id,
          .template_name = info.template_name,
          .tier = info.tier,
          .state = SandboxRecord::State::kRunning,
          .created = info.created,
          .expires = info.expires,
          .ended_at = {},
          .pause_on_timeout = info.on_timeout == OnTimeout::kPause,
          .auto_resume = info.auto_resume,
          .limits = info.limits,
          .env = info.env,
          .metadata = info.metadata,
          .network = info.network,
          .extra = info.extra,
          .walls = info.walls,
          .storage = encode_kept(info)};
}

QuotaUse use_of(const SandboxInfo& info) {
  return {.sandboxes = 1,
          .memory = info.limits.memory,
          .cpus = info.limits.cpus,
          .disk = info.limits.disk};
}

}  // namespace glovebox
