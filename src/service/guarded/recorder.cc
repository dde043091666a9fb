// SPDX-License-Identifier: Apache-2.0
#include "service/guarded/recorder.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "base/digest/digest.h"
#include "base/text.h"
#include "service/guarded/replay_records.h"
#include "spec/egress_protocol.h"
#include "spec/json/error_json.h"
#include "spec/json/raw_json.h"
#include "spec/json/recording_event.h"
#include "spec/json/verdict_json.h"

namespace glovebox {
namespace {

using Json = nlohmann::ordered_json;

// Tool calls of one execution that have records of their own; the others are counted.
constexpr std::uint64_t kMostToolCalls = 1000;
// Connections and changed files of one verdict that are recorded by their names.
constexpr std::size_t kMostConnections = 50;
constexpr std::size_t kMostFiles = 50;
constexpr std::size_t kMostPath = 256;

// What is recorded of a verdict of either kind, as it is. A guest has written none of it; the names
// of files and hosts have records of their own (Consequence).
constexpr std::array<std::string_view, 9> kRecorded{
    "exit_code", "signal",          "limit",           "tier", "usage", "points",
    "points_of", "files_truncated", "more_connections"};

// A tool call, or one that a policy refused (call_gate.h).
std::optional<nlohmann::json> tool_call_in(std::string_view event) {
  // Most events are output, and need not be parsed.
  if (!event.starts_with(R"({"type":"tool_)")) {
    return std::nullopt;
  }
  auto parsed = nlohmann::json::parse(event, nullptr, false);
  return parsed.is_object() ? std::optional(std::move(parsed)) : std::nullopt;
}

void copy_field(const nlohmann::json& from, const char* name, Json& into) {
  if (const auto found = from.find(name); found != from.end() && !found->is_null()) {
    into[name] = *found;
  }
}

std::vector<std::string> limits_hit(std::string_view limits) {
  std::vector<std::string> hit;
  if (limits.find(R"("hit":true)") == std::string_view::npos) {
    return hit;  // Of almost all executions; the rest need not be read.
  }
  for (const auto& [name, limit] : raw_members(limits)) {
    if (raw_member(limit, "hit") == "true") {
      hit.emplace_back(name);
    }
  }
  return hit;
}

std::string unquoted(std::string_view text) {
  return std::string(text.size() < 2 ? text : text.substr(1, text.size() - 2));
}

void add_member(std::string& members, std::string_view name, std::string_view value) {
  members += members.empty() ? "\"" : ",\"";
  members += name;
  members += "\":";
  members += value;
}

// What an execution led to: it has a record of its own, by which it can be found.
struct Consequence {
  Deed deed{};
  std::string result = "ok";
};

// What is recorded of a verdict or of a judge's report. An execution waits for this: values are
// copied as they stand in the event, and its output and results are not even parsed.
struct Outcome {
  std::string status{"unknown"};
  std::string id{};       // Of the sandbox of a run.
  std::string members{};  // Of the details.
  std::vector<Consequence> consequences{};

  explicit Outcome(std::string_view event) {
    for (const auto& [name, value] : raw_members(event)) {
      if (name == "status" || name == "verdict") {
        status = unquoted(value);
      } else if (name == "id") {
        id = unquoted(value);
      } else if (name == "limits") {
        add_limits(limits_hit(value));
      } else if (name == "dry_run") {
        add_dry_run(value);
      } else if (name == "connections") {
        add_connections(value);
      } else if (name == "files") {
        add_files(value);
      } else if (name == "checks") {
        add_checks(value);
      } else if (value != "null" && std::ranges::find(kRecorded, name) != kRecorded.end()) {
        add_member(members, name, value);
      }
    }
  }

 private:
  // Its name and how much it changed; nothing of what the guest wrote.
  void add_dry_run(std::string_view value) {
    const auto run = nlohmann::json::parse(value, nullptr, false);
    const auto files = run.is_object() ? run.find("files") : run.end();
    if (!run.is_object() || files == run.end() || !files->is_object()) {
      return;
    }
    std::string told = "{\"id\":" + run.value("id", nlohmann::json()).dump();
    for (const char* const kind : {"added", "modified", "deleted"}) {
      told += std::string(",\"") + kind +
              "\":" + std::to_string(files->value(kind, nlohmann::json::array()).size());
    }
    add_member(members, "dry_run", told + "}");
  }

  // Which checks were made, and their results; no reason, which can have words of the guest's.
  void add_checks(std::string_view value) {
    Json told = Json::array();
    for (const auto& each : nlohmann::json::parse(value, nullptr, false)) {
      told.push_back({{"check", each.value("check", "")}, {"passed", each.value("passed", false)}});
    }
    add_member(members, "checks", told.dump());
  }

