// SPDX-License-Identifier: Apache-2.0
#include "spec/json/tool_json.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/json/json.h"
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

// The module in which code finds all tools, whichever modules they are in.
constexpr std::string_view kModuleOfAll = "tools";

bool is_part(std::string_view part) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  return !part.empty() && part.size() <= Tool::kMaxPart && is_letter(part.front()) &&
         std::ranges::all_of(part, [&](char c) {
           return is_letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-';
         });
}

bool is_name(std::string_view name) {
  std::size_t parts = 1;
  for (auto dot = name.find('.'); dot != std::string_view::npos; dot = name.find('.')) {
    if (++parts > Tool::kMaxParts || !is_part(name.substr(0, dot))) {
      return false;
    }
    name.remove_prefix(dot + 1);
  }
  return is_part(name);
}

// The name in code, where names have no '-'.
std::string name_in_code(std::string name) {
  std::ranges::replace(name, '-', '_');
  return name;
}

// The names of the modules that a tool is in, from the outermost to its own.
std::vector<std::string> modules_of(const std::string& name) {
  std::vector<std::string> modules;
  for (auto dot = name.find('.'); dot != std::string::npos; dot = name.find('.', dot + 1)) {
    modules.push_back(name.substr(0, dot));
  }
  return modules;
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
  std::set<std::string> modules;
  std::size_t bytes = 0;
  for (const Tool& tool : offer.tools) {
    if (!is_name(tool.name)) {
      return wrong("invalid tool name '" + printable(tool.name.substr(0, 100)) + "'",
                   "use a letter followed by up to 63 letters, digits, '_' or '-'; up to 3 modules "
                   "may precede it, as in 'mcp.github.create_issue'");
    }
    const std::string name = name_in_code(tool.name);
    if (!names.insert(name).second) {
      return wrong("two tools are named '" + name + "' in code");
    }
    for (std::string& module : modules_of(name)) {
      if (module == kModuleOfAll) {
        return wrong("invalid tool name '" + tool.name + "'",
                     "the module 'tools' has all tools; choose another name for the module");
      }
      modules.insert(std::move(module));
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
  for (const std::string& module : modules) {
    if (names.contains(module)) {
      return wrong("'" + module + "' is a tool and a module of other tools");
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
