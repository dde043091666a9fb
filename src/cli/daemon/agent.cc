// SPDX-License-Identifier: Apache-2.0
// glovebox agent: a coding agent in a sandbox, on a copy of a checkout.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <utility>

#include "base/text.h"
#include "cli/agent/profile.h"
#include "cli/daemon/agent_decision.h"
#include "cli/daemon/agent_report.h"
#include "cli/daemon/agent_session.h"
#include "cli/daemon/commands.h"
#include "cli/daemon/table.h"
#include "cli/interrupts.h"
#include "cli/output_writer.h"

namespace glovebox::cli {
namespace {

constexpr const char* kAgentFooter =
    R"(Copies the files of DIR that git tracks or would add into a new sandbox and starts the agent there,
in this terminal. Its API key is read from your environment; inside there is a placeholder, which
the network proxy replaces for the agent's own hosts only. Afterwards, the changes are shown as a
diff and applied if you agree. The daemon needs 'glovebox serve --network public', and the template
'agent' is built once; see docs/agents.md.

Words after '--' go to the agent.

With --json and --events, nobody is asked: without one of the options for changes, they stay in the
sandbox.

Exit status: the agent's own; 125 glovebox error; 2 usage error.

Examples:
  glovebox agent claude
  glovebox agent codex ~/src/project --branch codex/fix
  glovebox agent claude --apply -- -p 'fix the failing test' < /dev/null
  glovebox agent --command 'make format' --apply
  glovebox agent ./own-agent.toml --allow-net pypi.org
  glovebox agent --list)";

struct AgentOptionsText {
  AgentOrder order;
  DecisionOptions decision;
  std::string name;
  std::string directory;
  std::string command;
  bool list = false;
  bool no_keys = false;
  bool no_history = false;
  bool keep = false;

  [[nodiscard]] bool for_program() const { return order.daemon.json || order.events; }
};

int list_agents() {
  Table table({"NAME", "PACKAGE", "KEY", "HOSTS", "DESCRIPTION"});
  const auto joined = [](const std::vector<std::string>& texts) {
    std::string all;
    for (const std::string& each : texts) {
      all += (all.empty() ? "" : ",") + each;
    }
    return all.empty() ? "-" : all;
  };
  for (const AgentProfile& each : shipped_agents()) {
    std::vector<std::string> keys;
    for (const AgentKey& key : each.keys) {
      keys.push_back(key.variable);
    }
    table.add({each.name, each.package, joined(keys), joined(each.hosts), each.description});
  }
  std::cout << table.text();
  return 0;
}

Result<AgentProfile> profile_of(const AgentOptionsText& options) {
  if (options.command.empty()) {
    return find_agent_profile(options.name);
  }
  return AgentProfile{.name = "command", .command = {"sh", "-c", options.command, "sh"}};
}

void say_what_is_copied(const Checkout& checkout, std::size_t files) {
  std::cerr << "glovebox: copied " << files << " files of " << printable(checkout.path()) << "\n";
  if (!checkout.repository_above().empty()) {
    std::cerr << "glovebox: without the history of " << printable(checkout.repository_above())
              << ", of which this is a part\n";
  }
  std::size_t shown = 0;
  for (const std::string& path : checkout.left_out()) {
    if (++shown <= 10) {
      std::cerr << "glovebox: not copied: " << printable(path)
                << (path.ends_with('/') ? " (a repository of its own)" : "") << "\n";
    }
  }
  if (shown > 10) {
    std::cerr << "glovebox: not copied: " << shown - 10 << " more\n";
  }
}

void say_where_they_are(const AgentSession& session, const Checkout& checkout) {
  std::cerr << "glovebox: the sandbox " << session.id() << " still has the agent's files\n"
            << "  hint: 'glovebox sandbox cp " << session.id() << ":" << checkout.name()
            << " DIR/' copies them, 'glovebox sandbox kill " << session.id() << "' ends it\n";
}

// Prints the document, or the last event, which has the same content.
void print(const Json& document, bool as_event) {
  Json whole = as_event ? Json{{"type", "finished"}} : Json::object();
  whole.update(document);
  write_fully(STDOUT_FILENO, whole.dump() + "\n");
}

Result<int> run_agent(const AgentOptionsText& options) {
  AgentOrder order = options.order;
  order.profile = GB_TRY(profile_of(options));
  order.with_keys = !options.no_keys;
  order.with_history = !options.no_history;
  DecisionOptions decision = options.decision;
  decision.agent = order.profile.name;
  decision.for_program = options.for_program();
  Checkout checkout =
      GB_TRY(Checkout::open(options.directory.empty() ? "." : options.directory, {}));
  int ended_by = 0;
  auto started = AgentSession::start(order, checkout, ended_by);
  if (ended_by != 0) {
    return Interrupts::die_of(ended_by);
  }
  AgentSession session = GB_TRY(std::move(started));
  say_what_is_copied(checkout, session.before().size());
  if (options.keep) {
    session.keep();
  }
  // From here on, the agent's work may be in the sandbox and nowhere else.
  const auto finish = [&]() -> Result<int> {
    Json said;
    const int status =
        GB_TRY(options.for_program() ? session.run_for_program(said) : session.run());
    Changes changes = GB_TRY(session.changes());
    Decided decided =
        GB_TRY(decide(decision, checkout, session.before(), std::move(changes), status));
    const bool kept = decided.outcome == Outcome::kKept || options.keep;
    if (kept) {
      session.keep();
      say_where_they_are(session, checkout);
    }
    if (options.for_program()) {
      const AgentReport report{.agent = order.profile.name,
                               .sandbox = session.id(),
                               .kept = kept,
                               .copied = session.before().size(),
                               .command = std::move(said),
                               .decided = std::move(decided)};
      print(to_json(report, checkout, decision.branch), order.events);
    }
    return status;
  };
  auto status = finish();
  if (!status) {
    session.keep();
    const Error& error = status.error();
    return Error(error.code(), error.message(),
                 (error.hint().empty() ? "" : error.hint() + "; ") + "the sandbox " + session.id() +
                     " still has the agent's files: 'glovebox sandbox cp " + session.id() + ":" +
                     checkout.name() + " DIR/' copies them");
  }
  return status;
}

Result<int> agent(const AgentOptionsText& options, const std::vector<std::string>& words) {
  if (options.list) {
    return list_agents();
  }
  if (options.for_program() && options.decision.diff == "-") {
    return Error(ErrorCode::kInvalid, "--diff - writes to standard output, and so does the JSON",
                 "write the patch to a file");
  }
  AgentOptionsText made = options;
  made.order.words = words;
  if (!made.command.empty()) {
    if (!made.directory.empty()) {
      return Error(ErrorCode::kInvalid, "--command takes the place of NAME",
                   "leave out NAME or --command");
    }
    made.directory = std::exchange(made.name, "");
  } else if (made.name.empty()) {
    return Error(ErrorCode::kInvalid, "expected NAME or --command",
                 "'glovebox agent --list' lists the agents");
  }
  return run_agent(made);
}

}  // namespace

