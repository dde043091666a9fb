// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/network.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

namespace glovebox::e2b {
namespace {

constexpr const char* kEverywhere = "0.0.0.0/0";
constexpr std::size_t kMaxName = 253;

// An address, or one with the length of a prefix.
bool is_block(const std::string& text) {
  const std::size_t slash = text.find('/');
  const std::string address = text.substr(0, slash);
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  const bool v4 = ::inet_pton(AF_INET, address.c_str(), bytes.data()) == 1;
  if (!v4 && ::inet_pton(AF_INET6, address.c_str(), bytes.data()) != 1) {
    return false;
  }
  if (slash == std::string::npos) {
    return true;
  }
  const std::string length = text.substr(slash + 1);
  int bits = -1;
  const auto [end, failure] = std::from_chars(length.data(), length.data() + length.size(), bits);
  return failure == std::errc{} && end == length.data() + length.size() && bits >= 0 &&
         bits <= (v4 ? 32 : 128);
}

bool is_name(std::string_view text) {
  if (text.starts_with("*.")) {
    text.remove_prefix(2);
  }
  return !text.empty() && text.size() <= kMaxName && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_';
  });
}

Error invalid(std::string message) { return Error(ErrorCode::kInvalid, std::move(message)); }

Result<void> check_proxy(const Json& wanted) {
  const Json proxy = GB_TRY(object_member(wanted, "egressProxy"));
  if (member(wanted, "egressProxy") != nullptr && !GB_TRY(text_member(proxy, "address"))) {
    return invalid("'egressProxy' needs an address");
  }
  (void)GB_TRY(text_member(proxy, "username"));
  (void)GB_TRY(text_member(proxy, "password"));
  return {};
}

}  // namespace

Result<std::string> make_network(const Json& wanted, std::optional<bool> internet) {
  auto allow = GB_TRY(texts_member(wanted, "allowOut"));
  auto deny = GB_TRY(texts_member(wanted, "denyOut"));
  (void)GB_TRY(object_member(wanted, "rules"));
  if (auto checked = check_proxy(wanted); !checked) {
    return checked.error();
  }
  for (const std::string& each : deny) {
    if (!is_block(each)) {
      return invalid("invalid denied CIDR " + each);
    }
  }
  if (internet == false && std::ranges::find(deny, kEverywhere) == deny.end()) {
    deny.emplace_back(kEverywhere);
  }
  const bool closed = std::ranges::find(deny, kEverywhere) != deny.end();
  for (const std::string& each : allow) {
    if (is_block(each)) {
      continue;
    }
    if (!is_name(each)) {
      return invalid("invalid allowed address " + each);
    }
    if (!closed) {
      return invalid(
          "when specifying allowed domains in allow out, you must include '0.0.0.0/0' "
          "in deny out to block all other traffic");
    }
  }
  // As E2B has it: everywhere, unless something is denied.
  if (!closed) {
    allow.emplace_back("*");
  }
  Json told = wanted;
  told.erase("allow_internet_access");
  return to_line({{"allow", allow}, {"deny", deny}, {"e2b", std::move(told)}});
}

Json told_network(const std::string& network) {
  const auto json = parse_object(network);
  const Json* ours = json ? member(*json, "e2b") : nullptr;
  Json told = ours != nullptr && ours->is_object() ? *ours : Json::object();
  if (const auto proxy = told.find("egressProxy"); proxy != told.end() && proxy->is_object()) {
    proxy->erase("password");
  }
  return told;
}

Result<std::string> update_network(const std::string& network,
                                   const Json& wanted,
                                   std::optional<bool> internet) {
  const Json before = told_network(network);
  Json merged = wanted;
  for (const char* kept : {"allowPublicTraffic", "maskRequestHost", "httpsPorts"}) {
    merged.erase(kept);
    if (const Json* value = member(before, kept)) {
      merged[kept] = *value;
    }
  }
  return make_network(merged, internet);
}

}  // namespace glovebox::e2b
