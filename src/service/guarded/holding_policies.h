// SPDX-License-Identifier: Apache-2.0
// HoldingPolicies: which policies hold for a program, and what they demand of its sandbox.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "guard/policy/policy.h"
#include "language/registry.h"
#include "service/api/sandbox_service.h"
#include "service/guarded/policy_demands.h"

namespace glovebox {

struct PolicyOptions {
  std::string tier{};  // For requests that name none, if policies leave it open; empty: any.
  std::vector<policy::Policy> always{};  // For every program of every tenant.
  // For every program of a tenant, by its name.
  std::map<std::string, std::vector<policy::Policy>, std::less<>> of_tenants{};
  std::chrono::seconds approval_time{300};  // How long a program waits for a person.
};

// Policies of the daemon, of the tenant, and those that a sandbox or run was made with, by its
// request and its template; the strictest decides. If none holds, nothing is analysed, and nothing
// costs anything. Any thread; the service outlives it.
class HoldingPolicies {
 public:
  HoldingPolicies(SandboxService& service, PolicyOptions options);

  // For a run, and for a sandbox with contexts. Fails with kInvalid unless each policy that is
  // asked for is the name of a shipped one, and as raise_floor() does.
  [[nodiscard]] Result<PolicyDemands> demands(const Caller& caller,
                                              const RunRequest& request) const;
  [[nodiscard]] Result<PolicyDemands> demands(const Caller& caller,
                                              const SandboxRequest& request) const;

  // `names` are those of shipped policies; an unknown name refuses everything.
  [[nodiscard]] std::vector<policy::Policy> all(const Caller& caller,
                                                const std::vector<std::string>& names) const;
  // The policies among them that need an analysis.
  [[nodiscard]] std::vector<policy::Policy> examining(const Caller& caller,
                                                      const std::vector<std::string>& names) const;
  [[nodiscard]] std::vector<policy::Policy> of_sandbox(const Caller& caller,
                                                       std::string_view sandbox) const;
  // kInvalid if one is not the name of a shipped policy.
  [[nodiscard]] Result<void> known(const std::vector<std::string>& names) const;
  // The id of a run's language, as far as it is known.
  [[nodiscard]] std::string language_of(const RunRequest& request) const;

 private:
  // What is asked for together with what the template asks for; no tier yet, and no rules.
  template <typename Asked>
  [[nodiscard]] Result<PolicyDemands> with_template(const Caller& caller,
                                                    const Asked& request) const;

  SandboxService& service_;
  const PolicyOptions options_;
  std::map<std::string, policy::Policy, std::less<>> shipped_;
  const Registry languages_;
};

}  // namespace glovebox
