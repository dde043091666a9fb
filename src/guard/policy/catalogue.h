// SPDX-License-Identifier: Apache-2.0
// What is known about single modules, calls, commands and patterns: the names of rules, how bad
// they are, and why. Policies decide what is allowed; this table only lets findings explain
// themselves.
#pragma once

#include <string_view>

#include "guard/policy/assessment.h"
#include "guard/policy/fact.h"

namespace glovebox::policy {

struct KnownRule {
  FactKind kind;
  std::string_view name;  // Covers the dotted names below it.
  std::string_view rule;
  Severity severity;
  std::string_view reason;
};

// The entry for `name` with the longest name, or null.
const KnownRule* known_rule(FactKind kind, std::string_view name);

}  // namespace glovebox::policy
