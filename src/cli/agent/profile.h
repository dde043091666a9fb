// SPDX-License-Identifier: Apache-2.0
// Profiles of coding agents: which program to run, which hosts it talks to, and with which key.
//
// A profile is data: a TOML file of examples/agents/, which are built in, or one of the caller's.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace glovebox::cli {

// A key that the program finds as a placeholder, and only these hosts receive.
struct AgentKey {
  std::string variable;            // Its name here and inside.
  std::vector<std::string> hosts;  // As --secret takes them.
  std::string prefix{};            // What the placeholder begins with, for programs that check.
};

struct AgentProfile {
  std::string name;
  std::string description{};
  std::string package{};             // The npm package; for the hint that says how to get it.
  std::vector<std::string> command;  // The caller's own words follow.
  std::string setup{};               // A line for sh, before the command; empty: none.
  std::vector<std::string> hosts{};  // As --allow-net takes them.
  std::vector<AgentKey> keys{};
  std::map<std::string, std::string> env{};
};

// kInvalid, naming the field, for what is not a profile.
Result<AgentProfile> parse_agent_profile(const std::string& name, std::string_view toml);

// The built-in profiles, by name.
const std::vector<AgentProfile>& shipped_agents();

// The built-in profile with that name, or the file if `name` has a slash or ends with ".toml".
Result<AgentProfile> find_agent_profile(const std::string& name);

}  // namespace glovebox::cli
