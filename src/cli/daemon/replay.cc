// SPDX-License-Identifier: Apache-2.0
// glovebox replay: repeats what a daemon's journal has recorded, and says what is different.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "base/text.h"
#include "cli/daemon/commands.h"
#include "cli/daemon/daemon_client.h"
#include "cli/daemon/replay_cells.h"
#include "cli/daemon/replay_difference.h"
#include "spec/json/schema.h"

namespace glovebox::cli {
namespace {

constexpr const char* kReplayFooter =
    R"(The daemon must have been started with --audit-inputs when the program ran. ID is the 'id' of a run's
verdict; SANDBOX/CONTEXT is all that was executed in a context, and SANDBOX/CONTEXT:3 its first three
cells. They run with the recorded code, input, files, variables, arguments and limits; cells in a new
sandbox of the same template, without volumes. Times are those of today.

A run whose network was recorded (glovebox serve --audit-network) is answered from that and reaches
nothing; a request that the recording has no answer to is refused, and named as a difference. Other
runs, and all cells, reach the network as it is today.

Exit status: 0 everything is the same; 1 something is different.

Examples:
  glovebox replay 4nq8zt0c5d2e
  glovebox replay 4nq8zt0c5d2e --json | jq .differences
  glovebox replay 4nq8zt0c5d2e --network live
  glovebox replay 7hk2mw9x4b1s/default)";

struct ReplayOptionsText {
  DaemonOptionsText daemon;
  std::string id;
  std::string network;  // Empty: from the recording if there is one.
};

struct Recorded {
  Json start;
  Json end;
};

// The records of a run: finds its end by the sandbox's id, and its start by the number in the end.
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

// How to answer a run's network, and what its recording lacks.
struct NetworkAgain {
  bool recorded = false;
  std::string lacks{};  // For people; empty: nothing.
};

// Sets the network in the request. A run that was itself a replay is answered as it was then.
Result<NetworkAgain> choose_network(const ReplayOptionsText& options,
                                    const Json& end,
                                    Json& request) {
  const Json recording = end.at("details").value("network_recording", Json());
  const bool of_its_own = recording.is_object() && recording.contains("sha256");
  const bool kept = of_its_own || request.contains("replay_network");
  const std::string left_out = recording.is_object() ? text_in(recording, "left_out") : "";
  if (options.network == "recorded" && !kept) {
    return Error(ErrorCode::kNotFound,
                 "no network was recorded of the run" +
                     (left_out.empty() ? std::string() : ": " + printable(left_out)),
                 "runs are recorded for this while the daemon runs with --audit-network");
  }
  NetworkAgain again{.recorded = kept && options.network != "live"};
  if (!again.recorded) {
    request.erase("replay_network");
  } else if (of_its_own) {
    request["replay_network"] = options.id;
  }
  if (again.recorded && of_its_own && recording.value("incomplete", false)) {
    again.lacks = "the recording is incomplete: there was more than room for";
  } else if (!left_out.empty()) {
    again.lacks = "it was not recorded: " + printable(left_out);
  }
  return again;
}

// Adds what the recording had no answer to, and what it has that the run did not ask for.
void compare_network(const Json& verdict, std::vector<Difference>& differences) {
  for (const Json& connection : list_in(verdict, "connections")) {
    if (text_in(connection, "rule") == "recording") {
      differences.push_back({"network", "network: " + printable(text_in(connection, "reason"))});
    }
  }
}

Result<int> replay(const ReplayOptionsText& options) {
  DaemonClient daemon = GB_TRY(DaemonClient::make(options.daemon));
  if (options.id.contains('/')) {
    if (options.network == "recorded") {
      return Error(ErrorCode::kUnsupported, "the network of sandboxes is not recorded",
                   "leave out --network, or replay a run");
    }
    return replay_cells(daemon, options.id, options.daemon.json);
  }
  const Recorded recorded = GB_TRY(find_run(daemon, options.id));
  Json request = recorded.start["details"]["request"];
  const NetworkAgain network = GB_TRY(choose_network(options, recorded.end, request));
  const Json verdict = GB_TRY(daemon.ask("POST", "/v1/run", request));
  std::vector<Difference> differences = compare(recorded.end, verdict);
  compare_network(verdict, differences);
  if (options.daemon.json) {
    std::cout << Json{{"schema", schema_of("replay")},
                      {"id", options.id},
                      {"recorded", text_in(recorded.start, "time")},
                      {"network", network.recorded ? "recorded" : "live"},
                      {"network_lacks", network.lacks.empty() ? Json() : Json(network.lacks)},
                      {"same", differences.empty()},
                      {"differences", names_of(differences)},
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
    if (!network.lacks.empty()) {
      std::cout << "network: " << network.lacks << "\n";
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
  command->add_option("ID", options->id, "The id of a run, or SANDBOX/CONTEXT")->required();
  command
      ->add_option("--network", options->network,
                   "Where answers of the network come from: recorded, or live "
                   "[default: recorded where the run's network was]")
      ->type_name("SOURCE")
      ->check(CLI::IsMember({"recorded", "live"}));
  add_daemon_options(*command, options->daemon);
  command->callback([action, options] { *action = [options] { return ended(replay(*options)); }; });
}

}  // namespace glovebox::cli
