// SPDX-License-Identifier: Apache-2.0
// glovebox replay: runs again what a daemon's journal has recorded, and says what is different.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "base/text.h"
#include "cli/daemon/commands.h"
#include "cli/daemon/daemon_client.h"
#include "service/guarded/replay_records.h"
#include "spec/json/schema.h"

namespace glovebox::cli {
namespace {

constexpr const char* kReplayFooter =
    R"(The daemon must have been started with --audit-inputs when the program ran; ID is the 'id' of the
run's verdict. It runs with the recorded code, input, files, variables, arguments and limits. Network
answers and times are those of today.

Exit status: 0 everything is the same; 1 something is different.

Examples:
  glovebox replay 4nq8zt0c5d2e
  glovebox replay 4nq8zt0c5d2e --json | jq .differences)";

constexpr int kExitDifferent = 1;

struct ReplayOptionsText {
  DaemonOptionsText daemon;
  std::string id;
};

struct Recorded {
  Json start;
  Json end;
};

// The records of a run: its end by the sandbox's id, and its start by the number that the end has.
Result<Recorded> find_run(DaemonClient& daemon, const std::string& id) {
  const Json ends =
      GB_TRY(daemon.ask("GET", "/v1/audit?newest=1&action=run.end&sandbox=" + encode(id)));
  if (list_in(ends, "records").empty()) {
    return Error(ErrorCode::kNotFound, "there is no recorded run '" + printable(id) + "'",
                 "runs are recorded for this while the daemon runs with --audit-inputs");
  }
  Recorded found{.start = {}, .end = list_in(ends, "records").front()};
  const std::int64_t number = number_in(found.end["details"], "start");
  const Json starts = GB_TRY(daemon.ask(
      "GET", "/v1/audit?limit=1&after=" + std::to_string(std::max<std::int64_t>(number - 1, 0))));
  if (list_in(starts, "records").empty() ||
      number_in(list_in(starts, "records").front(), "seq") != number) {
    return Error(ErrorCode::kNotFound, "the start of the run is no longer in the audit journal",
                 "raise --audit-keep to keep records longer");
  }
  found.start = list_in(starts, "records").front();
  if (!found.start["details"].contains("request")) {
    return Error(ErrorCode::kConflict, "the run was given too much to be recorded in full",
                 "runs with more than 256 KiB of code, input and files cannot be replayed");
  }
  return found;
}

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

// What is different, by name, and how that is shown to a person.
struct Difference {
  std::string name;
  std::string shown;
};

std::string shown_stream(const std::string& name, const Json& before, const Json& now) {
  if (before.contains("text") && now.contains("text")) {
    return name + " differs" +
           first_line_that_differs(text_in(before, "text"), text_in(now, "text"));
  }
  return name + " differs: " + std::to_string(number_in(before, "bytes")) + " bytes before, " +
         std::to_string(number_in(now, "bytes")) + " now";
}

std::vector<Difference> compare(const Recorded& recorded, const Json& verdict) {
  std::vector<Difference> differences;
  const auto compare_value = [&](const char* name, const std::string& before,
                                 const std::string& now) {
    if (before != now) {
      differences.push_back({name, std::string(name) + " was " + before + " and is " + now});
    }
  };
  const Json& details = recorded.end["details"];
  compare_value("status", text_in(recorded.end, "result"), text_in(verdict, "status"));
  for (const char* const name : {"exit_code", "signal"}) {
    compare_value(name, details.value(name, Json()).dump(), verdict.value(name, Json()).dump());
  }
  // The same is kept of both, so what is cut is cut alike.
  const Json before = details.value("output", Json::object());
  const Json now = output_of(verdict.dump());
  for (const char* const name : {"stdout", "stderr"}) {
    const Json stream = before.value(name, Json());
    if (stream != now.value(name, Json())) {
      differences.push_back({name, shown_stream(name, stream, now.value(name, Json()))});
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

Result<int> replay(const ReplayOptionsText& options) {
  DaemonClient daemon = GB_TRY(DaemonClient::make(options.daemon));
  const Recorded recorded = GB_TRY(find_run(daemon, options.id));
  const Json verdict = GB_TRY(daemon.ask("POST", "/v1/run", recorded.start["details"]["request"]));
  const std::vector<Difference> differences = compare(recorded, verdict);
  if (options.daemon.json) {
    Json names = Json::array();
    for (const Difference& each : differences) {
      names.push_back(each.name);
    }
    std::cout << Json{{"schema", schema_of("replay")},
                      {"id", options.id},
                      {"recorded", text_in(recorded.start, "time")},
                      {"same", differences.empty()},
                      {"differences", std::move(names)},
                      {"verdict", verdict}}
                     .dump(2)
              << "\n";
  } else {
    std::cout << "recorded " << printable(text_in(recorded.start, "time")) << ", "
              << printable(text_in(recorded.start, "subject")) << ": "
              << (differences.empty() ? "the same again" : "something is different") << "\n";
    for (const Difference& each : differences) {
      std::cout << each.shown << "\n";
    }
  }
  return differences.empty() ? 0 : kExitDifferent;
}

}  // namespace

void add_replay(CLI::App& app, bool described, Action* action) {
  auto* const command = app.add_subcommand(kReplay.name, kReplay.description);
  if (!described) {
    return;
  }
  command->footer(kReplayFooter);
  auto options = std::make_shared<ReplayOptionsText>();
  command->add_option("ID", options->id, "The id of the run")->required();
  add_daemon_options(*command, options->daemon);
  command->callback([action, options] { *action = [options] { return ended(replay(*options)); }; });
}

}  // namespace glovebox::cli
