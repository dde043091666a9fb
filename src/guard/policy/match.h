// SPDX-License-Identifier: Apache-2.0
// How the entries of a policy's lists match what a program contains.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "guard/policy/policy.h"

namespace glovebox::policy {

// What a list says about one thing, and by which entry; null if it is the list's `otherwise`.
struct Match {
  Action action = Action::kAllow;
  const Entry* entry = nullptr;
};

// The most specific entry that matches wins; of equally specific ones the strictest.
Match match_name(const RuleList& list, std::string_view name);
Match match_host(const RuleList& list, std::string_view host);
Match match_path(const RuleList& list, std::string_view path);

// The strictest entry that matches wins: one command can do several things at once.
Match match_command(const RuleList& list, const std::vector<std::string>& argv);

// A path without "//", "/./" and "x/..", which need no file system to be resolved.
std::string normal_path(std::string_view path);

}  // namespace glovebox::policy
