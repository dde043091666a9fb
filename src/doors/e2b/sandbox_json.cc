// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/sandbox_json.h"

#include <algorithm>
#include <cmath>

#include "doors/e2b/times.h"

namespace glovebox::e2b {

SandboxNotes notes_of(const SandboxInfo& info) {
  SandboxNotes notes = read_notes(info.extra).value_or(SandboxNotes{});
  if (notes.template_id.empty()) {
    notes.template_id = info.template_name;
  }
  return notes;
}

Json opened_json(const SandboxInfo& info, const SandboxNotes& notes, const E2bOptions& options) {
  Json json{{"sandboxID", info.id},
            {"templateID", info.template_name},
            {"alias", info.template_name},
            {"clientID", "local"},
            {"envdVersion", kEnvdVersion},
            {"trafficAccessToken", notes.traffic_token},
            {"domain", options.domain.empty() ? Json(nullptr) : Json(options.domain)}};
  if (notes.secure) {
    json["envdAccessToken"] = notes.access_token;
  }
  return json;
}

Json listed_json(const SandboxInfo& info, const SandboxNotes& notes) {
  const auto megabytes = [](Bytes bytes) { return bytes.count >> 20; };
  return {{"sandboxID", info.id},
          {"templateID", notes.template_id},
          {"alias", info.template_name},
          {"clientID", "local"},
          {"startedAt", to_rfc3339(info.created)},
          {"endAt", to_rfc3339(info.expires)},
          {"state", info.state == SandboxState::kPaused ? "paused" : "running"},
          {"cpuCount", std::max(1L, std::lround(std::ceil(info.limits.cpus)))},
          {"memoryMB", megabytes(info.limits.memory)},
          {"diskSizeMB", megabytes(info.limits.disk)},
          {"envdVersion", kEnvdVersion},
          {"metadata", info.metadata},
          {"volumeMounts", Json::array()}};
}

Json detail_json(const SandboxInfo& info, const SandboxNotes& notes, const E2bOptions& options) {
  Json json = listed_json(info, notes);
  if (notes.secure && !notes.access_token.empty()) {
    json["envdAccessToken"] = notes.access_token;  // Readers are shown notes without one.
  }
  json["domain"] = options.domain.empty() ? Json(nullptr) : Json(options.domain);
  json["allowInternetAccess"] = notes.internet ? Json(*notes.internet) : Json(nullptr);
  if (!notes.network.empty()) {
    json["network"] = notes.network;
  }
  json["lifecycle"] = {{"onTimeout", info.on_timeout == OnTimeout::kPause ? "pause" : "kill"},
                       {"autoResume", info.auto_resume}};
  return json;
}

}  // namespace glovebox::e2b
