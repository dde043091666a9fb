// SPDX-License-Identifier: Apache-2.0
#include "cli/dry_run_text.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/bytes.h"
#include "base/json/json.h"
#include "base/text.h"
#include "cli/output_writer.h"
#include "cli/shown_patch.h"
#include "language/suggest.h"

namespace glovebox::cli {
namespace {

using Json = nlohmann::json;

// A person sees no more than this at once.
constexpr std::size_t kMostShownLines = 1'000;
constexpr std::size_t kMostShownNames = 200;

std::string text_at(const Json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && found != object.end() && found->is_string()
             ? found->get<std::string>()
             : std::string();
}

std::uint64_t number_at(const Json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && found != object.end() && found->is_number_unsigned()
             ? found->get<std::uint64_t>()
             : 0;
}

const Json& list_at(const Json& object, const char* key) {
  static const Json kNone = Json::array();
  const auto found = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && found != object.end() && found->is_array() ? *found : kNone;
}

const Json& object_at(const Json& object, const char* key) {
  static const Json kNone = Json::object();
  const auto found = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && found != object.end() && found->is_object() ? *found : kNone;
}

class Page {
 public:
  explicit Page(bool colour) : colour_(colour) {}

  void add(std::string_view letter, const char* ink, const std::string& line) {
    if (++lines_ <= kMostShownNames) {
      text_ += (colour_ ? ink : "") + std::string(letter) + (colour_ ? "\x1b[0m" : "") + " " +
               line + "\n";
    }
  }
  void add_line(const std::string& line) { text_ += line + "\n"; }

  std::string take() && {
    if (lines_ > kMostShownNames) {
      text_ += "… " + std::to_string(lines_ - kMostShownNames) + " more; --json has them\n";
    }
    return std::move(text_);
  }

 private:
  const bool colour_;
  std::string text_;
  std::size_t lines_ = 0;
};

constexpr const char* kRed = "\x1b[31m";
constexpr const char* kGreen = "\x1b[32m";
constexpr const char* kCyan = "\x1b[36m";

std::string size_text(const Json& file) {
  if (text_at(file, "type") != "file") {
    return "  (" + printable(text_at(file, "type")) + ")";
  }
  const std::string size = to_string(Bytes{number_at(file, "size")});
  return file.contains("size_before")
             ? "  " + to_string(Bytes{number_at(file, "size_before")}) + " -> " + size
             : "  " + size;
}

void add_files(const Json& files, Page& page) {
  for (const auto& [kind, letter, ink] :
       {std::tuple("added", "A", kGreen), std::tuple("modified", "M", kCyan),
        std::tuple("deleted", "D", kRed)}) {
    for (const Json& file : list_at(files, kind)) {
      page.add(letter, ink, printable(text_at(file, "path")) + size_text(file));
    }
  }
  if (files.value("truncated", Json(false)) == true) {
    page.add_line("… more files differ than can be listed");
  }
}

void add_variables(const Json& variables, Page& page) {
  const auto shown = [](const Json& each, const char* type, const char* value) {
    return printable(text_at(each, type)) + " " + printable(text_at(each, value));
  };
  for (const Json& each : list_at(variables, "added")) {
    page.add("+", kGreen, printable(text_at(each, "name")) + ": " + shown(each, "type", "value"));
  }
  for (const Json& each : list_at(variables, "changed")) {
    page.add("~", kCyan,
             printable(text_at(each, "name")) + ": " + shown(each, "type_before", "value_before") +
                 " -> " + shown(each, "type", "value"));
  }
  for (const Json& each : list_at(variables, "removed")) {
    page.add("-", kRed, printable(text_at(each, "name")) + ": " + shown(each, "type", "value"));
  }
}

void add_rest(const Json& run, Page& page) {
  for (const Json& each : list_at(run, "processes")) {
    page.add_line("left behind: process " + std::to_string(number_at(each, "pid")) + " " +
                  printable(text_at(each, "command")));
  }
  for (const Json& each : list_at(run, "hosts")) {
    page.add_line("wanted to reach: " + printable(text_at(each, "host")) + ":" +
                  std::to_string(number_at(each, "port")) + " (" +
                  printable(text_at(each, "verdict")) + ")");
  }
  for (const Json& each : list_at(run, "tool_calls")) {
    page.add_line("wanted to call: " + printable(text_at(each, "name")) + " " +
                  printable(text_at(each, "arguments")));
  }
}

// All diffs, as far as a person reads.
std::string diffs_of(const Json& files, bool colour) {
  std::string text;
  std::size_t left = kMostShownLines;
  for (const char* const kind : {"added", "modified", "deleted"}) {
    for (const Json& file : list_at(files, kind)) {
      const std::string diff = text_at(file, "diff");
      std::string_view rest = diff;
      std::size_t end = 0;
      while (left > 0 && end < rest.size()) {
        end = std::min(rest.find('\n', end), rest.size() - 1) + 1;
        --left;
      }
      text += shown_patch(rest.substr(0, end), colour);
      if (end < rest.size()) {
        return text + "… the diff has more lines; --json has them\n";
      }
    }
  }
  return text;
}

}  // namespace

std::string dry_run_text(std::string_view text_of_run, bool colour) {
  const Json run = Json::parse(text_of_run, nullptr, false);
  Page page(colour);
  const Json& files = object_at(run, "files");
  add_files(files, page);
  add_variables(object_at(run, "variables"), page);
  add_rest(run, page);
  std::string text = std::move(page).take() + diffs_of(files, colour);
  return text.empty() ? "nothing has changed\n" : text;
}

}  // namespace glovebox::cli
