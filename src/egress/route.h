// SPDX-License-Identifier: Apache-2.0
// The decisions of the proxy: which way a connection may go, and to which addresses. Pure, any
// thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "egress/request.h"
#include "spec/egress_protocol.h"
#include "spec/network_rules.h"

namespace glovebox::egress {

struct Route {
  enum class Way {
    kDenied,
    kDirect,    // Each address has to pass allowed_addresses() before it is dialed.
    kUpstream,  // By name, which this host's own proxy looks up.
  };
  Way way = Way::kDenied;
  std::string rule;                    // What decided so far.
  const Upstream* upstream = nullptr;  // Of the order; with kUpstream.
};

// Whose an address is, on this machine.
using OwnerOf = std::function<AddressOwner(const IpAddress&)>;

// Nothing has been looked up yet. If the place is an address, it is decided here already; special
// addresses never go upstream, where they would be another machine's.
Route choose_route(const Order& order, const Place& place, bool connect, const OwnerOf& owner_of);

// Of the addresses that the place has, those that may be dialed, in their order; IPv4 first.
struct Candidates {
  std::vector<IpAddress> allowed{};
  std::string rule;  // What allowed the first of them; or, if there is none, denied one.
};
Candidates allowed_addresses(const Order& order,
                             const Place& place,
                             const std::vector<IpAddress>& addresses,
                             const OwnerOf& owner_of);

}  // namespace glovebox::egress
