// SPDX-License-Identifier: Apache-2.0
#include "context/notebook/write.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <deque>
#include <functional>
#include <set>
#include <string_view>

#include "base/json/json.h"
#include "base/text.h"
#include "context/notebook/mime.h"

namespace glovebox::notebook {
namespace {

using Json = nlohmann::json;

Json parse_object(const std::string& text) {
  Json json = Json::parse(text, nullptr, false);
  return json.is_object() ? json : Json::object();
}

// The length of the line end that begins here, or 0. Jupyter splits lines with Python's
// str.splitlines(), which knows more line ends than "\n".
std::size_t line_end_at(std::string_view text, std::size_t at) {
  const auto c = static_cast<unsigned char>(text[at]);
  if (c == '\r') {
    return text.substr(at).starts_with("\r\n") ? 2 : 1;
  }
  if (c == '\n' || c == '\v' || c == '\f' || (c >= 0x1C && c <= 0x1E)) {
    return 1;
  }
  const std::string_view rest = text.substr(at, 3);
  return rest == "\u2028" || rest == "\u2029" ? 3 : rest.starts_with("\u0085") ? 2 : 0;
}

constexpr std::size_t kPiece = 64UL << 10;

// A list costs far more than its text, in the file and in the memory of its reader.
constexpr std::size_t kMaxLines = 10'000;

Json lines(std::string_view text) {
  Json list = Json::array();
  std::size_t begin = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t width = line_end_at(text, at);
    at += std::max<std::size_t>(width, 1);
    if (width > 0 || at == text.size()) {
      if (list.size() == kMaxLines) {
        return Json(text);
      }
      list.push_back(text.substr(begin, at - begin));
      begin = at;
    }
  }
  return list;
}

Json bundle_json(const MimeBundle& bundle) {
  Json json = Json::object();
  for (const auto& [mime, text] : bundle) {
    Json value = Json::parse(text, nullptr, false);
    if (value.is_discarded()) {
      continue;
    }
    // Other values than texts are allowed for JSON types only.
    if (!is_json_mime(mime) && !value.is_string()) {
      value = text;
    }
    json[to_utf8(mime)] =
        is_line_mime(mime) ? lines(value.get_ref<const std::string&>()) : std::move(value);
  }
  return json;
}

Json count_json(const std::optional<int>& count) { return count ? Json(*count) : Json(nullptr); }

Json output_json(const Output& output) {
  Json json = parse_object(output.unknown);
  switch (output.kind) {
    case Output::Kind::kStream:
      json["output_type"] = "stream";
      json["name"] = to_utf8(output.name);
      json["text"] = lines(to_utf8(output.text));
      break;
    case Output::Kind::kError:
      json["output_type"] = "error";
      json["ename"] = to_utf8(output.name);
      json["evalue"] = to_utf8(output.text);
      json["traceback"] = Json::array();
      for (const std::string& line : output.traceback) {
        json["traceback"].push_back(to_utf8(line));
      }
      break;
    case Output::Kind::kDisplay:
    case Output::Kind::kResult:
      json["output_type"] =
          output.kind == Output::Kind::kDisplay ? "display_data" : "execute_result";
      json["data"] = bundle_json(output.data);
      json["metadata"] = parse_object(output.metadata);
      if (output.kind == Output::Kind::kResult) {
        json["execution_count"] = count_json(output.execution_count);
      }
      break;
  }
  return json;
}

bool is_valid_id(std::string_view id) {
  return !id.empty() && id.size() <= 64 && std::ranges::all_of(id, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
  });
}

// FNV-1a: ids need to differ, not to be hard to guess.
std::uint64_t hash_of(std::string_view text, std::uint64_t seed) {
  std::uint64_t hash = 0xcbf29ce484222325U ^ seed;
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  }
  return hash;
}

// Eight hexadecimal digits, as Jupyter's own ids have.
std::string hex(std::uint64_t number) {
  std::array<char, 16> digits{};
  const auto written =
      std::to_chars(digits.data(), digits.data() + digits.size(), number & 0xffffffffU, 16);
  std::string text(digits.data(), written.ptr);
  return std::string(8 - text.size(), '0') + text;
}

