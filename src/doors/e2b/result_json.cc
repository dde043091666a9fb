// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/result_json.h"

#include <array>
#include <utility>

#include "base/text.h"
#include "doors/e2b/times.h"
#include "spec/json/bounded_json.h"

namespace glovebox::e2b {
namespace {

// What a guest shows as JSON may be large and deep, but not as deep as our stack; and duplicate
// names are its own business.
constexpr JsonBounds kShown{.values = 1'000'000, .depth = 200, .names_twice = true};

constexpr std::string_view kChart = "application/vnd.glovebox.chart+json";
constexpr std::string_view kTable = "application/vnd.glovebox.table+json";

constexpr std::array<std::pair<std::string_view, const char*>, 10> kFields{{
    {"text/plain", "text"},
    {"text/html", "html"},
    {"text/markdown", "markdown"},
    {"image/svg+xml", "svg"},
    {"image/png", "png"},
    {"image/jpeg", "jpeg"},
    {"application/pdf", "pdf"},
    {"text/latex", "latex"},
    {"application/json", "json"},
    {"application/javascript", "javascript"},
}};

// A representation of a string, without its quotes.
std::string unquoted(std::string text) {
  const bool quoted = text.size() >= 2 && text.front() == text.back() &&
                      (text.front() == '\'' || text.front() == '"');
  return quoted ? text.substr(1, text.size() - 2) : text;
}

// {column: [value, …]} from a table of columns.
Json columns_of(const Json& table) {
  Json columns = Json::object();
  const Json* list = member(table, "columns");
  if (list == nullptr || !list->is_array()) {
    return columns;
  }
  for (const Json& column : *list) {
    const Json* name = member(column, "name");
    const Json* values = member(column, "values");
    if (name != nullptr && name->is_string() && values != nullptr && values->is_array()) {
      columns[name->get<std::string>()] = *values;
    }
  }
  return columns;
}

Json chart_of(const Json& chart) {
  Json plain = chart;
  if (plain.is_object()) {
    plain.erase("truncated");  // A word of ours.
  }
  return plain;
}

// E2B's word for an end that no exception of the guest's explains, and what a person needs to know.
std::pair<const char*, std::string> unexpected_end(const std::string& status) {
  if (status == "timeout") {
    return {"ExecutionAborted", "the execution exceeded its time limit"};
  }
  if (status == "canceled") {
    return {"ExecutionAborted", "the execution was interrupted"};
  }
  if (status == "out_of_memory") {
    return {"UnexpectedEndOfExecution", "the execution ran out of memory; its context was lost"};
  }
  return {"UnexpectedEndOfExecution", "the context ended while running the code (" + status +
                                          "); the next execution starts a new one"};
}

}  // namespace

std::string execution_line(const Json& json) { return to_line(json, true) + "\n"; }

Json result_fields(const Json& bundle, bool main) {
  Json result{{"type", "result"}, {"is_main_result", main}, {"extra", Json::object()}};
  for (const auto& [mime, value] : bundle.items()) {
    const char* field = nullptr;
    for (const auto& [type, name] : kFields) {
      field = type == mime ? name : field;
    }
    if (value.is_null()) {
      continue;
    }
    if (mime == kChart) {
      result["chart"] = chart_of(value);
    } else if (mime == kTable) {
      result["data"] = columns_of(value);
    } else if (field == nullptr) {
      result["extra"][mime] = value;
    } else if (mime == "text/plain" && value.is_string()) {
      result[field] = unquoted(value.get<std::string>());
    } else {
      result[field] = value;
    }
  }
  return result;
}

std::string ExecutionLines::take(std::string_view event) {
  const auto parsed = parse_json(event, kShown);
  if (!parsed) {
    return {};
  }
  const Json& json = *parsed;
  const std::string type = text_of(json, "type");
  if (type == "started") {
    const Json* count = member(json, "execution_count");
    if (count == nullptr || !count->is_number_integer()) {
      return {};
    }
    counted_ = true;
    return execution_line({{"type", "number_of_executions"}, {"execution_count", *count}});
  }
  if (type == "stdout" || type == "stderr") {
    return execution_line({{"type", type},
                           {"text", text_of(json, "text")},
                           {"timestamp", to_rfc3339(SystemClock::now())}});
  }
  if (type == "result") {
    const Json* data = member(json, "data");
    const Json* update = member(json, "update");
    // E2B's server skips what replaces something shown before.
    if (data == nullptr || !data->is_object() || (update != nullptr && *update == true)) {
      return {};
    }
    const Json* main = member(json, "main");
    return execution_line(result_fields(*data, main != nullptr && *main == true));
  }
  if (type == "error") {
    if (std::exchange(failed_, true)) {
      return {};  // At most one.
    }
    AnsiStripper plain;
    return execution_line({{"type", "error"},
                           {"name", text_of(json, "name")},
                           {"value", text_of(json, "value")},
                           {"traceback", plain.strip(text_of(json, "traceback"))}});
  }
  return type == "verdict" ? ending(json) : std::string();
}

std::string ExecutionLines::ending(const Json& verdict) {
  status_ = text_of(verdict, "status");
  std::string lines;
  const Json* count = member(verdict, "execution_count");
  if (!counted_ && count != nullptr) {
    lines += execution_line({{"type", "number_of_executions"}, {"execution_count", *count}});
  }
  if (*status_ != "ok" && !failed_) {
    const Json* error = member(verdict, "error");
    auto [name, value] = unexpected_end(*status_);
    Json line{{"type", "error"}, {"name", name}, {"value", value}, {"traceback", value}};
    if (error != nullptr && error->is_object()) {
      AnsiStripper plain;
      line["name"] = text_of(*error, "name");
      line["value"] = text_of(*error, "value");
      line["traceback"] = plain.strip(text_of(*error, "traceback"));
    }
    lines += execution_line(line);
  }
  return lines + execution_line({{"type", "end_of_execution"}});
}

}  // namespace glovebox::e2b
