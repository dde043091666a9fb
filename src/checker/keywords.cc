// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/text.h"
#include "checker/schema.h"

namespace glovebox::checker {
namespace {

using nlohmann::json;

// Keywords by what is below them.
constexpr std::array<std::string_view, 7> kSchemas{
    "additionalItems", "additionalProperties", "contains", "propertyNames", "if", "then", "else"};
constexpr std::array<std::string_view, 5> kLists{"allOf", "anyOf", "oneOf", "items", "not"};
constexpr std::array<std::string_view, 5> kMaps{"properties", "patternProperties", "definitions",
                                                "$defs", "dependencies"};
// Of later drafts. The validator does not know them, and would take them for comments.
constexpr std::array<std::string_view, 11> kUnchecked{
    "prefixItems",       "unevaluatedItems", "unevaluatedProperties", "dependentSchemas",
    "dependentRequired", "minContains",      "maxContains",           "$dynamicRef",
    "$recursiveRef",     "$anchor",          "contentSchema"};
constexpr std::array<std::string_view, 3> kFormats{"date", "time", "date-time"};

template <typename Words>
bool is_in(const Words& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

Error unchecked(const std::string& what) {
  return {ErrorCode::kInvalid, "the schema has " + what + ", which is not checked here",
          "write it with the keywords of JSON Schema draft 7"};
}

Result<void> check_each(const json& list) {
  for (const json& each : list) {
    GB_TRY(check_keywords(each));
  }
  return {};
}

Result<void> check_keyword(const std::string& name, const json& value) {
  if (is_in(kUnchecked, name)) {
    return unchecked("'" + name + "'");
  }
  if (name == "$schema" && value.is_string() &&
      value.get_ref<const std::string&>().find("/draft-0") == std::string::npos) {
    return unchecked("the draft '" + printable(value.get<std::string>()) + "'");
  }
  if (name == "format" && value.is_string() && !is_in(kFormats, value.get<std::string>())) {
    return unchecked("the format '" + printable(value.get<std::string>()) + "'");
  }
  if (is_in(kMaps, name) && value.is_object()) {
    return check_each(value);  // Names are the schema's own, values are schemas.
  }
  if (is_in(kLists, name) && value.is_array()) {
    return check_each(value);
  }
  return is_in(kSchemas, name) || is_in(kLists, name) ? check_keywords(value) : Result<void>();
}

}  // namespace

Result<void> check_keywords(const json& schema) {
  if (!schema.is_object()) {
    return {};  // `true`, a list of names, or what the validator refuses.
  }
  for (const auto& [name, value] : schema.items()) {
    GB_TRY(check_keyword(name, value));
  }
  return {};
}

}  // namespace glovebox::checker
