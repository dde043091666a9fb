// SPDX-License-Identifier: Apache-2.0
#include "cli/daemon/replay_difference.h"

#include <algorithm>

#include "base/text.h"
#include "service/guarded/replay_records.h"

namespace glovebox::cli {
namespace {

std::string first_line_that_differs(const std::string& before, const std::string& now) {
  std::size_t at = 0;
  std::size_t line = 1;
  const std::size_t most = std::min(before.size(), now.size());
  std::size_t begin = 0;
  for (; at < most && before[at] == now[at]; ++at) {
    if (before[at] == '\n') {
      ++line;
      begin = at + 1;
    }
  }
  const auto line_of = [begin](const std::string& text) {
    return printable(text.substr(begin, text.find('\n', begin) - begin).substr(0, 200));
  };
  return " in line " + std::to_string(line) + "\n  - " + line_of(before) + "\n  + " + line_of(now);
}

std::string shown_stream(const std::string& name, const Json& before, const Json& now) {
  if (before.contains("text") && now.contains("text")) {
    return name + " differs" +
           first_line_that_differs(text_in(before, "text"), text_in(now, "text"));
  }
  return name + " differs: " + std::to_string(number_in(before, "bytes")) + " bytes before, " +
         std::to_string(number_in(now, "bytes")) + " now";
}

}  // namespace

std::vector<Difference> compare(const Json& end, const Json& verdict) {
  std::vector<Difference> differences;
  const auto compare_value = [&](const char* name, const std::string& before,
                                 const std::string& now) {
    if (before != now) {
      differences.push_back({name, std::string(name) + " was " + before + " and is " + now});
    }
  };
  const Json& details = end.at("details");
  compare_value("status", text_in(end, "result"), text_in(verdict, "status"));
  for (const char* const name : {"exit_code", "signal"}) {
    compare_value(name, details.value(name, Json()).dump(), verdict.value(name, Json()).dump());
  }
  // Both keep the same part of the output, so both are cut alike.
  const Json before = details.value("output", Json::object());
  const Json now = output_of(verdict.dump());
  for (const char* const name : {"stdout", "stderr", "results"}) {
    const Json stream = before.value(name, Json());
    const Json again = now.value(name, Json());
    if (stream != again) {
      differences.push_back({name, shown_stream(name, stream, again)});
    }
  }
  if (list_in(before, "files") != list_in(now, "files")) {
    differences.push_back(
        {"files",
         "the files that it changed differ: " + std::to_string(list_in(before, "files").size()) +
             " before, " + std::to_string(list_in(now, "files").size()) + " now"});
  }
  return differences;
}

Json names_of(const std::vector<Difference>& differences) {
  Json names = Json::array();
  for (const Difference& each : differences) {
    names.push_back(each.name);
  }
  return names;
}

}  // namespace glovebox::cli
