// SPDX-License-Identifier: Apache-2.0
// NetworkRule: a place in the network as rules name it. A value: any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "spec/ip_address.h"

namespace glovebox {

// One of these, each with ":PORT" behind it or for any port:
//   example.com           that name
//   *.example.com         the names below it, at any depth, and not itself
//   192.0.2.0/24          addresses; a single one without its length
//   2001:db8::/32         the same for IPv6; with a port: [2001:db8::/32]:443
struct NetworkRule {
  static constexpr std::size_t kMaxText = 300;  // Characters.

  std::string name{};  // In lower case; empty: `block` counts.
  bool below = false;  // The names below `name`.
  IpBlock block{};     // Of addresses.
  std::optional<std::uint16_t> port{};

  // kInvalid, with the text and a hint. Names are letters, digits, '-' and '_' in labels of at most
  // 63 characters, and do not end in a number: other spellings of addresses are not names.
  // International names are written in their punycode form.
  static Result<NetworkRule> parse(std::string_view text);
  // The canonical spelling, for which parse() returns the same rule.
  [[nodiscard]] std::string to_text() const;

  friend bool operator==(const NetworkRule&, const NetworkRule&) = default;
};

// Whether this is a host name in the form that rules have: at most 253 characters of labels that
// are letters, digits, '-' and '_', without a dot at the end, and no other spelling of an address.
bool is_host_name(std::string_view text);

}  // namespace glovebox
