// SPDX-License-Identifier: Apache-2.0
#include "doors/rest/fields.h"

#include <algorithm>
#include <cmath>

#include "base/bytes.h"
#include "base/duration.h"
#include "base/text.h"
#include "spec/json/bounded_json.h"
#include "spec/json/raw_json.h"

namespace glovebox::rest {
namespace {

// A recipe may have 2,000 files and commands of some values each.
constexpr std::size_t kMostValues = 50'000;

bool is_name_of_variable(std::string_view name) {
  return !name.empty() && name.size() <= 256 && name.find('=') == std::string_view::npos &&
         name.find('\0') == std::string_view::npos;
}

}  // namespace

Result<Fields> Fields::parse(std::string text) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    return Fields(Json::object(), "");
  }
  auto object = parse_json(text, {.values = kMostValues});
  if (!object) {
    return std::move(object).error().within("read the body");
  }
  if (!object->is_object()) {
    return Error(ErrorCode::kInvalid, "the body is not a JSON object");
  }
  Fields fields(*std::move(object), "");
  fields.text_ = std::move(text);
  return fields;
}

const Json* Fields::find(const char* name) {
  known_.insert(name);
  const auto found = object_.find(name);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

void Fields::refuse(const char* name, const std::string& why) {
  if (!wrong_) {
    wrong_ = Error(ErrorCode::kInvalid, "field '" + path_ + name + "': " + why);
  }
}

void Fields::wanted(const char* name, const char* what) {
  refuse(name, "expected " + std::string(what));
}

std::optional<std::string> Fields::text(const char* name, std::size_t most) {
  const Json* value = find(name);
  if (value == nullptr) {
    return std::nullopt;
  }
  if (!value->is_string()) {
    wanted(name, "a string");
    return std::nullopt;
  }
  if (value->get_ref<const std::string&>().size() > most) {
    refuse(name, "at most " + std::to_string(most) + " bytes are allowed");
    return std::nullopt;
  }
  return value->get<std::string>();
}

std::optional<std::string> Fields::raw(const char* name) {
  known_.insert(name);
  const auto found = object_.find(name);
  if (found == object_.end()) {
    return std::nullopt;
  }
  const auto text = raw_member(text_, name);
  return text ? compact_json(*text) : found->dump();
}

std::string Fields::required_text(const char* name, std::size_t most) {
  auto value = text(name, most);
  if (!value) {
    wanted(name, "a string");
  }
  return value.value_or("");
}

std::optional<bool> Fields::flag(const char* name) {
  const Json* value = find(name);
  if (value != nullptr && !value->is_boolean()) {
    wanted(name, "true or false");
    return std::nullopt;
  }
  return value == nullptr ? std::nullopt : std::optional(value->get<bool>());
}

std::optional<std::uint64_t> Fields::count(const char* name,
                                           std::uint64_t least,
                                           std::uint64_t most) {
  const Json* value = find(name);
  if (value == nullptr) {
    return std::nullopt;
  }
  if (!value->is_number_unsigned() || value->get<std::uint64_t>() < least ||
      value->get<std::uint64_t>() > most) {
    refuse(name,
           "expected an integer from " + std::to_string(least) + " to " + std::to_string(most));
    return std::nullopt;
  }
  return value->get<std::uint64_t>();
}

std::optional<double> Fields::number(const char* name) {
  const Json* value = find(name);
  if (value == nullptr) {
    return std::nullopt;
  }
  if (!value->is_number() || !std::isfinite(value->get<double>()) || value->get<double>() < 0) {
    wanted(name, "a non-negative number");
    return std::nullopt;
  }
  return value->get<double>();
}

std::optional<std::chrono::milliseconds> Fields::duration(const char* name) {
  const Json* value = find(name);
  if (value == nullptr) {
    return std::nullopt;
  }
  constexpr double kYear = 366.0 * 86'400;
  if (value->is_number() && value->get<double>() >= 0 && value->get<double>() <= kYear) {
    return std::chrono::milliseconds(std::llround(value->get<double>() * 1'000));
  }
  if (value->is_string()) {
    if (const auto parsed = parse_duration(value->get_ref<const std::string&>())) {
      return *parsed;
    }
  }
  wanted(name, "a number of seconds or a string like \"30s\"");
  return std::nullopt;
}

std::optional<std::uint64_t> Fields::size(const char* name) {
  const Json* value = find(name);
  if (value == nullptr) {
    return std::nullopt;
  }
  if (value->is_number_unsigned() && value->get<std::uint64_t>() < (1ULL << 62U)) {
    return value->get<std::uint64_t>();
  }
  if (value->is_string()) {
    if (const auto parsed = parse_bytes(value->get_ref<const std::string&>())) {
      return parsed->count;
    }
  }
  wanted(name, "a number of bytes or a string like \"512M\"");
  return std::nullopt;
}

std::optional<std::vector<std::string>> Fields::texts(const char* name, std::size_t most_items) {
  const Json* value = find(name);
  if (value == nullptr) {
    return std::nullopt;
  }
  if (!value->is_array() || value->size() > most_items) {
    refuse(name, "expected a list of at most " + std::to_string(most_items) + " strings");
    return std::nullopt;
  }
  std::vector<std::string> items;
  for (const Json& item : *value) {
    if (!item.is_string()) {
      wanted(name, "a list of strings");
      return std::nullopt;
    }
    items.push_back(item.get<std::string>());
  }
  return items;
}

std::optional<std::map<std::string, std::string>> Fields::text_map(const char* name,
                                                                   std::size_t most_items,
                                                                   std::size_t most_bytes) {
  const Json* value = find(name);
  if (value == nullptr) {
    return std::nullopt;
  }
  if (!value->is_object() || value->size() > most_items) {
    refuse(name, "expected an object of at most " + std::to_string(most_items) + " strings");
    return std::nullopt;
  }
  std::map<std::string, std::string> items;
  std::size_t bytes = 0;
  for (const auto& [key, item] : value->items()) {
    if (!item.is_string()) {
      refuse(name, "the value of '" + printable(key) + "' must be a string");
      return std::nullopt;
    }
    bytes += key.size() + item.get_ref<const std::string&>().size();
    items.emplace(key, item.get<std::string>());
  }
  if (bytes > most_bytes) {
    refuse(name, "at most " + std::to_string(most_bytes) + " bytes are allowed");
    return std::nullopt;
  }
  return items;
}

std::optional<Environment> Fields::environment(const char* name) {
  const auto items = text_map(name, 256, 256 * 1024);
  if (!items) {
    return std::nullopt;
  }
  Environment environment;
  for (const auto& [key, value] : *items) {
    if (!is_name_of_variable(key) || value.find('\0') != std::string::npos) {
      refuse(name, "'" + printable(key) + "' is not a valid environment variable name");
      return std::nullopt;
    }
    environment.emplace_back(key, value);
  }
  return environment;
}

std::optional<Json> Fields::object(const char* name) {
  const Json* value = find(name);
  if (value == nullptr) {
    return std::nullopt;
  }
  if (!value->is_object()) {
    wanted(name, "an object");
    return std::nullopt;
  }
  return *value;
}

std::optional<Json> Fields::object_or_text(const char* name) {
  const Json* value = find(name);
  if (value == nullptr) {
    return std::nullopt;
  }
  if (!value->is_object() && !value->is_string()) {
    wanted(name, "an object or a string");
    return std::nullopt;
  }
  return *value;
}

std::optional<std::vector<Json>> Fields::objects(const char* name, std::size_t most_items) {
  const Json* value = find(name);
  if (value == nullptr) {
    return std::nullopt;
  }
  if (!value->is_array() || value->size() > most_items ||
      !std::ranges::all_of(*value, [](const Json& item) { return item.is_object(); })) {
    wanted(name, "a list of objects");
    return std::nullopt;
  }
  return value->get<std::vector<Json>>();
}

std::optional<std::string> Fields::choice(const char* name,
                                          std::initializer_list<std::string_view> from) {
  auto value = text(name);
  if (!value) {
    return std::nullopt;
  }
  std::string all;
  for (const std::string_view one : from) {
    if (*value == one) {
      return value;
    }
    all += (all.empty() ? "'" : ", '") + std::string(one) + "'";
  }
  refuse(name, "expected one of " + all);
  return std::nullopt;
}

Result<void> Fields::done() {
  if (wrong_) {
    return *wrong_;
  }
  for (const auto& [name, value] : object_.items()) {
    if (!known_.contains(name)) {
      std::string all;
      for (const std::string& known : known_) {
        all += (all.empty() ? "" : ", ") + known;
      }
      return Error(ErrorCode::kInvalid, "unknown field '" + path_ + printable(name) + "'",
                   all.empty() ? "this request takes no fields" : "allowed fields: " + all);
    }
  }
  return {};
}

}  // namespace glovebox::rest
