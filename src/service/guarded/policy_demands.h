// SPDX-License-Identifier: Apache-2.0
// PolicyDemands: what policies demand of a sandbox before anybody has read the program.
#pragma once

#include <string>
#include <vector>

#include "sandbox/tiers/tier.h"
#include "service/api/runs.h"
#include "spec/guest_rules.h"

namespace glovebox {

struct PolicyDemands {
  std::vector<std::string> policies;  // Those that it asks for, and those of its template.
  TierWish tier;                      // With their floor.
  GuestRules rules;                   // What can be started and written.
  bool nested = false;                // It asks for that, or its template does.
  Checks checks{};                    // Of a run: its own, and theirs.
};

namespace demanded {

template <typename Request>
auto& program_of(Request& request) {
  if constexpr (requires { request.program; }) {
    return request.program;
  } else {
    return request;
  }
}

// Only a run has checks.
template <typename Asked>
bool has_checks(const Asked& asked, const PolicyDemands& demands) {
  if constexpr (requires { asked.checks; }) {
    return asked.checks == demands.checks;
  }
  return true;
}

}  // namespace demanded

// Passes a request on with what policies demand. Requests can be large: one that already meets the
// demands is not copied.
template <typename Request, typename Next>
auto with_demands(const Request& request, const PolicyDemands& demands, const Next& next) {
  const auto& asked = demanded::program_of(request);
  if (asked.policies == demands.policies && asked.tier == demands.tier &&
      asked.rules == demands.rules && asked.nested == demands.nested &&
      demanded::has_checks(asked, demands)) {
    return next(request);
  }
  Request raised = request;
  demanded::program_of(raised).policies = demands.policies;
  demanded::program_of(raised).tier = demands.tier;
  demanded::program_of(raised).rules = demands.rules;
  demanded::program_of(raised).nested = demands.nested;
  if constexpr (requires { raised.checks; }) {
    raised.checks = demands.checks;
  }
  if constexpr (requires { raised.checker; }) {
    if (raised.checker) {
      raised.checker->rules = demands.rules;
    }
  }
  return next(raised);
}

}  // namespace glovebox