void add_agent(CLI::App& app,
               bool described,
               const std::vector<std::string>& words,
               Action* action) {
  auto* const command = app.add_subcommand(kAgent.name, kAgent.description);
  command->footer(kAgentFooter);
  if (!described) {
    return;
  }
  auto options = std::make_shared<AgentOptionsText>();
  AgentOrder& order = options->order;
  order.template_name = "agent";
  order.timeout = "12h";
  std::vector<std::string> names;
  for (const AgentProfile& each : shipped_agents()) {
    names.push_back(each.name);
  }
  command
      ->add_option("NAME", options->name,
                   "The agent: " + CLI::detail::join(names, ", ") + ", or a profile FILE.toml")
      ->type_name("AGENT:{" + CLI::detail::join(names, ",") + "}");  // For completions.
  command->add_option("DIR", options->directory, "The checkout [default: .]");
  command->add_option("--command", options->command, "Run this line of sh in place of an agent")
      ->type_name("LINE");
  command->add_flag("--list", options->list, "List the agents");

  constexpr const char* kChanges = "Changes (default: ask)";
  auto* const apply =
      command->add_flag("--apply", options->decision.apply,
                        "Apply them without asking, if the agent's exit status is 0");
  auto* const discard = command->add_flag("--discard", options->decision.discard, "Discard them");
  auto* const branch =
      command
          ->add_option("--branch", options->decision.branch,
                       "Commit them to a new branch, and leave the working files as they are")
          ->type_name("BRANCH");
  auto* const diff = command
                         ->add_option("--diff", options->decision.diff,
                                      "Write them as a patch to FILE; '-' is standard output")
                         ->type_name("FILE");
  auto* const keep =
      command->add_flag("--keep", options->keep, "Keep the sandbox until its timeout");
  apply->excludes(discard)->excludes(branch);
  discard->excludes(branch);
  for (CLI::Option* const each :
       {static_cast<CLI::Option*>(apply), static_cast<CLI::Option*>(discard), branch, diff,
        static_cast<CLI::Option*>(keep)}) {
    each->group(kChanges);
  }

  constexpr const char* kSandboxOptions = "Sandbox";
  command->add_option("--template", order.template_name, "Template with the agent and its tools")
      ->type_name("NAME")
      ->capture_default_str()
      ->group(kSandboxOptions);
  command->add_option("--timeout", order.timeout, "Lifetime of the sandbox")
      ->type_name("TIME")
      ->capture_default_str()
      ->group(kSandboxOptions);
  command->add_option("--env", order.env, "Environment variable NAME=VALUE; repeatable")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false)
      ->group(kSandboxOptions);
  command->add_flag("--no-key", options->no_keys, "Pass on no API key; log in inside instead")
      ->group(kSandboxOptions);
  command->add_flag("--no-history", options->no_history, "Copy the files without git's history")
      ->group(kSandboxOptions);
  add_network_options(*command, order.network);
  add_limit_options(*command, order.limits);
  auto* const json = command->add_flag("--json", order.daemon.json,
                                       "Print the result as one JSON object; ask nobody");
  command->add_flag("--events", order.events, "Print events as JSON lines as they happen")
      ->excludes(json);
  add_daemon_address(*command, order.daemon);
  command->callback([action, options, words] {
    *action = [options, words] { return ended(agent(*options, words)); };
  });
}

}  // namespace glovebox::cli
