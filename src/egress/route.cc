// SPDX-License-Identifier: Apache-2.0
#include "egress/route.h"

#include <algorithm>

namespace glovebox::egress {
namespace {

// What the rules say, within what the order allows at all.
NetworkDecision judge(const Order& order,
                      std::string_view name,
                      const IpAddress& address,
                      std::uint16_t port,
                      AddressOwner owner) {
  if (order.public_only && (!is_public(address) || owner == AddressOwner::kThisHost)) {
    return {.allowed = false, .rule = "public addresses only"};
  }
  return decide(order.rules, name, address, port, owner);
}

}  // namespace

Route choose_route(const Order& order, const Place& place, bool connect, const OwnerOf& owner_of) {
  using Way = Route::Way;
  const auto& upstream = connect ? order.https_upstream : order.http_upstream;
  const bool direct = order.public_only || !upstream ||
                      concerns(order.without_upstream, place.host, place.address, place.port);
  if (place.address) {
    const NetworkDecision decision =
        judge(order, "", *place.address, place.port, owner_of(*place.address));
    if (!decision.allowed) {
      return {.way = Way::kDenied, .rule = decision.rule};
    }
    if (direct || !is_public(*place.address)) {
      return {.way = Way::kDirect, .rule = decision.rule};
    }
    return {.way = Way::kUpstream, .rule = decision.rule, .upstream = &*upstream};
  }
  NameDecision decision = decide_name(order.rules, place.host, place.port);
  switch (decision.fate) {
    case NameDecision::Fate::kDenied:
      return {.way = Way::kDenied, .rule = std::move(decision.rule)};
    case NameDecision::Fate::kAllowed:
      return direct ? Route{.way = Way::kDirect, .rule = std::move(decision.rule)}
                    : Route{.way = Way::kUpstream,
                            .rule = std::move(decision.rule),
                            .upstream = &*upstream};
    case NameDecision::Fate::kOpen:
      // Only an address can allow it, so we have to look it up ourselves.
      return {.way = Way::kDirect, .rule = std::move(decision.rule)};
  }
  return {};
}

Candidates allowed_addresses(const Order& order,
                             const Place& place,
                             const std::vector<IpAddress>& addresses,
                             const OwnerOf& owner_of) {
  Candidates candidates;
  for (const IpAddress& address : addresses) {
    NetworkDecision decision =
        judge(order, place.address ? "" : place.host, address, place.port, owner_of(address));
    if (decision.allowed) {
      if (candidates.allowed.empty()) {
        candidates.rule = std::move(decision.rule);
      }
      candidates.allowed.push_back(address);
    } else if (candidates.allowed.empty()) {
      candidates.rule = std::move(decision.rule);
    }
  }
  std::ranges::stable_partition(candidates.allowed,
                                [](const IpAddress& address) { return address.v4; });
  return candidates;
}

}  // namespace glovebox::egress
