// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/json/json.h"
#include "base/text.h"
#include "checker/schema.h"

namespace glovebox::checker {
namespace {

using nlohmann::json;

// Keywords, grouped by what is below them.
constexpr std::array<std::string_view, 7> kSchemas{
    "additionalItems", "additionalProperties", "contains", "propertyNames", "if", "then", "else"};
constexpr std::array<std::string_view, 5> kLists{"allOf", "anyOf", "oneOf", "items", "not"};
constexpr std::array<std::string_view, 5> kMaps{"properties", "patternProperties", "definitions",
                                                "$defs", "dependencies"};
// From later drafts. The validator does not know them, and would take them for comments.
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

class KeywordCheck {
 public:
  explicit KeywordCheck(const json& root) : root_(root) { add(root); }

  Result<void> run() {
    while (!left_.empty()) {
      const json& schema = *left_.back();
      left_.pop_back();
      for (const auto& [name, value] : schema.items()) {
        GB_TRY(check_keyword(name, value));
      }
    }
    return {};
  }

 private:
  void add(const json& schema) {
    // Anything else is `true`, a list of names, or something that the validator refuses.
    if (schema.is_object() && seen_.insert(&schema).second) {
      left_.push_back(&schema);
    }
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
    if (name == "$ref" && value.is_string()) {
      return follow(value.get_ref<const std::string&>());
    }
    if ((is_in(kMaps, name) && value.is_object()) || (is_in(kLists, name) && value.is_array())) {
      for (const json& each : value) {  // The names of a map are the schema's own.
        add(each);
      }
    } else if (is_in(kSchemas, name) || is_in(kLists, name)) {
      add(value);
    }
    return {};
  }

  // A reference may lead to a part that no keyword leads to.
  Result<void> follow(const std::string& reference) {
    if (!reference.starts_with('#') || reference.contains('%')) {
      return unchecked("the reference '" + printable(reference) + "'");
    }
    try {
      add(root_.at(json::json_pointer(reference.substr(1))));
      return {};
    } catch (const json::exception&) {
      return unchecked("the reference '" + printable(reference) + "' to nothing");
    }
  }

  const json& root_;
  std::set<const json*> seen_;
  std::vector<const json*> left_;  // Not recursion: references can form long chains.
};

}  // namespace

Result<void> check_keywords(const json& schema) { return KeywordCheck(schema).run(); }

}  // namespace glovebox::checker
