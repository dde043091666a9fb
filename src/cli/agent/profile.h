// SPDX-License-Identifier: Apache-2.0
// Profiles of coding agents: which program, which hosts it talks to, and which key it shows them.
//
// A profile is data, a TOML file of examples/agents/ that is built in, or one of the caller's.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace glovebox::cli {

// A key that the program finds as a placeholder, and only these hosts receive.
struct AgentKey {
  std::string variable;            // Here and inside.
  std::vector<std::string> hosts;  // As --secret takes them.
  std::string prefix{};            // What the placeholder begins with, for programs that look.
};

struct AgentProfile {
  std::string name;
  std::string description{};
  std::string package{};             // Of npm; for the hint of how to get it.
  std::vector<std::string> command;  // The caller's own words follow.
  std::string setup{};               // A line for sh, before the command; empty: none.
  std::vector<std::string> hosts{};  // As --allow-net takes them.
  std::vector<AgentKey> keys{};
  std::map<std::string, std::string> env{};
};

// kInvalid, naming the field, for what is not a profile.
Result<AgentProfile> parse_agent_profile(const std::string& name, std::string_view toml);

// Those that are built in, by name.
const std::vector<AgentProfile>& shipped_agents();

// Of a name that is built in, or of a file where `name` has a slash or ends with ".toml".
Result<AgentProfile> find_agent_profile(const std::string& name);

}  // namespace glovebox::cli
