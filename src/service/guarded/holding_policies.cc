// SPDX-License-Identifier: Apache-2.0
#include "service/guarded/holding_policies.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "service/api/template_service.h"
#include "service/policies/policy_walls.h"
#include "service/policies/tier_floor.h"

namespace glovebox {
namespace {

using policy::Action;
using policy::Policy;

std::map<std::string, Policy, std::less<>> parse_shipped() {
  std::map<std::string, Policy, std::less<>> parsed;
  for (const std::string_view name : policy::shipped_policies()) {
    auto policy = policy::parse_policy(policy::shipped_policy(name), name);
    GB_CHECK(policy.has_value());
    parsed.emplace(name, *std::move(policy));
  }
  return parsed;
}

Policy refusing_all(const std::string& name) {
  Policy policy;
  policy.origin = name;
  policy.lists[policy::Subject::kLanguages].otherwise = Action::kRefuse;
  return policy;
}

Result<TierWish> raise_floors(TierWish wish, const std::vector<Policy>& policies) {
  for (const Policy& policy : policies) {
    wish = GB_TRY(raise_floor(std::move(wish), policy));
  }
  return wish;
}

// The operator's tier, if the wish leaves it open and no policy demands a stronger one.
Result<TierWish> with_usual_tier(TierWish wish,
                                 const std::string& usual,
                                 const std::vector<Policy>& policies) {
  if (!usual.empty() && wish.exactly.empty()) {
    auto usually = raise_floors({.exactly = usual, .at_least = wish.at_least}, policies);
    if (usually && candidate_tiers(*usually)) {
      return usually;
    }
  }
  return raise_floors(std::move(wish), policies);
}

}  // namespace

HoldingPolicies::HoldingPolicies(SandboxService& service, PolicyOptions options)
    : service_(service),
      options_(std::move(options)),
      shipped_(parse_shipped()),
      languages_(Registry::load(Registry::user_directories())) {}

Result<void> HoldingPolicies::known(const std::vector<std::string>& names) const {
  for (const std::string& name : names) {
    if (!shipped_.contains(name)) {
      std::string all;
      for (const auto& [each, policy] : shipped_) {
        all += (all.empty() ? "" : ", ") + each;
      }
      return Error(ErrorCode::kInvalid, "unknown policy '" + printable(name) + "'",
                   "the policies are " + all);
    }
  }
  return {};
}

std::vector<Policy> HoldingPolicies::all(const Caller& caller,
                                         const std::vector<std::string>& names) const {
  std::vector<Policy> policies = options_.always;
  if (const auto own = options_.of_tenants.find(caller.tenant); own != options_.of_tenants.end()) {
    policies.insert(policies.end(), own->second.begin(), own->second.end());
  }
  for (const std::string& name : names) {
    // An older or newer version knew this name: then nothing is known to be allowed.
    const auto found = shipped_.find(name);
    policies.push_back(found != shipped_.end() ? found->second : refusing_all(name));
  }
  return policies;
}

std::vector<Policy> HoldingPolicies::examining(const Caller& caller,
                                               const std::vector<std::string>& names) const {
  std::vector<Policy> policies = all(caller, names);
  std::erase_if(policies, [](const Policy& policy) { return !policy.examines(); });
  return policies;
}

template <typename Asked>
Result<PolicyDemands> HoldingPolicies::with_template(const Caller& caller,
                                                     const Asked& request) const {
  GB_TRY(known(request.policies));
  PolicyDemands demands{.policies = request.policies,
                        .tier = request.tier,
                        .rules = {},
                        .nested = request.nested};
  // A template that is not there fails where it is used.
  if (const auto info = service_.template_service().find(caller, request.template_name)) {
    for (const std::string& name : info->policies) {
      if (std::ranges::find(demands.policies, name) == demands.policies.end()) {
        demands.policies.push_back(name);
      }
    }
    demands.nested = demands.nested || (info->parts.nested && !request.as_root);
  }
  return demands;
}

Result<PolicyDemands> HoldingPolicies::demands(const Caller& caller,
                                               const RunRequest& request) const {
  PolicyDemands demands = GB_TRY(with_template(caller, request));
  const std::vector<Policy> policies = all(caller, demands.policies);
  std::string usual = options_.tier;
  if (!usual.empty()) {
    const auto language = languages_.find(language_of(request));
    if (language && !language->tier.empty()) {
      usual.clear();  // What only one tier can run goes there.
    }
  }
  demands.tier = GB_TRY(with_usual_tier(std::move(demands.tier), usual, policies));
  demands.rules = guest_rules_of(policies);
  demands.checks = request.checks;
  for (const Policy& policy : policies) {
    demands.checks.add(policy.checks);
  }
  return demands;
}

Result<PolicyDemands> HoldingPolicies::demands(const Caller& caller,
                                               const SandboxRequest& request) const {
  PolicyDemands demands = GB_TRY(with_template(caller, request));
  const std::vector<Policy> policies = all(caller, demands.policies);
  demands.tier = GB_TRY(with_usual_tier(std::move(demands.tier), options_.tier, policies));
  demands.rules = guest_rules_for_contexts(policies, languages_);
  return demands;
}

std::vector<Policy> HoldingPolicies::of_sandbox(const Caller& caller,
                                                std::string_view sandbox) const {
  // A sandbox that is not there fails where it is used.
  const auto info = service_.find(caller, sandbox);
  return examining(caller, info ? info->policies : std::vector<std::string>());
}

std::string HoldingPolicies::language_of(const RunRequest& request) const {
  const auto language =
      request.language.empty()
          ? languages_.detect(request.name, std::string_view(request.code).substr(0, 512))
          : languages_.find(request.language);
  return language ? language->id : request.language;
}

}  // namespace glovebox
