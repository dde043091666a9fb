// SPDX-License-Identifier: Apache-2.0
#include "spec/json/tool_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/text.h"
#include "spec/json/bounded_json.h"
#include "spec/json/raw_json.h"

namespace glovebox {
namespace {

using Json = nlohmann::json;

// Of all schemas of an offer, each value counted.
constexpr JsonBounds kBounds{.values = 20'000, .depth = 32};

Error wrong(const std::string& why, const std::string& hint = {}) {
  return {ErrorCode::kInvalid, "field 'tools': " + why, hint};
}

bool is_name(std::string_view name) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  return !name.empty() && name.size() <= Tool::kMaxName && is_letter(name.front()) &&
         std::ranges::all_of(name, [&](char c) {
           return is_letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-';
         });
}

// As code calls it, whose names have no '-'.
std::string name_in_code(std::string name) {
  std::ranges::replace(name, '-', '_');
  return name;
}

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

Result<std::vector<Tool>> parse_tools(std::string_view json) {
  const Json parsed = GB_TRY(parse_json(json, kBounds));
  if (!parsed.is_array()) {
    return wrong("expected a list of objects");
  }
  const std::vector<std::string_view> raw = raw_items(json);
  std::vector<Tool> tools;
  for (std::size_t i = 0; i < parsed.size(); ++i) {
    if (!parsed[i].is_object()) {
      return wrong("expected a list of objects");
    }
    Tool& tool = tools.emplace_back();
    for (const auto& [name, value] : parsed[i].items()) {
      if (name == "name" && value.is_string()) {
        tool.name = value.get<std::string>();
      } else if (name == "description" && (value.is_string() || value.is_null())) {
        tool.description = value.is_string() ? value.get<std::string>() : std::string();
      } else if (name == "parameters" && value.is_object()) {
        tool.parameters = raw_member(raw[i], "parameters").value_or(dump(value));
      } else {
        return wrong(
            "a tool has no such field, or not of this type: '" + printable(name.substr(0, 64)) +
                "'",
            "a tool has a name, a description, and parameters, a JSON schema of an object");
      }
    }
  }
  return tools;
}

Result<void> validate(const ToolOffer& offer) {
  if (offer.tools.size() > ToolOffer::kMaxTools) {
    return wrong("at most " + std::to_string(ToolOffer::kMaxTools) + " tools are allowed");
  }
  if (offer.calls > ToolOffer::kMaxCalls || offer.wait.count() < 0 ||
      offer.wait > ToolOffer::kMaxWait) {
    return Error(ErrorCode::kInvalid, "field 'tool_limits': out of range",
                 "allow at most 1,000,000 calls, and 30 days of waiting");
  }
  std::set<std::string> names;
  std::size_t bytes = 0;
  for (const Tool& tool : offer.tools) {
    if (!is_name(tool.name)) {
      return wrong("invalid tool name '" + printable(tool.name.substr(0, 100)) + "'",
                   "use a letter followed by up to 63 letters, digits, '_' or '-'");
    }
    if (!names.insert(name_in_code(tool.name)).second) {
      return wrong("two tools are named '" + name_in_code(tool.name) + "' in code");
    }
    bytes += tool.name.size() + tool.description.size() + tool.parameters.size();
    if (bytes > ToolOffer::kMaxBytes) {
      return wrong("names, descriptions and schemas are larger than 256 KiB");
    }
    if (!is_utf8(tool.description)) {
      return wrong("the description of '" + tool.name + "' is not UTF-8");
    }
    auto schema = parse_json(tool.parameters, kBounds);
    if (!schema || !schema->is_object()) {
      return wrong("the parameters of '" + tool.name + "' are not a JSON schema of an object",
                   schema ? std::string() : schema.error().message());
    }
  }
  return {};
}

std::string to_json(const std::vector<Tool>& tools) {
  std::string text = "[";
  for (const Tool& tool : tools) {
    text += text.size() > 1 ? "," : "";
    text += "{\"name\":" + dump(tool.name) + ",\"description\":" + dump(tool.description) +
            ",\"parameters\":" + tool.parameters + "}";
  }
  return text + "]";
}

}  // namespace glovebox
