// SPDX-License-Identifier: Apache-2.0
#include "spec/json/network_rules_json.h"

#include <nlohmann/json.hpp>
#include <utility>

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
  return object.dump();
}

Result<NetworkRules> parse_network_rules(std::string_view text) {
  const json object = GB_TRY(parse_json(text));
  if (!object.is_object()) {
    return refused("network", "expected an object", R"(for example {"allow": ["example.com"]})");
  }
  for (const auto& [name, value] : object.items()) {
    if (name != "allow" && name != "deny" && name != "default" && name != "precedence") {
      return Error(ErrorCode::kInvalid, "unknown field 'network." + printable(name) + "'",
                   "use allow, deny, default and precedence");
    }
  }
  NetworkRules rules{.allow = GB_TRY(parse_list(object, "allow")),
                     .deny = GB_TRY(parse_list(object, "deny"))};
  const bool open = GB_TRY(is_allow(object, "default", "leave it out to deny what no rule allows"));
  rules.otherwise = open ? Otherwise::kAllow : Otherwise::kDeny;
  rules.allow_first = GB_TRY(is_allow(object, "precedence", "leave it out for deny to win"));
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
