// SPDX-License-Identifier: Apache-2.0
#include "spec/network_rules.h"

#include <algorithm>
#include <charconv>
#include <span>
#include <utility>

#include "base/check.h"
#include "base/text.h"

namespace glovebox {
namespace {

constexpr std::size_t kMaxName = 253;
constexpr std::size_t kMaxLabel = 63;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string lower(std::string_view text) {
  std::string lowered(text);
  std::ranges::transform(lowered, lowered.begin(), [](char c) { return lower(c); });
  return lowered;
}

Error invalid(std::string_view text, std::string hint) {
  return {ErrorCode::kInvalid,
          "invalid network rule '" + printable(text.substr(0, NetworkRule::kMaxText)) + "'",
          std::move(hint)};
}

Result<std::uint16_t> parse_port(std::string_view text, std::string_view whole) {
  std::uint16_t port = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, failure] = std::from_chars(text.data(), end, port);
  if (failure != std::errc{} || rest != end || port == 0 || text[0] == '0') {
    return invalid(whole, "a port is a number from 1 to 65535");
  }
  return port;
}

bool is_label(std::string_view label) {
  return !label.empty() && label.size() <= kMaxLabel && label.front() != '-' &&
         label.back() != '-' && std::ranges::all_of(label, [](char c) {
           return (lower(c) >= 'a' && lower(c) <= 'z') || is_digit(c) || c == '-' || c == '_';
         });
}

// As resolvers and browsers read it (inet_aton(3); WHATWG URL, "ends in a number"): such a name may
// be an address in another spelling.
bool is_number(std::string_view label) {
  return std::ranges::all_of(label, is_digit) || label.starts_with("0x") || label.starts_with("0X");
}

Result<void> check_name(std::string_view name, std::string_view whole) {
  if (std::ranges::any_of(name, [](char c) { return (c >= 0 && c <= ' ') || c == '\x7f'; })) {
    return invalid(whole, "leave out spaces and control characters");
  }
  if (!std::ranges::all_of(name, [](char c) { return c > ' ' && c <= '~'; })) {
    return invalid(whole, "write an international name in its punycode form (xn--…)");
  }
  if (name.ends_with('.')) {
    return invalid(whole, "leave out the dot at the end");
  }
  if (name.empty() || name.size() > kMaxName) {
    return invalid(whole, "a host name has 1 to 253 characters");
  }
  std::string_view last;
  for (std::string_view rest = name; !rest.empty();) {
    const std::size_t end = std::min(rest.find('.'), rest.size());
    last = rest.substr(0, end);
    if (!is_label(last)) {
      return invalid(whole,
                     "use HOST, *.HOST, an address or ADDRESS/LENGTH, each with :PORT if needed");
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (is_number(last)) {
    return invalid(whole, "write an address as four decimal numbers, or as IPv6 in hexadecimal");
  }
  return {};
}

bool is_for_port(const NetworkRule& rule, std::uint16_t port) {
  return !rule.port || *rule.port == port;
}

bool matches_name(const NetworkRule& rule, std::string_view name, std::uint16_t port) {
  if (rule.name.empty() || !is_for_port(rule, port)) {
    return false;
  }
  if (!rule.below) {
    return name == rule.name;
  }
  return name.size() > rule.name.size() + 1 && name.ends_with(rule.name) &&
         name[name.size() - rule.name.size() - 1] == '.';
}

bool matches_address(const NetworkRule& rule, const IpAddress& address, std::uint16_t port) {
  return rule.name.empty() && is_for_port(rule, port) && rule.block.contains(address);
}

// In lower case, and without the dot at the end, which makes no difference to a resolver.
std::string canonical(std::string_view name) {
  std::string called = lower(name);
  if (called.ends_with('.')) {
    called.pop_back();
  }
  return called;
}

constexpr std::string_view kLoopback = "loopback addresses";

struct Special {
  const char* block;
  const char* kind;
};

// IANA's registries of special-purpose addresses (RFC 6890), and what clouds give their guests. If
// blocks lie in one another, the narrowest counts: it comes first.
constexpr Special kSpecial[] = {
    {"169.254.169.254", "metadata addresses"},
    {"169.254.170.2", "metadata addresses"},
    {"100.100.100.200", "metadata addresses"},
    {"192.0.0.192", "metadata addresses"},
    {"168.63.129.16", "metadata addresses"},
    {"fd00:ec2::254", "metadata addresses"},
    {"fd20:ce::254", "metadata addresses"},
    {"0.0.0.0/8", "unspecified addresses"},
    {"127.0.0.0/8", kLoopback.data()},
    {"10.0.0.0/8", "private addresses"},
    {"172.16.0.0/12", "private addresses"},
    {"192.168.0.0/16", "private addresses"},
    {"100.64.0.0/10", "private addresses"},
    {"169.254.0.0/16", "link-local addresses"},
    {"192.0.0.0/24", "reserved addresses"},
    {"192.0.2.0/24", "reserved addresses"},
    {"192.88.99.0/24", "reserved addresses"},
    {"198.18.0.0/15", "reserved addresses"},
    {"198.51.100.0/24", "reserved addresses"},
    {"203.0.113.0/24", "reserved addresses"},
    {"224.0.0.0/4", "multicast addresses"},
    {"240.0.0.0/4", "reserved addresses"},
    {"::", "unspecified addresses"},
    {"::1", kLoopback.data()},
    {"::/96", "IPv4 within IPv6"},
    {"64:ff9b::/96", "IPv4 within IPv6"},
    {"64:ff9b:1::/48", "IPv4 within IPv6"},
    {"2001::/32", "IPv4 within IPv6"},
    {"2002::/16", "IPv4 within IPv6"},
    {"100::/64", "reserved addresses"},
    {"2001:db8::/32", "reserved addresses"},
    {"2001::/23", "reserved addresses"},
    {"3fff::/20", "reserved addresses"},
    {"fc00::/7", "private addresses"},
    {"fe80::/10", "link-local addresses"},
    {"fec0::/10", "private addresses"},
    {"ff00::/8", "multicast addresses"},
};

struct SpecialBlock {
  IpBlock block;
  const char* kind;
};

const SpecialBlock* special_of(const IpAddress& address) {
  static const std::vector<SpecialBlock> blocks = [] {
    std::vector<SpecialBlock> parsed;
    for (const Special& special : kSpecial) {
      const auto block = IpBlock::parse(special.block);
      GB_CHECK(block.has_value());
      parsed.push_back({.block = *block, .kind = special.kind});
    }
    return parsed;
  }();
  const auto found = std::ranges::find_if(
      blocks, [&](const SpecialBlock& special) { return special.block.contains(address); });
  return found == blocks.end() ? nullptr : &*found;
}

// ::ffff:1.2.3.4 reaches what 1.2.3.4 does.
IpAddress unmapped(const IpAddress& address) {
  const auto is = [&](std::size_t from, std::size_t to, unsigned char byte) {
    return std::all_of(address.bytes.begin() + from, address.bytes.begin() + to,
                       [byte](unsigned char each) { return each == byte; });
  };
  if (address.v4 || !is(0, 10, 0) || !is(10, 12, 0xff)) {
    return address;
  }
  IpAddress v4{.v4 = true};
  std::copy(address.bytes.begin() + 12, address.bytes.end(), v4.bytes.begin());
  return v4;
}

}  // namespace

Result<NetworkRule> NetworkRule::parse(std::string_view text) {
  if (text.empty() || text.size() > NetworkRule::kMaxText) {
    return invalid(text, "a rule has 1 to 300 characters");
  }
  if (text.find("://") != std::string_view::npos) {
    return invalid(text, "a rule names a host, not a URL: example.com, or example.com:443");
  }
  NetworkRule rule;
  std::string_view place = text;
  if (text.starts_with('[')) {
    const std::size_t end = text.find("]:");
    if (end == std::string_view::npos) {
      return invalid(text, "brackets are for IPv6 with a port: [2001:db8::1]:443");
    }
    place = text.substr(1, end - 1);
    rule.port = GB_TRY(parse_port(text.substr(end + 2), text));
    const auto block = IpBlock::parse(place);
    if (!block || block->address.v4) {
      return invalid(text, "brackets are for IPv6 with a port: [2001:db8::1]:443");
    }
    rule.block = *block;
    return rule;
  }
  const std::size_t colon = text.find(':');
  // More than one colon: IPv6, whose port would be behind a bracket.
  if (colon != std::string_view::npos && text.find(':', colon + 1) == std::string_view::npos) {
    place = text.substr(0, colon);
    rule.port = GB_TRY(parse_port(text.substr(colon + 1), text));
  }
  if (const auto block = IpBlock::parse(place)) {
    rule.block = *block;
    return rule;
  }
  if (place.find_first_of(":/") != std::string_view::npos) {
    return invalid(text, "write blocks as 192.0.2.0/24 or 2001:db8::/32, without IPv4 within IPv6");
  }
  rule.below = place.starts_with("*.");
  place.remove_prefix(rule.below ? 2 : 0);
  GB_TRY(check_name(place, text));
  rule.name = lower(place);
  return rule;
}

std::string NetworkRule::to_text() const {
  std::string text = name.empty() ? block.to_text() : (below ? "*." : "") + name;
  if (port && name.empty() && !block.address.v4) {
    text = "[" + text + "]";
  }
  return port ? text + ":" + std::to_string(*port) : text;
}

NetworkDecision decide(const NetworkRules& rules,
                       std::string_view name,
                       const IpAddress& address,
                       std::uint16_t port,
                       AddressOwner owner) {
  const IpAddress reached = unmapped(address);
  const std::string called = canonical(name);
  const auto find = [&](const std::vector<NetworkRule>& list, auto&& counts) {
    const auto found = std::ranges::find_if(list, [&](const NetworkRule& rule) {
      return (matches_name(rule, called, port) || matches_address(rule, reached, port)) &&
             counts(rule);
    });
    return found == list.end() ? nullptr : &*found;
  };
  const auto any = [](const NetworkRule&) { return true; };
  const SpecialBlock own{.block = {.address = reached, .bits = reached.width()},
                         .kind = "addresses of this machine"};
  const SpecialBlock* special = special_of(reached);
  if (owner == AddressOwner::kThisHost && (special == nullptr || special->kind != kLoopback)) {
    special = &own;
  }
  const NetworkRule* const allows =
      special == nullptr ? find(rules.allow, any) : find(rules.allow, [&](const NetworkRule& rule) {
        return rule.name.empty() && special->block.contains(rule.block);
      });
  const NetworkRule* const denies = find(rules.deny, any);
  if (denies != nullptr && (allows == nullptr || !rules.allow_first)) {
    return {.allowed = false, .rule = "deny " + denies->to_text()};
  }
  if (allows != nullptr) {
    return {.allowed = true, .rule = "allow " + allows->to_text()};
  }
  if (special != nullptr) {
    return {.allowed = false, .rule = special->kind};
  }
  return {.allowed = rules.otherwise == NetworkRules::Otherwise::kAllow, .rule = "default"};
}

NameDecision decide_name(const NetworkRules& rules, std::string_view name, std::uint16_t port) {
  using Fate = NameDecision::Fate;
  const std::string called = canonical(name);
  const auto find = [&](const std::vector<NetworkRule>& list) {
    const auto found = std::ranges::find_if(
        list, [&](const NetworkRule& rule) { return matches_name(rule, called, port); });
    return found == list.end() ? nullptr : &*found;
  };
  const NetworkRule* const allows = find(rules.allow);
  const NetworkRule* const denies = find(rules.deny);
  const bool by_address = std::ranges::any_of(rules.allow, [&](const NetworkRule& rule) {
    return rule.name.empty() && is_for_port(rule, port);
  });
  if (denies != nullptr && !(rules.allow_first && (allows != nullptr || by_address))) {
    return {.fate = Fate::kDenied, .rule = "deny " + denies->to_text()};
  }
  if (allows != nullptr) {
    return {.fate = Fate::kAllowed, .rule = "allow " + allows->to_text()};
  }
  if (denies == nullptr && rules.otherwise == NetworkRules::Otherwise::kAllow) {
    return {.fate = Fate::kAllowed, .rule = "default"};
  }
  return {.fate = by_address ? Fate::kOpen : Fate::kDenied, .rule = "default"};
}

bool concerns(const std::vector<NetworkRule>& rules,
              std::string_view name,
              const std::optional<IpAddress>& address,
              std::uint16_t port) {
  const std::string called = canonical(name);
  return std::ranges::any_of(rules, [&](const NetworkRule& rule) {
    return matches_name(rule, called, port) ||
           (address && matches_address(rule, unmapped(*address), port));
  });
}

bool is_public(const IpAddress& address) { return special_of(unmapped(address)) == nullptr; }

void allow_credential_hosts(NetworkRules& rules) {
  for (NetworkRule& place : places_of(rules.credentials)) {
    if (std::ranges::find(rules.allow, place) == rules.allow.end()) {
      rules.allow.push_back(std::move(place));
    }
  }
}

Result<void> check_budget(const NetworkBudget& budget) {
  constexpr std::uint64_t kLeastRate = 1'024;
  if (budget.rate && *budget.rate < kLeastRate) {
    return Error(ErrorCode::kInvalid, "a rate below 1024 bytes a second", "use 1K or more");
  }
  return {};
}

bool lets_out(const NetworkRules& rules) {
  return !rules.allow.empty() || rules.otherwise == NetworkRules::Otherwise::kAllow;
}

std::optional<NetworkPolicy> parse_network_policy(std::string_view text) {
  if (text == "none") {
    return NetworkPolicy::kNone;
  }
  if (text == "public") {
    return NetworkPolicy::kPublic;
  }
  return text == "any" ? std::optional(NetworkPolicy::kAny) : std::nullopt;
}

Result<void> check_policy(const NetworkRules& rules, NetworkPolicy policy) {
  if (policy == NetworkPolicy::kAny || !lets_out(rules)) {
    return {};
  }
  if (policy == NetworkPolicy::kNone) {
    return Error(ErrorCode::kRefused, "this daemon lets no sandbox reach the network",
                 "leave out the network rules, or have the operator start the daemon with "
                 "'glovebox serve --network public'");
  }
  for (const NetworkRule& rule : rules.allow) {
    const SpecialBlock* const special =
        rule.name.empty() ? special_of(unmapped(rule.block.address)) : nullptr;
    if (special != nullptr && special->block.contains(rule.block)) {
      return Error(ErrorCode::kRefused,
                   "network rule '" + rule.to_text() + "': sandboxes of this daemon reach no " +
                       special->kind,
                   "allow public hosts only, or have the operator start the daemon with "
                   "'glovebox serve --network any'");
    }
  }
  return {};
}

bool is_host_name(std::string_view text) { return check_name(text, text).has_value(); }

}  // namespace glovebox
