// SPDX-License-Identifier: Apache-2.0
#include "service/templates/recipe_toml.h"

#include <strings.h>

#include <algorithm>
#include <sstream>

// A file is parsed without exceptions: errors are values.
#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

#include "base/json/json.h"
#include "base/text.h"
#include "language/toml_guard.h"

namespace glovebox {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxText = 1UL << 20;

Error at(std::size_t line, std::size_t column, const std::string& what) {
  return {ErrorCode::kInvalid,
          "line " + std::to_string(line) + ", column " + std::to_string(column) + ": " + what};
}

// The guard bounds the nesting.
Result<json> convert(const toml::node& node) {
  if (const auto* const table = node.as_table()) {
    json object = json::object();
    for (const auto& [key, value] : *table) {
      object[std::string(key.str())] = GB_TRY(convert(value));
    }
    return object;
  }
  if (const auto* const array = node.as_array()) {
    json list = json::array();
    for (const toml::node& value : *array) {
      list.push_back(GB_TRY(convert(value)));
    }
    return list;
  }
  if (const auto text = node.value_exact<std::string>()) {
    return json(*text);
  }
  if (const auto flag = node.value_exact<bool>()) {
    return json(*flag);
  }
  if (const auto number = node.value_exact<std::int64_t>()) {
    return json(*number);
  }
  if (const auto number = node.value_exact<double>()) {
    return json(*number);
  }
  const toml::source_position begin = node.source().begin;
  return at(begin.line, begin.column, "dates are not allowed here");
}

// Whether the first instruction is one that every Dockerfile begins with, behind comments and
// arguments (docs.docker.com/reference/dockerfile, "FROM").
bool is_dockerfile(std::string_view text) {
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    line.remove_prefix(std::min(line.size(), line.find_first_not_of(" \t\r")));
    const std::string word(line.substr(0, line.find_first_of(" \t\r")));
    if (word.empty() || word.starts_with('#') || ::strcasecmp(word.c_str(), "arg") == 0) {
      continue;
    }
    const std::size_t next = line.find_first_not_of(" \t\r", word.size());
    return ::strcasecmp(word.c_str(), "from") == 0 && next != std::string_view::npos &&
           line[next] != '=';
  }
  return false;
}

}  // namespace

Result<std::string> recipe_json_from_toml(std::string_view text) {
  if (text.size() > kMaxText) {
    return Error(ErrorCode::kInvalid, "the recipe is larger than 1 MiB");
  }
  if (is_dockerfile(text)) {
    return Error(
        ErrorCode::kInvalid, "this is a Dockerfile, not a recipe",
        "build it with 'glovebox template build -t NAME DIR', where DIR holds the files that it "
        "copies");
  }
  const GuardedToml guarded = guard_toml(text);
  if (guarded.fault) {
    return at(guarded.fault->line, guarded.fault->column, guarded.fault->what);
  }
  const toml::parse_result parsed = toml::parse(std::string_view(guarded.text));
  if (!parsed) {
    const toml::source_position begin = parsed.error().source().begin;
    return at(begin.line, begin.column, printable(parsed.error().description()));
  }
  return GB_TRY(convert(parsed.table())).dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace glovebox