  void add_limits(const std::vector<std::string>& hit) {
    if (hit.empty()) {
      return;
    }
    add_member(members, "limits_hit", Json(hit).dump());
    for (const std::string& limit : hit) {
      consequences.push_back({.deed = {.action = "limit.hit", .subject = limit}});
    }
  }

  // Host, port and outcome; never what was sent.
  void add_connections(std::string_view value) {
    const auto all = nlohmann::json::parse(value, nullptr, false);
    if (!all.is_array() || all.empty()) {
      return;
    }
    add_member(members, "connections", std::to_string(all.size()));
    std::size_t left = all.size();
    for (const auto& each : all) {
      if (all.size() - left == kMostConnections || !each.is_object()) {
        break;
      }
      --left;
      Consequence made{
          .deed = {.action = "connection",
                   .subject = each.value("host", "") + ":" + std::to_string(each.value("port", 0))},
          .result = each.value("verdict", "")};
      for (const char* name : {"address", "sent", "received"}) {
        copy_field(each, name, made.deed.details);
      }
      consequences.push_back(std::move(made));
    }
    if (left > 0) {
      consequences.push_back({.deed = {.action = "connection", .details = {{"more", left}}}});
    }
  }

  void add_files(std::string_view value) {
    const auto all = nlohmann::json::parse(value, nullptr, false);
    if (!all.is_array() || all.empty()) {
      return;
    }
    Deed changed{.action = "files.change", .details = {{"count", all.size()}}};
    for (const auto& each : all) {
      if (changed.details["files"].size() == kMostFiles || !each.is_object()) {
        break;
      }
      Json file{{"path", to_utf8(each.value("path", "").substr(0, kMostPath))}};
      for (const char* name : {"change", "size"}) {
        copy_field(each, name, file);
      }
      changed.details["files"].push_back(std::move(file));
    }
    consequences.push_back({.deed = std::move(changed)});
  }
};

// What the record of the end says about a recording.
Json keep(audit::Recordings::Place& place, const NetworkRecording& recording) {
  if (place.room() == 0) {
    return Json{{"left_out", "the tenant has as many recordings as it may have"}};
  }
  Json told{{"bytes", recording.bytes.size()}, {"sha256", sha256_hex(recording.bytes)}};
  if (recording.cut) {
    told["incomplete"] = true;
  }
  // The run is over, and its end must be recorded even if this fails.
  const auto kept = place.keep(recording.bytes);
  return kept ? told : Json{{"left_out", to_utf8(kept.error().message())}};
}

Deed tool_call_of(const Deed& deed, const nlohmann::json& event) {
  const std::string arguments =
      event.contains("arguments")
          ? event["arguments"].dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)
          : std::string();
  return {.action = "tool.call",
          .sandbox = deed.sandbox,
          .context = deed.context,
          .subject = event.value("name", ""),
          .details = {{"call", event.value("id", "")},
                      {"arguments_sha256", sha256_hex(arguments)},
                      {"arguments_bytes", arguments.size()}}};
}

}  // namespace

Result<void> Recorder::remark(const Caller& caller, const Deed& deed) const {
  if (trail_ != nullptr) {
    const audit::Room room = GB_TRY(trail_->room(deed));
    (void)GB_TRY(trail_->note(caller, door_, deed, nullptr));
  }
  return {};
}

void Recorder::insist(const Caller& caller, const Deed& deed, const Error* error) const {
  if (trail_ != nullptr) {
    (void)trail_->note(caller, door_, deed, error);
    (void)trail_->checkpoint();
  }
}

Result<FileClient> Recorder::follow(const Caller& caller,
                                    const Deed& opening,
                                    Result<FileClient> files) const {
  if (files && trail_ != nullptr) {
    Deed changing = opening;
    const std::string kind = changing.action.substr(0, changing.action.rfind('.') + 1);
    files->tell_changes([this, caller, changing, kind](std::string_view what, std::string_view path,
                                                       std::string_view to) {
      Deed change = changing;
      change.action = kind + std::string(what);
      change.details["path"] = to_utf8(path.substr(0, kMostPath));
      if (!to.empty()) {
        change.details["to"] = to_utf8(to.substr(0, kMostPath));
      }
      return remark(caller, change);
    });
  }
  return files;
}

