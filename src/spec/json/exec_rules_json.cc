// SPDX-License-Identifier: Apache-2.0
#include "spec/json/exec_rules_json.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

namespace glovebox {
namespace {

using nlohmann::json;

std::optional<std::vector<std::string>> strings_in(const json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_array()) {
    return std::nullopt;
  }
  std::vector<std::string> texts;
  for (const json& each : *found) {
    if (!each.is_string()) {
      return std::nullopt;
    }
    texts.push_back(each.get<std::string>());
  }
  return texts;
}

std::optional<bool> flag_in(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_boolean() ? std::optional(found->get<bool>())
                                                      : std::nullopt;
}

std::optional<ExecRules> read(const json& object) {
  const std::optional<bool> written =
      object.is_object() ? flag_in(object, "written") : std::nullopt;
  if (!written || !object.contains("lists") || !object.at("lists").is_array()) {
    return std::nullopt;
  }
  ExecRules rules{.written = *written};
  for (const json& each : object.at("lists")) {
    auto refuse = each.is_object() ? strings_in(each, "refuse") : std::nullopt;
    auto allow = each.is_object() ? strings_in(each, "allow") : std::nullopt;
    const auto others = each.is_object() ? flag_in(each, "others") : std::nullopt;
    if (!refuse || !allow || !others) {
      return std::nullopt;
    }
    rules.lists.push_back(
        {.refuse = *std::move(refuse), .allow = *std::move(allow), .others = *others});
  }
  return validate(rules) ? std::optional(std::move(rules)) : std::nullopt;
}

}  // namespace

std::string to_json(const ExecRules& rules) {
  if (rules.empty()) {
    return {};
  }
  json lists = json::array();
  for (const ExecRules::List& list : rules.lists) {
    lists.push_back({{"refuse", list.refuse}, {"allow", list.allow}, {"others", list.others}});
  }
  return json{{"lists", std::move(lists)}, {"written", rules.written}}.dump(
      -1, ' ', false, json::error_handler_t::replace);
}

ExecRules read_stored_exec_rules(std::string_view text) {
  if (text.empty()) {
    return {};
  }
  auto rules = read(json::parse(text, nullptr, false));
  return rules ? *std::move(rules) : ExecRules{.lists = {{.others = false}}, .written = false};
}

}  // namespace glovebox
