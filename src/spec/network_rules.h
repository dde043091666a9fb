// SPDX-License-Identifier: Apache-2.0
// NetworkRules: where a sandbox may connect to. A value and the decisions that follow from it;
// glovebox-egress (src/egress) enforces them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "spec/credential_rules.h"
#include "spec/ip_address.h"
#include "spec/network_rule.h"

namespace glovebox {

// What a sandbox may use of the network. What is absent is bounded by the proxy's own constants
// (src/egress/proxy.h), which nothing here can exceed.
struct NetworkBudget {
  std::optional<std::uint64_t> connections{};  // In all.
  std::optional<std::uint64_t> sent{};         // Bytes of the guest, in all.
  std::optional<std::uint64_t> received{};     // Bytes for it, in all.
  std::optional<std::uint64_t> rate{};         // Bytes a second, in each direction.

  friend bool operator==(const NetworkBudget&, const NetworkBudget&) = default;
};

struct NetworkRules {
  static constexpr std::size_t kMaxRules = 1'000;  // Of a list.
  static constexpr std::size_t kMaxRule = NetworkRule::kMaxText;

  enum class Otherwise { kDeny, kAllow };

  std::vector<NetworkRule> allow{};
  std::vector<NetworkRule> deny{};
  Otherwise otherwise = Otherwise::kDeny;  // Where no rule matches.
  // An `allow` rule beats a `deny` rule, as E2B's protocol has it; else it is the other way round.
  bool allow_first = false;
  CredentialRules credentials{};
  NetworkBudget budget{};

  friend bool operator==(const NetworkRules&, const NetworkRules&) = default;
};

struct NetworkDecision {
  bool allowed = false;
  std::string rule;  // What decided: "deny 10.0.0.0/8", "allow *.example.com", "default", or the
                     // kind of an address that nothing reaches by default: "link-local addresses".
};

// Whose an address is.
enum class AddressOwner {
  kOther,
  kThisHost,  // One of an interface of the machine that would connect.
};

// Whether a guest may connect to `port` of `address`, which it knows as `name` (empty: by its
// address alone). The name must be the one that was resolved to this very address.
//
// In this order: a `deny` rule that matches denies, unless `allow_first` is set and an `allow` rule
// matches. An address that is not public (loopback, private, link-local, of a cloud's metadata,
// multicast, …) is denied, unless an `allow` rule names it by addresses of that kind only:
// 10.0.0.0/8 does, 0.0.0.0/0 and names do not. An address of this host is denied, too, unless a
// rule names just that one (or it is a loopback address, for which the sentence before holds). An
// `allow` rule that matches allows. Else the default counts. Pure, any thread.
NetworkDecision decide(const NetworkRules& rules,
                       std::string_view name,
                       const IpAddress& address,
                       std::uint16_t port,
                       AddressOwner owner = AddressOwner::kOther);

// What the rules say of a name before anybody has looked up its addresses.
struct NameDecision {
  enum class Fate {
    kDenied,   // Whatever its addresses are. Looking it up would only tell others the name.
    kAllowed,  // A rule, or the default, allows it by its name.
    kOpen,     // No rule knows the name, but one might allow its address.
  };
  Fate fate = Fate::kDenied;
  std::string rule;  // As in NetworkDecision.
};

// The name is not an address. If the fate is kAllowed, ask decide() about the address, too, unless
// somebody else looks the name up. Pure, any thread.
NameDecision decide_name(const NetworkRules& rules, std::string_view name, std::uint16_t port);

// Whether one of these rules is about this place. `name` may be empty, `address` may be absent.
bool concerns(const std::vector<NetworkRule>& rules,
              std::string_view name,
              const std::optional<IpAddress>& address,
              std::uint16_t port);

// Whether an address is of no special kind: nothing but a rule or the default decides about it.
bool is_public(const IpAddress& address);

// Adds rules that allow connections to the credentials' hosts, where there are none yet.
void allow_credential_hosts(NetworkRules& rules);

// kInvalid for what makes no sense: a rate so low that nothing arrives.
Result<void> check_budget(const NetworkBudget& budget);

// Whether the rules let anything out at all.
bool lets_out(const NetworkRules& rules);

// What an operator lets the sandboxes of clients reach at most.
enum class NetworkPolicy {
  kNone,    // Nothing.
  kPublic,  // As their rules say, of public addresses that are not this machine's.
  kAny,     // As their rules say.
};

// "none", "public", "any".
std::optional<NetworkPolicy> parse_network_policy(std::string_view text);

// kRefused, with a hint on what to ask the operator, if the policy forbids one of the rules: any
// that lets something out, or one that is only about addresses that are not public. Addresses of
// this machine are found out only when somebody connects.
Result<void> check_policy(const NetworkRules& rules, NetworkPolicy policy);

}  // namespace glovebox
