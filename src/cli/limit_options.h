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

// As typed, by the names of limits; an absent option is empty.
using LimitsText = std::map<std::string, std::string>;

struct LimitOptions {
  const char* group = "Limits";
  std::set<std::string> left_out{};
  // Replaces the help that kLimitFields has.
  std::map<std::string, std::string> help{};
  // Limits are set on this host: limits that only the host may set are offered, too, and the help
  // shows the defaults.
  bool here = false;
};

void add_limit_options(CLI::App& command, LimitsText& limits, const LimitOptions& how = {});

// "--cpu-time" for "cpu_time".
std::string limit_option(std::string name);

// The limits that were given; a time must be more than zero. Errors name the option.
Result<LimitWishes> parse_limits(const LimitsText& limits);

// The limits of `base`, with those given that only the host may set.
Result<Limits> with_host_limits(const LimitsText& limits, Limits base);

}  // namespace glovebox::cli
