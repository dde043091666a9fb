// SPDX-License-Identifier: Apache-2.0
// The name server of one sandbox. Every host name has an address there, of a block that is
// nobody's, and keeps it: a connection to that address is one to the name. No question leaves the
// machine before a rule has allowed the connection, so questions carry nothing out.
//
// The address follows from the name, so a proxy that takes the place of another one gives out the
// same. Only where two names would have the same address does it depend on which came first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "spec/ip_address.h"

namespace glovebox::egress {

// One thread at a time.
class Names {
 public:
  // Of 198.18.0.0/15, which is for benchmarks of networks (RFC 2544) and not routed.
  static constexpr std::size_t kMost = 16'384;
  static constexpr std::uint32_t kBlock = (1U << 17U) - 2;

  // The address of a name, in lower case. None where too many names have been asked for.
  std::optional<IpAddress> address_of(const std::string& name);
  // The name that has this address.
  [[nodiscard]] std::optional<std::string> name_of(const IpAddress& address) const;

  // What to return for a datagram of a guest's (RFC 1035): an address for a question of type A
  // about a host name; an answer without records for other types; NXDOMAIN for what is not a host
  // name; FORMERR, NOTIMP or SERVFAIL. Nothing for what is not a question.
  std::optional<std::vector<std::uint8_t>> answer(std::span<const std::uint8_t> question);

 private:
  std::unordered_map<std::uint32_t, std::string> names_;  // By their places in the block.
};

}  // namespace glovebox::egress
