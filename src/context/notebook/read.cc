// SPDX-License-Identifier: Apache-2.0
#include "context/notebook/read.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "base/json/json.h"
#include "base/text.h"
#include "context/notebook/json_bounds.h"
#include "context/notebook/mime.h"
#include "context/notebook/upgrade.h"

namespace glovebox::notebook {
namespace {

using Json = nlohmann::json;

constexpr const char* kConvert =
    "convert the file with `jupyter nbconvert --to notebook --nbformat 4 FILE`";

Error fault(const std::string& place, const std::string& what) {
  return {ErrorCode::kInvalid, place + ": " + what};
}

std::string text_of(const Json& json) {
  // The parser has seen to it that the texts are UTF-8; `replace` keeps a bug from throwing.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string entry(const std::string& place, std::size_t index) {
  return place + "[" + std::to_string(index) + "]";
}

// Takes a field out of its object, so that those left over are the unknown ones.
Json take(Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) {
    return nullptr;
  }
  Json value = std::move(*found);
  object.erase(found);
  return value;
}

bool is_lines(const Json& json) {
  return json.is_array() &&
         std::ranges::all_of(json, [](const Json& line) { return line.is_string(); });
}

std::string join(const Json& lines) {
  std::string text;
  for (const Json& line : lines) {
    text += line.get_ref<const std::string&>();
  }
  return text;
}

// A text that may be kept as a list of lines; absent means empty.
Result<std::string> take_text(Json& object, const char* key, const std::string& place) {
  const Json json = take(object, key);
  if (json.is_null()) {
    return std::string();
  }
  if (json.is_string()) {
    return json.get<std::string>();
  }
  if (is_lines(json)) {
    return join(json);
  }
  return fault(place + "." + key, "must be a string or a list of strings");
}

// The text of an object; absent means empty.
Result<std::string> take_object(Json& object, const char* key, const std::string& place) {
  const Json json = take(object, key);
  if (!json.is_null() && !json.is_object()) {
    return fault(place + "." + key, "must be an object");
  }
  return json.is_null() ? std::string("{}") : text_of(json);
}

Result<std::optional<int>> take_count(Json& object, const std::string& place) {
  const Json json = take(object, "execution_count");
  if (json.is_null()) {
    return std::optional<int>();
  }
  // What is beyond int wraps in nlohmann's get<int>().
  const auto number = json.is_number_integer() ? json.get<std::int64_t>() : -1;
  if (number < 0 || number > std::numeric_limits<int>::max()) {
    return fault(place + ".execution_count", "must be null or a non-negative integer");
  }
  return std::optional<int>(static_cast<int>(number));
}

Result<MimeBundle> read_bundle(const Json& json, const std::string& place) {
  if (!json.is_object()) {
    return fault(place, "must be an object");
  }
  MimeBundle bundle;
  for (const auto& [mime, value] : json.items()) {
    bundle.emplace(
        mime, !is_json_mime(mime) && is_lines(value) ? text_of(Json(join(value))) : text_of(value));
  }
  return bundle;
}

Result<Output> read_output(Json json, const std::string& place) {
  if (!json.is_object()) {
    return fault(place, "must be an object");
  }
  Output output;
  const std::string kind = GB_TRY(take_text(json, "output_type", place));
  if (kind == "stream") {
    output.kind = Output::Kind::kStream;
    output.name = GB_TRY(take_text(json, "name", place));
    output.text = GB_TRY(take_text(json, "text", place));
  } else if (kind == "error") {
    output.kind = Output::Kind::kError;
    output.name = GB_TRY(take_text(json, "ename", place));
    output.text = GB_TRY(take_text(json, "evalue", place));
    const Json traceback = take(json, "traceback");
    if (!traceback.is_null() && !is_lines(traceback)) {
      return fault(place + ".traceback", "must be a list of strings");
    }
    if (traceback.is_array()) {
      output.traceback = traceback.get<std::vector<std::string>>();
    }
  } else if (kind == "display_data" || kind == "execute_result") {
    output.kind = kind == "display_data" ? Output::Kind::kDisplay : Output::Kind::kResult;
    output.data = GB_TRY(read_bundle(take(json, "data"), place + ".data"));
    output.metadata = GB_TRY(take_object(json, "metadata", place));
    if (output.kind == Output::Kind::kResult) {
      output.execution_count = GB_TRY(take_count(json, place));
    }
  } else {
    return fault(
        place + ".output_type",
        "'" + printable(kind) + "' is not one of stream, display_data, execute_result, error");
  }
  output.unknown = text_of(json);
  return output;
}

Result<void> read_attachments(Cell& cell, const Json& json, const std::string& place) {
  if (json.is_null()) {
    return {};
  }
  if (!json.is_object()) {
    return fault(place, "must be an object");
  }
  for (const auto& [name, bundle] : json.items()) {
    cell.attachments[name] = GB_TRY(read_bundle(bundle, place + "." + printable(name)));
  }
  return {};
}

Result<Cell> read_cell(Json json, const std::string& place) {
  if (!json.is_object()) {
    return fault(place, "must be an object");
  }
  Cell cell;
  const std::string kind = GB_TRY(take_text(json, "cell_type", place));
  if (kind == "code") {
    cell.kind = Cell::Kind::kCode;
  } else if (kind == "markdown") {
    cell.kind = Cell::Kind::kMarkdown;
  } else if (kind == "raw") {
    cell.kind = Cell::Kind::kRaw;
  } else {
    return fault(place + ".cell_type",
                 "'" + printable(kind) + "' is not one of code, markdown, raw");
  }
  cell.id = GB_TRY(take_text(json, "id", place));
  cell.source = GB_TRY(take_text(json, "source", place));
  cell.metadata = GB_TRY(take_object(json, "metadata", place));
  if (cell.kind == Cell::Kind::kCode) {
    cell.execution_count = GB_TRY(take_count(json, place));
    Json outputs = take(json, "outputs");
    if (!outputs.is_null() && !outputs.is_array()) {
      return fault(place + ".outputs", "must be a list");
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      cell.outputs.push_back(
          GB_TRY(read_output(std::move(outputs[i]), entry(place + ".outputs", i))));
    }
  } else {
    GB_TRY(read_attachments(cell, take(json, "attachments"), place + ".attachments"));
  }
  cell.unknown = text_of(json);
  return cell;
}

// The whole text as JSON of nbformat 4.
Result<Json> parse(std::string_view text, const ReadLimits& limits) {
  if (text.size() > limits.size.count) {
    return Error(ErrorCode::kInvalid,
                 "the notebook has " + to_string(Bytes{text.size()}) + ", more than " +
                     to_string(limits.size),
                 "clear its outputs, for example with `jupyter nbconvert --clear-output`");
  }
  const Result<void> bounded = check_json_bounds(text, limits.depth, limits.values);
  if (!bounded) {
    return bounded.error();
  }
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Json::parse_error& error) {
    return Error(
        ErrorCode::kInvalid,
        place_in(text, error.byte > 0 ? error.byte - 1 : 0) + ": the file is not valid JSON",
        "pass a notebook in Jupyter's .ipynb format");
  } catch (const Json::exception&) {
    return Error(ErrorCode::kInvalid, "the file contains a number that is out of range");
  }
  const auto number = [&json](const char* key) -> std::int64_t {
    const auto found = json.is_object() ? json.find(key) : json.end();
    const bool is_number = json.is_object() && found != json.end() && found->is_number_integer();
    return is_number ? found->get<std::int64_t>() : -1;
  };
  const std::int64_t format = number("nbformat");
  if (format == 3) {
    return upgrade_from_3(json);
  }
  if (format == -1) {
    return Error(ErrorCode::kInvalid, "the file is not a notebook: it has no numeric 'nbformat'",
                 "pass a notebook in Jupyter's .ipynb format");
  }
  if (format != 4) {
    return Error(ErrorCode::kInvalid, "nbformat " + std::to_string(format) + " is not supported",
                 kConvert);
  }
  return json;
}

}  // namespace

Result<Notebook> read_notebook(std::string_view text, const ReadLimits& limits) {
  Json json = GB_TRY(parse(text, limits));
  Notebook notebook;
  notebook.metadata = GB_TRY(take_object(json, "metadata", "notebook"));
  Json cells = take(json, "cells");
  if (!cells.is_array()) {
    return fault("cells", "must be a list");
  }
  if (cells.size() > limits.cells) {
    return fault("cells", "more than " + std::to_string(limits.cells) + " cells");
  }
  std::size_t outputs = 0;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    notebook.cells.push_back(GB_TRY(read_cell(std::move(cells[i]), entry("cells", i))));
    outputs += notebook.cells.back().outputs.size();
    if (outputs > limits.outputs) {
      return fault(entry("cells", i),
                   "the notebook has more than " + std::to_string(limits.outputs) + " outputs");
    }
  }
  json.erase("nbformat");
  json.erase("nbformat_minor");
  notebook.unknown = text_of(json);
  return notebook;
}

}  // namespace glovebox::notebook
