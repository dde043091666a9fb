// SPDX-License-Identifier: Apache-2.0
#include "cli/daemon/agent_report.h"

#include "base/text.h"
#include "spec/json/schema.h"

namespace glovebox::cli {
namespace {

const char* name_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::kUnchanged:
      return "unchanged";
    case Outcome::kApplied:
      return "applied";
    case Outcome::kCommitted:
      return "committed";
    case Outcome::kDiscarded:
      return "discarded";
    case Outcome::kWritten:
      return "written";
    case Outcome::kKept:
      break;
  }
  return "kept";
}

const char* name_of(Change::Kind kind) {
  switch (kind) {
    case Change::Kind::kAdded:
      return "added";
    case Change::Kind::kModified:
      return "modified";
    case Change::Kind::kDeleted:
      break;
  }
  return "deleted";
}

Json text_or_null(const std::string& text) { return text.empty() ? Json() : Json(to_utf8(text)); }

}  // namespace

Json to_json(const AgentReport& report, const Checkout& checkout, const std::string& branch) {
  Json command = report.command;
  if (command.is_object()) {
    command.erase("schema");
  }
  Json changes = Json::array();
  for (const DecidedChange& each : report.decided.changes) {
    changes.push_back({{"path", to_utf8(each.path)},
                       {"change", name_of(each.kind)},
                       {"lines_added", each.added},
                       {"lines_removed", each.removed},
                       {"binary", each.binary},
                       {"executable", each.executable},
                       {"link", each.is_link},
                       {"runs_unasked", each.runs_unasked}});
  }
  Json left_behind = Json::array();
  for (const LeftBehind& each : report.decided.left_behind) {
    left_behind.push_back({{"path", to_utf8(each.path)}, {"reason", to_utf8(each.reason)}});
  }
  return {{"schema", schema_of("agent")},
          {"agent", to_utf8(report.agent)},
          {"checkout", to_utf8(checkout.path())},
          {"copied", report.copied},
          {"sandbox", report.sandbox},
          {"kept", report.kept},
          {"outcome", name_of(report.decided.outcome)},
          {"branch", report.decided.commit.empty() ? Json() : text_or_null(branch)},
          {"commit", text_or_null(report.decided.commit)},
          {"command", std::move(command)},
          {"changes", std::move(changes)},
          {"left_behind", std::move(left_behind)}};
}

}  // namespace glovebox::cli
