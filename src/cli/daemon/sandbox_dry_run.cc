// SPDX-License-Identifier: Apache-2.0
// glovebox sandbox dry-run: shows what waits for a decision, and decides.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <memory>

#include "cli/daemon/remote_options.h"
#include "cli/daemon/sandbox_commands.h"
#include "cli/dry_run_text.h"
#include "cli/output_writer.h"

namespace glovebox::cli {
namespace {

constexpr const char* kSandboxDryRunFooter =
    R"(Shows what the undecided dry run of a sandbox has changed. Until it is decided, nothing else can
change the sandbox.

Examples:
  glovebox sandbox exec ID migrate.py --dry-run --json
  glovebox sandbox dry-run ID
  glovebox sandbox dry-run ID --commit)";

struct DryRunText {
  DaemonOptionsText daemon;
  std::string id;
  bool commit = false;
  bool discard = false;
};

Result<int> decide(const DryRunText& options) {
  DaemonClient daemon = GB_TRY(DaemonClient::make(options.daemon));
  const std::string path = "/v1/sandboxes/" + encode(options.id) + "/dry-runs";
  const Json listed = GB_TRY(daemon.ask("GET", path));
  const Json& runs = list_in(listed, "dry_runs");
  if (options.commit || options.discard) {
    if (runs.empty()) {
      return Error(ErrorCode::kNotFound, "sandbox '" + options.id + "' has no undecided dry run",
                   "it was decided, or discarded when its time was over");
    }
    (void)GB_TRY(daemon.ask("POST", path + "/" + encode(text_in(runs.front(), "id")) +
                                        (options.commit ? "/commit" : "/discard")));
  }
  if (options.daemon.json) {
    write_fully(STDOUT_FILENO, listed.dump() + "\n");
    return 0;
  }
  if (options.commit || options.discard) {
    write_fully(STDERR_FILENO, options.commit ? "glovebox: committed\n" : "glovebox: discarded\n");
    return 0;
  }
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here changes the environment.
  const bool colour = ::isatty(STDOUT_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr;
  write_fully(STDOUT_FILENO, runs.empty() ? "no dry run is undecided\n"
                                          : "undecided, and discarded at " +
                                                text_in(runs.front(), "expires") + ":\n" +
                                                dry_run_text(runs.front().dump(), colour));
  return 0;
}

}  // namespace

void add_sandbox_dry_run(CLI::App& group, Action* action) {
  auto* const command = group.add_subcommand(
      "dry-run", "Show the undecided dry run of a sandbox, or decide about it");
  command->footer(kSandboxDryRunFooter);
  auto options = std::make_shared<DryRunText>();
  command->add_option("ID", options->id, "The sandbox")->required();
  auto* const commit = command->add_flag("--commit", options->commit, "Keep what it has changed");
  command->add_flag("--discard", options->discard, "Take back what it has changed")
      ->excludes(commit);
  add_daemon_options(*command, options->daemon);
  command->callback([action, options] { *action = [options] { return ended(decide(*options)); }; });
}

}  // namespace glovebox::cli
