// SPDX-License-Identifier: Apache-2.0
// glovebox approve: what waits because a policy asks for a person, and their decision.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "base/text.h"
#include "cli/confirmation.h"
#include "cli/daemon/commands.h"
#include "cli/daemon/daemon_client.h"
#include "cli/daemon/table.h"
#include "cli/dry_run_text.h"
#include "cli/policy_files.h"
#include "language/suggest.h"

namespace glovebox::cli {
namespace {

constexpr const char* kApproveFooter =
    R"(Without an ID, lists what waits. With one, shows the program, what the policies found, and what it
would be granted, and asks. The answer counts only for exactly this program. It requires a key with the
scope 'approve', or the daemon's own socket.

Examples:
  glovebox approve
  glovebox approve ID
  glovebox approve ID --yes --remember
  glovebox approve ID --refuse)";

struct ApproveOptionsText {
  DaemonOptionsText daemon;
  std::string id;
  bool yes = false;
  bool refuse = false;
  bool remember = false;
};

bool has_colour(int fd) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread.
  return ::isatty(fd) == 1 && std::getenv("NO_COLOR") == nullptr;
}

policy::Assessment assessment_of(const Json& approval) {
  policy::Assessment assessment;
  assessment.decision = policy::Action::kAsk;
  assessment.risk = approval.value("risk", 0U);
  for (const Json& each : list_in(approval, "findings")) {
    policy::Finding finding;
    finding.rule = text_in(each, "rule");
    finding.subject = text_in(each, "subject");
    finding.reason = text_in(each, "reason");
    finding.policy = text_in(each, "policy");
    finding.line = each.value("line", 1U);
    finding.column = each.value("column", 1U);
    for (const policy::Action action : {policy::Action::kNote, policy::Action::kAsk}) {
      if (text_in(each, "action") == name_of(action)) {
        finding.action = action;
      }
    }
    for (const policy::Severity severity :
         {policy::Severity::kLow, policy::Severity::kMedium, policy::Severity::kHigh}) {
      if (text_in(each, "severity") == name_of(severity)) {
        finding.severity = severity;
      }
    }
    assessment.findings.push_back(std::move(finding));
  }
  return assessment;
}

// Shows all of the code, with control characters escaped: people must see what they agree to.
std::string shown(const Json& approval) {
  std::string text = "kind: " + printable(text_in(approval, "kind")) + "\n";
  if (const std::string sandbox = text_in(approval, "sandbox"); !sandbox.empty()) {
    text += "sandbox: " + printable(sandbox) + "\n";
  }
  text += "language: " + printable(text_in(approval, "language")) + "\n";
  for (const Json& grant : list_in(approval, "grants")) {
    text += "grant: " + printable(grant.is_string() ? grant.get<std::string>() : "") + "\n";
  }
  text += "hash: " + printable(text_in(approval, "hash")) + "\n\n";
  const std::string code = text_in(approval, "code");
  std::size_t number = 0;
  for (std::string_view rest = code; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    text += std::to_string(++number) + "\t" + printable(rest.substr(0, end)) + "\n";
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  const bool colour = has_colour(STDERR_FILENO);
  text += "\n" + describe(assessment_of(approval), code, "code", colour);
  if (const auto run = approval.find("dry_run"); run != approval.end() && run->is_object()) {
    text += "\ndry run, which an approval commits:\n" + dry_run_text(run->dump(), colour);
  } else if (const std::string why = text_in(approval, "no_dry_run"); !why.empty()) {
    text += "\nno dry run: " + printable(why) + "\n";
  }
  return text;
}

void list(const Json& approvals) {
  Table table({"ID", "KIND", "SANDBOX", "LANGUAGE", "RISK", "EXPIRES", "FIRST LINE"});
  for (const Json& each : approvals) {
    const std::string code = text_in(each, "code");
    table.add({text_in(each, "id"), text_in(each, "kind"), text_in(each, "sandbox"),
               text_in(each, "language"), std::to_string(each.value("risk", 0U)),
               text_in(each, "expires").substr(0, 19),
               code.substr(0, std::min<std::size_t>(code.find('\n'), 40))});
  }
  std::cout << table.text();
}

Result<bool> decision_of(const ApproveOptionsText& options, const Json& approval) {
  std::cerr << shown(approval);
  if (options.yes || options.refuse) {
    return options.yes;
  }
  if (::isatty(STDIN_FILENO) != 1) {
    return Error(ErrorCode::kInvalid, "there is no terminal to ask at",
                 "decide with --yes or --refuse");
  }
  return person_agrees("Let it run?");
}

Result<int> approve(const ApproveOptionsText& options) {
  DaemonClient daemon = GB_TRY(DaemonClient::make(options.daemon));
  const Json waiting = GB_TRY(daemon.ask("GET", "/v1/approvals"));
  if (options.id.empty()) {
    if (options.daemon.json) {
      std::cout << waiting.dump(2) << "\n";
    } else {
      list(list_in(waiting, "approvals"));
    }
    return 0;
  }
  for (const Json& each : list_in(waiting, "approvals")) {
    if (text_in(each, "id") != options.id) {
      continue;
    }
    const bool agreed = GB_TRY(decision_of(options, each));
    (void)GB_TRY(daemon.ask("POST", "/v1/approvals/" + options.id,
                            {{"decision", agreed ? "allow" : "refuse"},
                             {"hash", text_in(each, "hash")},
                             {"remember", options.remember}}));
    std::cerr << "glovebox: " << (agreed ? "approved" : "refused") << "\n";
    return 0;
  }
  return Error(ErrorCode::kNotFound, "no program with the id '" + printable(options.id) + "' waits",
               "glovebox approve lists what waits");
}

}  // namespace

void add_approve(CLI::App& app, bool described, Action* action) {
  auto* const command = app.add_subcommand(kApprove.name, kApprove.description);
  command->footer(kApproveFooter);
  if (!described) {
    return;
  }
  auto options = std::make_shared<ApproveOptionsText>();
  add_daemon_options(*command, options->daemon);
  command->add_option("ID", options->id, "The id of what waits")->type_name("ID");
  auto* const yes = command->add_flag("--yes", options->yes, "Let it run, without asking");
  auto* const refuse = command->add_flag("--refuse", options->refuse, "Refuse it, without asking");
  yes->excludes(refuse);
  command->add_flag("--remember", options->remember,
                    "Do not ask about the same program again, as long as the daemon runs");
  command->callback(
      [action, options] { *action = [options] { return ended(approve(*options)); }; });
}

}  // namespace glovebox::cli
