// SPDX-License-Identifier: Apache-2.0
// NetworkRules: where a sandbox may connect to. A value and a decision; nothing enforces it yet.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "spec/ip_address.h"

namespace glovebox {

// One of these, each with ":PORT" behind it or for any port:
//   example.com           that name
//   *.example.com         the names below it, at any depth, and not itself
//   192.0.2.0/24          addresses; a single one without its length
//   2001:db8::/32         the same for IPv6; with a port: [2001:db8::/32]:443
struct NetworkRule {
  std::string name{};  // In lower case; empty: `block` counts.
  bool below = false;  // The names below `name`.
  IpBlock block{};     // Of addresses.
  std::optional<std::uint16_t> port{};

  // kInvalid, with the text and a hint. Names are letters, digits, '-' and '_' in labels of at most
  // 63 characters, and do not end in a number: other spellings of addresses are no names.
  // International names are written in their punycode form.
  static Result<NetworkRule> parse(std::string_view text);
  // The only spelling that parse() returns the same rule for and this one prints.
  [[nodiscard]] std::string to_text() const;

  friend bool operator==(const NetworkRule&, const NetworkRule&) = default;
};

struct NetworkRules {
  // Bounds of a list, and of a rule's text.
  static constexpr std::size_t kMaxRules = 1'000;
  static constexpr std::size_t kMaxRule = 300;

  enum class Otherwise { kDeny, kAllow };

  std::vector<NetworkRule> allow{};
  std::vector<NetworkRule> deny{};
  Otherwise otherwise = Otherwise::kDeny;  // Where no rule matches.
  // An `allow` rule beats a `deny` rule, as E2B's protocol has it; else it is the other way round.
  bool allow_first = false;

  friend bool operator==(const NetworkRules&, const NetworkRules&) = default;
};

struct NetworkDecision {
  bool allowed = false;
  std::string rule;  // What decided: "deny 10.0.0.0/8", "allow *.example.com", "default", or the
                     // kind of an address that nothing reaches by default: "link-local addresses".
};

// Whether a guest may connect to `port` of `address`, which it knows as `name` (empty: by its
// address alone). The name must be the one that was resolved to this very address.
//
// In this order: a `deny` rule that matches denies, unless `allow_first` and a rule allows. An
// address that is not public (loopback,
// private, link-local, of a cloud's metadata, multicast, …) is denied, unless an `allow` rule names
// it by addresses of that kind only: 10.0.0.0/8 does, 0.0.0.0/0 and names do not. An `allow` rule
// that matches allows. Else the default counts. Pure, any thread.
NetworkDecision decide(const NetworkRules& rules,
                       std::string_view name,
                       const IpAddress& address,
                       std::uint16_t port);

}  // namespace glovebox
