// SPDX-License-Identifier: Apache-2.0
// The options that set limits: one for each row of kLimitFields, for every command that has them.
#pragma once

#include <map>
#include <set>
#include <string>

#include "base/result.h"
#include "spec/limit_fields.h"

namespace CLI {
class App;
}  // namespace CLI

namespace glovebox::cli {

// As typed, by the names of limits; empty where an option is absent.
using LimitsText = std::map<std::string, std::string>;

struct LimitOptions {
  const char* group = "Limits";
  std::set<std::string> left_out{};
  // In place of the words of the list.
  std::map<std::string, std::string> help{};
  // Where limits are set on this host: what is its alone to set is offered too, and the help says
  // what holds otherwise.
  bool here = false;
};

void add_limit_options(CLI::App& command, LimitsText& limits, const LimitOptions& how = {});

// "--cpu-time" for "cpu_time".
std::string limit_option(std::string name);

// Those that were given; a time must be more than zero. Errors name the option.
Result<LimitWishes> parse_limits(const LimitsText& limits);

// Those of `base`, with what was given of what is the host's alone to set.
Result<Limits> with_host_limits(const LimitsText& limits, Limits base);

}  // namespace glovebox::cli
