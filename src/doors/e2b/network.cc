// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/network.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "spec/json/bounded_json.h"

namespace glovebox::e2b {
namespace {

constexpr const char* kEverywhere = "0.0.0.0/0";

constexpr std::size_t kMaxTold = 256UL * 1024;
constexpr JsonBounds kToldBounds{.values = 20'000, .depth = 16};

Result<std::vector<NetworkRule>> read_rules(const Json& wanted, const char* name) {
  std::vector<NetworkRule> rules;
  const auto texts = GB_TRY(texts_member(wanted, name));
  if (texts.size() > NetworkRules::kMaxRules) {
    return invalid(std::string("'") + name + "' has more than " +
                   std::to_string(NetworkRules::kMaxRules) + " rules");
  }
  for (const std::string& text : texts) {
    auto rule = NetworkRule::parse(text);
    if (!rule) {
      return invalid(std::string("'") + name + "': " + rule.error().message(), rule.error().hint());
    }
    rules.push_back(*std::move(rule));
  }
  return rules;
}

// "Bearer ${e2b.secrets.NAME}" in our spelling: "Bearer {NAME}".
Result<std::string> read_header_value(std::string_view text) {
  constexpr std::string_view kSecret = "${e2b.secrets.";
  constexpr std::string_view kIdentity = "${e2b.identity.";
  std::string value;
  while (!text.empty()) {
    if (text.starts_with(kIdentity)) {
      return Error(ErrorCode::kUnsupported, "tokens of '${e2b.identity…}' are not supported",
                   "store the token as a secret");
    }
    if (text.starts_with(kSecret)) {
      const std::size_t end = text.find('}');
      if (end == std::string_view::npos) {
        return invalid("a header has '${e2b.secrets.' without '}'");
      }
      value += '{';
      value += text.substr(kSecret.size(), end - kSecret.size());
      value += '}';
      text.remove_prefix(end + 1);
      continue;
    }
    if (text.front() == '{' || text.front() == '}') {
      value += text.front();
    }
    value += text.front();
    text.remove_prefix(1);
  }
  return value;
}

// Reads what the `transform.headers` of one host set. A rule lets nothing out by itself.
Result<void> read_transforms(const std::string& host,
                             const Json& list,
                             std::vector<HeaderRule>& headers) {
  const std::string place = "'rules' of '" + printable(host.substr(0, 300)) + "'";
  auto target = CredentialTarget::parse(host);
  if (!target || host.find("://") != std::string::npos) {
    return invalid(place + ": expected a host name or *.HOST");
  }
  if (!list.is_array()) {
    return invalid(place + ": expected a list");
  }
  for (const Json& rule : list) {
    if (!rule.is_object()) {
      return invalid(place + ": expected a list of objects");
    }
    const Json transform = GB_TRY(object_member(rule, "transform"));
    for (const auto& [name, text] : GB_TRY(text_map_member(transform, "headers"))) {
      HeaderRule header{.target = *target, .name = name};
      header.value = GB_TRY(read_header_value(text));
      auto valid = check_header_name(name);
      valid = valid ? check_header_value(header.value) : std::move(valid);
      if (valid) {
        const auto names = secrets_in(header.value);
        valid = names ? Result<void>() : Result<void>(names.error());
      }
      if (!valid) {
        return std::move(valid).error().within(place);
      }
      if (headers.size() == CredentialRules::kMaxHeaders) {
        return invalid("'rules' has more than " + std::to_string(CredentialRules::kMaxHeaders) +
                       " headers");
      }
      headers.push_back(std::move(header));
    }
  }
  return {};
}

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

Result<Network> make_network(const Json& wanted, std::optional<bool> internet) {
  NetworkRules rules{.otherwise = NetworkRules::Otherwise::kAllow, .allow_first = true};
  rules.allow = GB_TRY(read_rules(wanted, "allowOut"));
  rules.deny = GB_TRY(read_rules(wanted, "denyOut"));
  const Json transforms = GB_TRY(object_member(wanted, "rules"));
  for (const auto& [host, list] : transforms.items()) {
    GB_TRY(read_transforms(host, list, rules.credentials.headers));
  }
  GB_TRY(check_proxy(wanted));
  for (const NetworkRule& rule : rules.deny) {
    if (!rule.name.empty() || rule.port) {
      return invalid("invalid denied CIDR " + rule.to_text(), "deny addresses such as 10.0.0.0/8");
    }
  }
  // Denying everything is E2B's way to say that only what allowOut names is allowed.
  const bool closed =
      std::erase_if(rules.deny,
                    [](const NetworkRule& rule) { return rule.to_text() == kEverywhere; }) > 0 ||
      internet == false;
  const bool has_names =
      std::ranges::any_of(rules.allow, [](const NetworkRule& rule) { return !rule.name.empty(); });
  if (has_names && !closed) {
    return invalid(
        "when specifying allowed domains in allow out, you must include '0.0.0.0/0' "
        "in deny out to block all other traffic");
  }
  if (closed) {
    rules.otherwise = NetworkRules::Otherwise::kDeny;
  }
  Json told = wanted;
  told.erase("allow_internet_access");
  for (const char* spelling : {"egressProxy", "egress_proxy"}) {
    if (const auto proxy = told.find(spelling); proxy != told.end() && proxy->is_object()) {
      proxy->erase("password");
    }
  }
  // It must fit into the notes, which are read with bounds like those of a body.
  const std::string text = to_line(told);
  if (text.size() > kMaxTold || !parse_json(text, kToldBounds)) {
    return invalid("'network' is too large or nested too deeply", "use fewer rules");
  }
  return Network{.rules = std::move(rules), .told = std::move(told)};
}

Result<void> check_supported(const Json& wanted, NetworkPolicy policy) {
  if (policy == NetworkPolicy::kNone) {
    return {};
  }
  const Json* const proxy = member(wanted, "egressProxy");
  if (proxy != nullptr && !proxy->is_null() && !proxy->empty()) {
    return Error(ErrorCode::kUnsupported, "'egressProxy' is not supported yet",
                 "use allowOut and denyOut, which are enforced");
  }
  return {};
}

Result<Network> update_network(const Json& told, const Json& wanted, std::optional<bool> internet) {
  Json merged = wanted;
  for (const char* kept : {"allowPublicTraffic", "maskRequestHost", "httpsPorts"}) {
    merged.erase(kept);
    if (const Json* value = member(told, kept)) {
      merged[kept] = *value;
    }
  }
  return make_network(merged, internet);
}

}  // namespace glovebox::e2b
