// SPDX-License-Identifier: Apache-2.0
#include "store/json_columns.h"

#include <cstdint>
#include <type_traits>
#include <utility>

#include "base/json/json.h"
#include "base/text.h"
#include "spec/limit_fields.h"

namespace glovebox::json_column {
namespace {

using Json = nlohmann::json;

Result<void> check_text(std::string_view text) {
  if (text.find('\0') != std::string_view::npos || !is_utf8(text)) {
    return Error(ErrorCode::kInvalid, "a string is not UTF-8, or contains a NUL byte");
  }
  return {};
}

Error damaged() {
  return {ErrorCode::kUnavailable, "a column of the database is damaged",
          "restore the database from a backup"};
}

Json parse(std::string_view column) { return Json::parse(column, nullptr, false); }

// Times are kept in milliseconds, and their names say so.
template <typename T>
std::string column_name(const LimitField<T>& field) {
  const bool time = std::is_same_v<T, std::chrono::milliseconds>;
  return std::string(field.record) + (time ? "_ms" : "");
}

bool take(const Json& value, std::chrono::milliseconds& field) {
  if (!value.is_number_integer()) {
    return false;
  }
  field = std::chrono::milliseconds(value.get<std::int64_t>());
  return true;
}
bool take(const Json& value, Bytes& field) {
  if (!value.is_number_unsigned()) {
    return false;
  }
  field = Bytes{value.get<std::uint64_t>()};
  return true;
}
bool take(const Json& value, double& field) {
  if (!value.is_number()) {
    return false;
  }
  field = value.get<double>();
  return true;
}
bool take(const Json& value, std::uint32_t& field) {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > UINT32_MAX) {
    return false;
  }
  field = value.get<std::uint32_t>();
  return true;
}

}  // namespace

Result<std::string> from_texts(const std::vector<std::string>& texts) {
  Json list = Json::array();
  for (const std::string& text : texts) {
    GB_TRY(check_text(text));
    list.push_back(text);
  }
  return list.dump();
}

Result<std::vector<std::string>> to_texts(std::string_view column) {
  const Json list = parse(column);
  if (!list.is_array()) {
    return damaged();
  }
  std::vector<std::string> texts;
  for (const Json& item : list) {
    if (!item.is_string()) {
      return damaged();
    }
    texts.push_back(item.get<std::string>());
  }
  return texts;
}

Result<std::string> from_map(const std::map<std::string, std::string>& map) {
  Json object = Json::object();
  for (const auto& [key, value] : map) {
    GB_TRY(check_text(key));
    GB_TRY(check_text(value));
    object[key] = value;
  }
  return object.dump();
}

Result<std::map<std::string, std::string>> to_map(std::string_view column) {
  const Json object = parse(column);
  if (!object.is_object()) {
    return damaged();
  }
  std::map<std::string, std::string> map;
  for (const auto& [key, value] : object.items()) {
    if (!value.is_string()) {
      return damaged();
    }
    map.emplace(key, value.get<std::string>());
  }
  return map;
}

Result<std::string> from_environment(const Environment& environment) {
  Json list = Json::array();
  for (const auto& [name, value] : environment) {
    GB_TRY(check_text(name));
    GB_TRY(check_text(value));
    list.push_back(Json::array({name, value}));
  }
  return list.dump();
}

Result<Environment> to_environment(std::string_view column) {
  const Json list = parse(column);
  if (!list.is_array()) {
    return damaged();
  }
  Environment environment;
  for (const Json& pair : list) {
    if (!pair.is_array() || pair.size() != 2 || !pair[0].is_string() || !pair[1].is_string()) {
      return damaged();
    }
    environment.emplace_back(pair[0].get<std::string>(), pair[1].get<std::string>());
  }
  return environment;
}

std::string from_limits(const Limits& limits) {
  Json object = Json::object();
  each_limit(
      [&](const auto& field) { object[column_name(field)] = to_plain(limits.*field.limit); });
  return object.dump();
}

Result<Limits> to_limits(std::string_view column) {
  const Json object = parse(column);
  if (!object.is_object()) {
    return damaged();
  }
  Limits limits;
  bool whole = true;
  each_limit([&](const auto& field) {
    const auto found = object.find(column_name(field));
    whole = whole && (found == object.end() || take(*found, limits.*field.limit));
  });
  return whole ? Result<Limits>(limits) : damaged();
}

}  // namespace glovebox::json_column
