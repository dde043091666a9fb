// SPDX-License-Identifier: Apache-2.0
#include "spec/json/guest_rules_json.h"

#include <optional>
#include <utility>
#include <vector>

#include "base/json/json.h"

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

std::optional<ExecRules> read_exec(const json& object) {
  const std::optional<bool> written = flag_in(object, "written");
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

std::optional<PlaceRules> read_places(const json& object, const char* open, const char* closed) {
  PlaceRules rules;
  if (object.contains(open)) {
    auto places = strings_in(object, open);
    if (!places) {
      return std::nullopt;
    }
    rules.everywhere = false;
    rules.places = *std::move(places);
  }
  if (object.contains(closed)) {
    auto places = strings_in(object, closed);
    if (!places) {
      return std::nullopt;
    }
    rules.closed = *std::move(places);
  }
  return validate(rules) ? std::optional(std::move(rules)) : std::nullopt;
}

void write_places(const PlaceRules& rules, const char* open, const char* closed, json& object) {
  if (!rules.everywhere) {
    object[open] = rules.places;
  }
  if (!rules.closed.empty()) {
    object[closed] = rules.closed;
  }
}

}  // namespace

std::string to_json(const GuestRules& rules) {
  if (rules.empty()) {
    return {};
  }
  json lists = json::array();
  for (const ExecRules::List& list : rules.exec.lists) {
    lists.push_back({{"refuse", list.refuse}, {"allow", list.allow}, {"others", list.others}});
  }
  json object{{"lists", std::move(lists)}, {"written", rules.exec.written}};
  write_places(rules.write, "write", "closed", object);
  write_places(rules.read, "read", "hidden", object);
  return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

GuestRules read_stored_guest_rules(std::string_view text) {
  if (text.empty()) {
    return {};
  }
  const json object = json::parse(text, nullptr, false);
  auto exec = object.is_object() ? read_exec(object) : std::nullopt;
  auto write = object.is_object() ? read_places(object, "write", "closed") : std::nullopt;
  auto read = object.is_object() ? read_places(object, "read", "hidden") : std::nullopt;
  if (!exec || !write || !read) {
    return {.exec = {.lists = {{.others = false}}, .written = false},
            .write = {.everywhere = false},
            .read = {.everywhere = false}};
  }
  return {.exec = *std::move(exec), .write = *std::move(write), .read = *std::move(read)};
}

}  // namespace glovebox
