// SPDX-License-Identifier: Apache-2.0
// The name server of one sandbox. It gives every host name an address of a block that is nobody's,
// for good: a connection to that address is one to the name. No question leaves the machine before
// a rule has allowed the connection, so questions carry nothing out.
//
// The address follows from the name, so a proxy that replaces another one gives out the same
// addresses. Only if two names would have the same address does it depend on which came first.
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
  // Addresses of 198.18.0.0/15, which is for benchmarks of networks (RFC 2544) and not routed.
  static constexpr std::size_t kMost = 16'384;
  static constexpr std::uint32_t kBlock = (1U << 17U) - 2;

  // The address of a name in lower case. None if too many names have been asked for.
  std::optional<IpAddress> address_of(const std::string& name);
  // The name that has this address.
  [[nodiscard]] std::optional<std::string> name_of(const IpAddress& address) const;

  // The answer to a guest's datagram (RFC 1035): an address for a question of type A about a host
  // name; an answer without records for other types; NXDOMAIN for what is not a host name; FORMERR,
  // NOTIMP or SERVFAIL. Nothing if the datagram is not a question.
  std::optional<std::vector<std::uint8_t>> answer(std::span<const std::uint8_t> question);

 private:
  std::unordered_map<std::uint32_t, std::string> names_;  // By the position of their addresses.
};

}  // namespace glovebox::egress
