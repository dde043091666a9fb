// SPDX-License-Identifier: Apache-2.0
#include "spec/json/network_rules_json.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

#include "base/json/json.h"
#include "base/text.h"
#include "spec/json/bounded_json.h"

namespace glovebox {
namespace {

using nlohmann::json;
using Otherwise = NetworkRules::Otherwise;

Error refused(const std::string& field, const std::string& why, std::string hint) {
  return {ErrorCode::kInvalid, "field '" + field + "': " + why, std::move(hint)};
}

Result<std::vector<NetworkRule>> parse_list(const json& object, const char* name) {
  std::vector<NetworkRule> rules;
  const std::string field = std::string("network.") + name;
  const auto list = object.find(name);
  if (list == object.end() || list->is_null()) {
    return rules;
  }
  if (!list->is_array() || list->size() > NetworkRules::kMaxRules) {
    return refused(
        field, "expected a list of at most " + std::to_string(NetworkRules::kMaxRules) + " strings",
        R"(for example ["example.com:443", "*.example.org"])");
  }
  for (const json& item : *list) {
    const std::string place = field + "[" + std::to_string(rules.size()) + "]";
    if (!item.is_string()) {
      return refused(place, "expected a string", "for example \"example.com:443\"");
    }
    auto rule = NetworkRule::parse(item.get_ref<const std::string&>());
    if (!rule) {
      return refused(place, rule.error().message(), rule.error().hint());
    }
    rules.push_back(*std::move(rule));
  }
  return rules;
}

// Whether a field that may be left out says "allow" and not "deny".
Result<bool> is_allow(const json& object, const char* name, const char* hint) {
  const auto word = object.find(name);
  if (word == object.end() || word->is_null()) {
    return false;
  }
  if (*word != "allow" && *word != "deny") {
    return refused(std::string("network.") + name, "expected \"allow\" or \"deny\"", hint);
  }
  return *word == "allow";
}

Result<std::string> parse_text(const json& object, const std::string& place, const char* name) {
  const auto text = object.find(name);
  if (text == object.end() || text->is_null()) {
    return std::string();
  }
  return text->is_string() ? Result<std::string>(text->get<std::string>())
                           : refused(place + "." + name, "expected a string", "");
}

Result<void> check_members(const json& object,
                           const std::string& place,
                           std::initializer_list<std::string_view> known,
                           const char* hint) {
  if (!object.is_object()) {
    return refused(place, "expected an object", hint);
  }
  for (const auto& [name, value] : object.items()) {
    if (std::ranges::find(known, name) == known.end()) {
      return refused(place, "unknown member '" + printable(name) + "'", hint);
    }
  }
  return {};
}

Result<CredentialTarget> parse_target(const json& item, const std::string& place) {
  if (!item.is_string()) {
    return refused(place, "expected a string", "for example \"api.example.com\"");
  }
  auto target = CredentialTarget::parse(item.get_ref<const std::string&>());
  return target ? std::move(target)
                : Result<CredentialTarget>(
                      refused(place, target.error().message(), target.error().hint()));
}

// The members of a list that may be left out; each gets its place, "network.secrets[0]".
template <typename Action>
Result<void> each_item(const json& object, const char* name, std::size_t most, Action&& action) {
  const auto list = object.find(name);
  if (list == object.end() || list->is_null()) {
    return {};
  }
  const std::string field = std::string("network.") + name;
  if (!list->is_array() || list->size() > most) {
    return refused(field, "expected a list of at most " + std::to_string(most) + " objects", "");
  }
  std::size_t index = 0;
  for (const json& item : *list) {
    GB_TRY(action(item, field + "[" + std::to_string(index++) + "]"));
  }
  return {};
}

Result<PlaceholderRule> parse_placeholder(const json& item, const std::string& place) {
  constexpr const char* kHint =
      R"(for example {"secret": "GITHUB_TOKEN", "hosts": ["api.github.com"]})";
  GB_TRY(check_members(item, place, {"secret", "env", "hosts", "placeholder"}, kHint));
  PlaceholderRule rule{.secret = GB_TRY(parse_text(item, place, "secret"))};
  rule.variable = GB_TRY(parse_text(item, place, "env"));
  rule.placeholder = GB_TRY(parse_text(item, place, "placeholder"));
  if (rule.variable.empty()) {
    rule.variable = rule.secret;
  }
  if (rule.secret.empty() || rule.secret.size() > CredentialRules::kMaxSecretName) {
    return refused(place + ".secret", "expected the name of a secret", kHint);
  }
  if (!is_variable_name(rule.variable)) {
    return refused(place + ".env", "expected the name of an environment variable",
                   "use letters, digits and '_', such as GITHUB_TOKEN");
  }
  if (!rule.placeholder.empty() && !is_placeholder(rule.placeholder)) {
    return refused(place + ".placeholder", "expected 16 to 256 letters, digits, '_', '-' or '.'",
                   "leave it out for a random one");
  }
  const auto hosts = item.find("hosts");
  if (hosts == item.end() || !hosts->is_array() || hosts->empty() ||
      hosts->size() > CredentialRules::kMaxTargets) {
    return refused(
        place + ".hosts",
        "expected a list of 1 to " + std::to_string(CredentialRules::kMaxTargets) + " hosts",
        kHint);
  }
  for (const json& host : *hosts) {
    rule.targets.push_back(
        GB_TRY(parse_target(host, place + ".hosts[" + std::to_string(rule.targets.size()) + "]")));
  }
  return rule;
}

Result<HeaderRule> parse_header(const json& item, const std::string& place) {
  constexpr const char* kHint =
      R"(for example {"host": "api.example.com", "name": "Authorization", "value": "Bearer {KEY}"})";
  GB_TRY(check_members(item, place, {"host", "name", "value"}, kHint));
  HeaderRule rule;
  rule.target = GB_TRY(parse_target(item.value("host", json()), place + ".host"));
  rule.name = GB_TRY(parse_text(item, place, "name"));
  rule.value = GB_TRY(parse_text(item, place, "value"));
  if (const auto named = check_header_name(rule.name); !named) {
    return refused(place + ".name", named.error().message(), named.error().hint());
  }
  // What stands beside a secret's name may be a credential itself, and is not shown.
  auto fits = check_header_value(rule.value);
  if (fits) {
    const auto names = secrets_in(rule.value);
    fits = names ? Result<void>() : Result<void>(names.error());
  }
  if (!fits) {
    return refused(place + ".value", fits.error().message(), fits.error().hint());
  }
  return rule;
}

Result<CredentialRules> parse_credentials(const json& object) {
  CredentialRules rules;
  GB_TRY(each_item(object, "secrets", CredentialRules::kMaxPlaceholders,
                   [&](const json& item, const std::string& place) -> Result<void> {
                     rules.placeholders.push_back(GB_TRY(parse_placeholder(item, place)));
                     return {};
                   }));
  GB_TRY(each_item(object, "headers", CredentialRules::kMaxHeaders,
                   [&](const json& item, const std::string& place) -> Result<void> {
                     rules.headers.push_back(GB_TRY(parse_header(item, place)));
                     return {};
                   }));
  return rules;
}

constexpr struct {
  const char* name;
  std::optional<std::uint64_t> NetworkBudget::*count;
} kBudget[] = {{"connections", &NetworkBudget::connections},
               {"sent", &NetworkBudget::sent},
               {"received", &NetworkBudget::received},
               {"rate", &NetworkBudget::rate}};

Result<NetworkBudget> parse_budget(const json& object) {
  NetworkBudget budget;
  const auto wanted = object.find("budget");
  if (wanted == object.end() || wanted->is_null()) {
    return budget;
  }
  constexpr const char* kHint = R"(for example {"connections": 100, "received": 1000000})";
  GB_TRY(
      check_members(*wanted, "network.budget", {"connections", "sent", "received", "rate"}, kHint));
  for (const auto& field : kBudget) {
    const auto count = wanted->find(field.name);
    if (count == wanted->end() || count->is_null()) {
      continue;
    }
    if (!count->is_number_unsigned()) {
      return refused(std::string("network.budget.") + field.name, "expected a whole number", kHint);
    }
    budget.*field.count = count->get<std::uint64_t>();
  }
  if (auto valid = check_budget(budget); !valid) {
    return refused("network.budget", valid.error().message(), valid.error().hint());
  }
  return budget;
}

void put_credentials(json& object, const CredentialRules& rules) {
  for (const PlaceholderRule& rule : rules.placeholders) {
    json hosts = json::array();
    for (const CredentialTarget& target : rule.targets) {
      hosts.push_back(target.to_text());
    }
    json item = {{"secret", rule.secret}, {"env", rule.variable}, {"hosts", std::move(hosts)}};
    if (!rule.placeholder.empty()) {
      item["placeholder"] = rule.placeholder;
    }
    object["secrets"].push_back(std::move(item));
  }
  for (const HeaderRule& rule : rules.headers) {
    object["headers"].push_back(
        {{"host", rule.target.to_text()}, {"name", rule.name}, {"value", rule.value}});
  }
}

json texts(const std::vector<NetworkRule>& rules) {
  json list = json::array();
  for (const NetworkRule& rule : rules) {
    list.push_back(rule.to_text());
  }
  return list;
}

}  // namespace

std::string to_json(const NetworkRules& rules) {
  json object = {{"allow", texts(rules.allow)},
                 {"deny", texts(rules.deny)},
                 {"default", rules.otherwise == Otherwise::kAllow ? "allow" : "deny"}};
  if (rules.allow_first) {
    object["precedence"] = "allow";
  }
  put_credentials(object, rules.credentials);
  for (const auto& field : kBudget) {
    if (rules.budget.*field.count) {
      object["budget"][field.name] = *(rules.budget.*field.count);
    }
  }
  return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<NetworkRules> parse_network_rules(std::string_view text) {
  const json object = GB_TRY(parse_json(text));
  if (!object.is_object()) {
    return refused("network", "expected an object", R"(for example {"allow": ["example.com"]})");
  }
  for (const auto& [name, value] : object.items()) {
    constexpr std::array<std::string_view, 7> kKnown = {
        "allow", "deny", "default", "precedence", "secrets", "headers", "budget"};
    if (std::ranges::find(kKnown, name) == kKnown.end()) {
      return Error(ErrorCode::kInvalid, "unknown field 'network." + printable(name) + "'",
                   "use allow, deny, default, precedence, secrets, headers and budget");
    }
  }
  NetworkRules rules;
  rules.allow = GB_TRY(parse_list(object, "allow"));
  rules.deny = GB_TRY(parse_list(object, "deny"));
  const bool open = GB_TRY(is_allow(object, "default", "leave it out to deny what no rule allows"));
  rules.otherwise = open ? Otherwise::kAllow : Otherwise::kDeny;
  rules.allow_first = GB_TRY(is_allow(object, "precedence", "leave it out for deny to win"));
  rules.credentials = GB_TRY(parse_credentials(object));
  rules.budget = GB_TRY(parse_budget(object));
  return rules;
}

NetworkRules read_stored_network_rules(std::string_view text) {
  if (auto rules = parse_network_rules(text)) {
    return *std::move(rules);
  }
  const json object = json::parse(text, nullptr, false);
  if (!object.is_object()) {
    return {};
  }
  const auto read = [](const json& item) {
    auto rule = NetworkRule::parse(item.is_string() ? item.get<std::string>() : "");
    return rule ? std::optional(*std::move(rule)) : std::nullopt;
  };
  NetworkRules rules;
  for (const json& item : object.value("allow", json::array())) {
    if (item == "*") {  // A former version's word for whatever is not denied.
      rules.otherwise = Otherwise::kAllow;
    } else if (auto rule = read(item)) {
      rules.allow.push_back(*std::move(rule));
    }
  }
  for (const json& item : object.value("deny", json::array())) {
    auto rule = read(item);
    if (!rule) {
      return {};
    }
    if (item == "0.0.0.0/0") {  // All but what is allowed, as that version had it.
      rules.otherwise = Otherwise::kDeny;
    } else {
      rules.deny.push_back(*std::move(rule));
    }
  }
  return rules;
}

}  // namespace glovebox