std::vector<std::string> ids_of(const std::deque<Cell>& cells) {
  // The notebook's own ids take precedence over made ones, wherever their cells are.
  std::set<std::string, std::less<>> used;
  std::vector<std::string> ids;
  ids.reserve(cells.size());
  for (const Cell& cell : cells) {
    ids.push_back(is_valid_id(cell.id) && used.insert(cell.id).second ? cell.id : "");
  }
  for (std::size_t i = 0; i < cells.size(); ++i) {
    std::uint64_t hash = hash_of(cells[i].source, i);
    while (ids[i].empty()) {
      const std::string id = hex(hash ^ hash >> 32);
      if (used.insert(id).second) {
        ids[i] = id;
      }
      ++hash;
    }
  }
  return ids;
}

Json cell_json(const Cell& cell, const std::string& id) {
  Json json = parse_object(cell.unknown);
  json["id"] = id;
  json["metadata"] = parse_object(cell.metadata);
  json["source"] = lines(to_utf8(cell.source));
  if (cell.kind == Cell::Kind::kCode) {
    json["cell_type"] = "code";
    json["execution_count"] = count_json(cell.execution_count);
    json["outputs"] = Json::array();
    for (const Output& output : cell.outputs) {
      json["outputs"].push_back(output_json(output));
    }
    return json;
  }
  json["cell_type"] = cell.kind == Cell::Kind::kMarkdown ? "markdown" : "raw";
  for (const auto& [name, bundle] : cell.attachments) {
    json["attachments"][to_utf8(name)] = bundle_json(bundle);
  }
  return json;
}

// What nbformat's schema asks of the metadata, and other programs that write notebooks forget.
Json metadata_json(const std::string& text) {
  Json metadata = parse_object(text);
  const auto has_name = [&metadata](const char* key) {
    const auto found = metadata.find(key);
    return found != metadata.end() && found->is_object() && found->contains("name") &&
           (*found)["name"].is_string();
  };
  if (!has_name("language_info")) {
    metadata.erase("language_info");
  }
  if (!has_name("kernelspec")) {
    metadata.erase("kernelspec");
  } else if (Json& kernel = metadata["kernelspec"];
             !kernel.contains("display_name") || !kernel["display_name"].is_string()) {
    kernel["display_name"] = kernel["name"];
  }
  return metadata;
}

// Texts in JSON hold no raw line ends, so each line end comes before an indent.
void write_indented(const Json& json,
                    std::size_t indent,
                    const std::function<void(std::string_view)>& write) {
  const std::string text = json.dump(1, ' ', false, Json::error_handler_t::replace);
  const std::string line_end = "\n" + std::string(indent, ' ');
  std::string piece;
  std::string_view rest = text;
  for (std::size_t end = 0; end != std::string_view::npos;) {
    end = rest.find('\n');
    piece += rest.substr(0, end);
    if (end != std::string_view::npos) {
      piece += line_end;
      rest.remove_prefix(end + 1);
    }
    if (piece.size() > kPiece || end == std::string_view::npos) {
      write(piece);
      piece.clear();
    }
  }
}

void write_cells(const Notebook& notebook, const std::function<void(std::string_view)>& write) {
  const std::vector<std::string> ids = ids_of(notebook.cells);
  write(notebook.cells.empty() ? "[]" : "[");
  for (std::size_t i = 0; i < notebook.cells.size(); ++i) {
    write(i == 0 ? "\n  " : ",\n  ");
    write_indented(cell_json(notebook.cells[i], ids[i]), 2, write);
  }
  write(notebook.cells.empty() ? "" : "\n ]");
}

}  // namespace

void write_notebook(const Notebook& notebook, const std::function<void(std::string_view)>& write) {
  Json json = parse_object(notebook.unknown);
  json["nbformat"] = 4;
  json["nbformat_minor"] = 5;
  json["metadata"] = metadata_json(notebook.metadata);
  json["cells"] = nullptr;
  const char* before = "{\n ";
  for (const auto& [key, value] : json.items()) {
    write(before);
    write(Json(key).dump(-1, ' ', false, Json::error_handler_t::replace) + ": ");
    if (key == "cells") {
      write_cells(notebook, write);
    } else {
      write_indented(value, 1, write);
    }
    before = ",\n ";
  }
  write("\n}\n");
}

std::string write_notebook(const Notebook& notebook) {
  std::string text;
  write_notebook(notebook, [&text](std::string_view piece) { text += piece; });
  return text;
}

}  // namespace glovebox::notebook
