// SPDX-License-Identifier: Apache-2.0
#include "context/notebook/upgrade.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/json/json.h"

namespace glovebox::notebook {
namespace {

using Json = nlohmann::json;

// The names that nbformat 3 used in place of MIME types.
constexpr std::array<std::pair<const char*, const char*>, 9> kMimeNames = {{
    {"text", "text/plain"},
    {"html", "text/html"},
    {"latex", "text/latex"},
    {"png", "image/png"},
    {"jpeg", "image/jpeg"},
    {"svg", "image/svg+xml"},
    {"pdf", "application/pdf"},
    {"json", "application/json"},
    {"javascript", "application/javascript"},
}};

void rename(Json& object, const char* from, const char* to) {
  if (const auto found = object.find(from); found != object.end()) {
    Json value = std::move(*found);
    object.erase(found);
    object[to] = std::move(value);
  }
}

std::string kind_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

Json upgrade_output(Json output) {
  if (!output.is_object()) {
    return output;
  }
  const std::string kind = kind_of(output, "output_type");
  if (kind == "stream") {
    rename(output, "stream", "name");
    if (!output.contains("name")) {
      output["name"] = "stdout";
    }
    output.erase("metadata");
    return output;
  }
  if (kind == "pyerr") {
    output["output_type"] = "error";
    return output;
  }
  output["output_type"] = kind == "pyout" ? "execute_result" : kind;
  if (kind == "pyout") {
    rename(output, "prompt_number", "execution_count");
    output.emplace("execution_count", nullptr);
  }
  output.emplace("metadata", Json::object());
  Json data = Json::object();
  for (const auto& [from, to] : kMimeNames) {
    if (const auto found = output.find(from); found != output.end()) {
      data[to] = std::move(*found);
      output.erase(found);
    }
  }
  // JSON was kept as its text.
  if (const auto json = data.find("application/json"); json != data.end() && json->is_string()) {
    Json parsed = Json::parse(json->get<std::string>(), nullptr, false);
    if (!parsed.is_discarded()) {
      *json = std::move(parsed);
    }
  }
  output["data"] = std::move(data);
  return output;
}

// A heading was a cell of its own, whose level stood beside it.
void upgrade_heading(Json& cell) {
  const auto level = cell.find("level");
  const auto hashes =
      level != cell.end() && level->is_number_integer() ? std::clamp(level->get<int>(), 1, 6) : 1;
  cell.erase("level");
  const std::string prefix = std::string(static_cast<std::size_t>(hashes), '#') + ' ';
  Json& source = cell["source"];
  if (source.is_string()) {
    source = prefix + source.get<std::string>();
  } else if (source.is_array()) {
    source.insert(source.begin(), prefix);
  }
  cell["cell_type"] = "markdown";
}

Json upgrade_cell(Json cell) {
  if (!cell.is_object()) {
    return cell;
  }
  cell.emplace("metadata", Json::object());
  const std::string kind = kind_of(cell, "cell_type");
  if (kind == "heading") {
    upgrade_heading(cell);
  } else if (kind == "html") {
    cell["cell_type"] = "markdown";
  } else if (kind == "code") {
    rename(cell, "input", "source");
    rename(cell, "prompt_number", "execution_count");
    cell.emplace("execution_count", nullptr);
    cell.erase("language");
    if (const auto collapsed = cell.find("collapsed"); collapsed != cell.end()) {
      Json value = std::move(*collapsed);
      cell.erase(collapsed);
      if (cell["metadata"].is_object()) {
        cell["metadata"]["collapsed"] = std::move(value);
      }
    }
    cell.emplace("outputs", Json::array());
    if (cell["outputs"].is_array()) {
      for (Json& output : cell["outputs"]) {
        output = upgrade_output(std::move(output));
      }
    }
  }
  return cell;
}

}  // namespace

Json upgrade_from_3(const Json& json) {
  Json upgraded = json;
  upgraded["nbformat"] = 4;
  upgraded["nbformat_minor"] = 0;
  upgraded.emplace("metadata", Json::object());
  if (upgraded["metadata"].is_object()) {
    rename(upgraded["metadata"], "name", "title");
    upgraded["metadata"].erase("signature");
  }
  Json cells = Json::array();
  const auto worksheets = upgraded.find("worksheets");
  if (worksheets != upgraded.end() && worksheets->is_array()) {
    for (Json& sheet : *worksheets) {
      const auto found = sheet.is_object() ? sheet.find("cells") : sheet.end();
      if (!sheet.is_object() || found == sheet.end() || !found->is_array()) {
        continue;
      }
      for (Json& cell : *found) {
        cells.push_back(upgrade_cell(std::move(cell)));
      }
    }
  }
  upgraded.erase("worksheets");
  upgraded["cells"] = std::move(cells);
  return upgraded;
}

}  // namespace glovebox::notebook
