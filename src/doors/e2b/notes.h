// SPDX-License-Identifier: Apache-2.0
// SandboxNotes: what this door wants to find again with a sandbox, kept in SandboxInfo::extra.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "doors/e2b/fields.h"

namespace glovebox::e2b {

struct SandboxNotes {
  std::string access_token;   // For envd and /execute. Never changes: clients keep it over a pause.
  std::string traffic_token;  // For the code interpreter, and for ports that are not public.
  bool secure = true;         // The access token is required, and clients are given it.
  bool public_ports = true;
  std::optional<bool> internet;   // As the client set it.
  std::string template_id;        // As the client named it.
  Json network = Json::object();  // What the client may be told of its network (network.h).
  // What the default context of a language is called. One that is listed but was never used has an
  // id and no context: it is made at its first use.
  struct DefaultContext {
    std::string id;
    std::string made;  // The service's id, or empty.
  };
  std::map<std::string, DefaultContext> contexts;
};

// New secrets for a sandbox of `tenant`, and the two default contexts that E2B always lists.
Result<SandboxNotes> make_notes(std::string_view tenant);

// Nothing when the sandbox was not made through this door.
std::optional<SandboxNotes> read_notes(std::string_view extra);

// `extra` with the notes in it, keeping everything else in it.
std::string write_notes(std::string_view extra, const SandboxNotes& notes);

}  // namespace glovebox::e2b