Result<void> Recorder::execute(const Caller& caller,
                               Deed deed,
                               Result<void> may,
                               const EventSink& sink,
                               const Execution& call,
                               NetworkTape* tape) const {
  GB_TRY(allowed(caller, deed, std::move(may)));
  const std::string tenant = caller.tenant;
  const std::string sandbox = deed.sandbox;
  std::optional<EmergencyStop> stop;
  bool passed_on = false;
  const EventSink stoppable = [&](std::string_view event) {
    stop = service_.stop_of(tenant, sandbox);
    if (event.empty() && !std::exchange(passed_on, true)) {
      return !stop;  // The keeper has the request; nobody needs to hear that.
    }
    return !stop && sink(event);
  };
  auto done = trail_ == nullptr ? call(stoppable)
                                : execute_recorded(caller, std::move(deed), stoppable, call, tape);
  return stop ? Result<void>(refusal_by(*stop)) : done;
}

Result<void> Recorder::execute_recorded(const Caller& caller,
                                        Deed start,
                                        const EventSink& sink,
                                        const Execution& call,
                                        NetworkTape* tape) const {
  Deed end{.action = start.action + ".end",
           .sandbox = start.sandbox,
           .context = start.context,
           .subject = start.subject};
  start.action += ".start";
  const bool with_output =
      start.details.contains("request") || start.details.contains("request_bytes");
  const audit::Room room =
      GB_TRY(trail_->room(start, audit::kUsualLine + (with_output ? kMostRecordedOutput : 0)));
  // It is in the file before anything runs, and reaches the disk meanwhile.
  std::uint64_t asked = GB_TRY(trail_->note(caller, door_, start, nullptr));
  end.details["start"] = asked;
  std::optional<audit::Recordings::Place> place;
  if (tape != nullptr && trail_->recordings() != nullptr) {
    place.emplace(GB_TRY(trail_->recordings()->begin(caller.tenant, asked, egress::kMostRecorded)));
    tape->room = place->room();
  }
  NetworkRecording recording;
  std::optional<Outcome> outcome;
  std::string verdict;
  bool left = false;
  std::uint64_t tool_calls = 0;
  const audit::Haste haste = trail_->waits_for_ends() ? audit::Haste::kNone : audit::Haste::kSoon;
  Result<void> recorded;
  const auto done = call([&](std::string_view event) {
    if (event.empty() && !trail_->waits_for_ends()) {
      trail_->flush_meanwhile(asked);
    }
    if (place && take_recording_event(event, recording)) {
      return true;
    }
    const auto tool = tool_call_in(event);
    if (const bool recorded_alone = tool && ++tool_calls <= kMostToolCalls;
        recorded_alone && tool->value("type", "") == "tool_refused") {
      trail_->note_refusal(caller, door_, tool_call_of(start, *tool),
                           Error(ErrorCode::kRefused, tool->value("message", "")));
    } else if (recorded_alone) {
      // Before the client has it, so that every tool that is called has a record.
      const Deed called = tool_call_of(start, *tool);
      const auto of_call = trail_->room(called);
      const auto noted = of_call ? trail_->note(caller, door_, called, nullptr, haste)
                                 : Result<std::uint64_t>(of_call.error());
      if (!noted) {
        recorded = noted.error();
        return false;
      }
      asked = *noted;
    }
    if (is_verdict_event(event)) {
      outcome.emplace(event);
      end.more = outcome->members;
      if (with_output) {
        end.details["output"] = output_of(event);
      }
      if (end.sandbox.empty()) {
        end.sandbox = outcome->id;  // A run is found again by the id of its sandbox.
      }
      verdict = event;
      return true;
    }
    left = !sink(event);
    return !left;
  });
  if (place) {
    end.details["network_recording"] = keep(*place, recording);
  }
  if (tool_calls > 0) {
    end.details["tool_calls"] = tool_calls;
  }
  const std::string status = outcome ? outcome->status
                             : !done ? std::string(name_of(done.error().code()))
                             : left  ? "interrupted"
                                     : "unknown";
  std::uint64_t number = GB_TRY(trail_->note_end(caller, door_, end, status));
  if (outcome) {
    for (Consequence& each : outcome->consequences) {
      each.deed.sandbox = end.sandbox;
      each.deed.context = end.context;
      each.deed.details["start"] = end.details["start"];
      const audit::Room more = GB_TRY(trail_->room(each.deed, each.deed.details.dump().size()));
      number = GB_TRY(trail_->note_end(caller, door_, each.deed, each.result));
    }
  }
  GB_TRY(trail_->wait(trail_->waits_for_ends() ? number : asked));
  GB_TRY(std::move(recorded));
  if (outcome) {
    (void)sink(verdict);
  }
  return done;
}

}  // namespace glovebox
