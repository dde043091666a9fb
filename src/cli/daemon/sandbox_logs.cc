// SPDX-License-Identifier: Apache-2.0
// glovebox sandbox logs: a process's output, or what a context has executed.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <memory>

#include "cli/daemon/daemon_client.h"
#include "cli/daemon/history_text.h"
#include "cli/daemon/remote_events.h"
#include "cli/daemon/sandbox_commands.h"
#include "cli/output_writer.h"
#include "context/notebook/read.h"

namespace glovebox::cli {
namespace {

constexpr const char* kSandboxLogsFooter =
    R"(For a process: prints the output buffered while no client was connected, then new output
until the process ends. For a context: prints what it has executed and what that has shown, as text.
With --json, both are events, one JSON object a line.

Examples:
  glovebox sandbox logs ID
  glovebox sandbox logs ID 17
  glovebox sandbox logs ID --json | jq -r 'select(.type == "cell").code'
  glovebox sandbox logs ID default --notebook > session.ipynb
  glovebox sandbox logs ID c1 --html > session.html)";

struct LogsOptionsText {
  DaemonOptionsText daemon;
  std::string id;
  std::string of = "default";
  bool notebook = false;
  bool html = false;
};

bool wants_colour() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here changes the environment.
  return ::isatty(STDOUT_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr;
}

Result<int> follow(DaemonClient& daemon, const std::string& process, bool json) {
  EventLines lines(GB_TRY(daemon.stream("GET", process, Json(), "application/x-ndjson")));
  while (const auto line = GB_TRY(lines.next_line())) {
    const Json said = GB_TRY(parse_answer(*line));
    const std::string type = text_in(said, "type");
    if (type == "failed") {
      return error_in(said);
    }
    if (json) {
      write_fully(STDOUT_FILENO, *line + "\n");
    } else if (type == "stdout" || type == "stderr" || type == "terminal") {
      write_fully(type == "stderr" ? STDERR_FILENO : STDOUT_FILENO, bytes_in(said));
    }
    if (type == "ended") {
      return 0;
    }
  }
  return Error(ErrorCode::kUnavailable, "the process is gone: its sandbox has ended");
}

Result<int> show(const LogsOptionsText& options) {
  DaemonClient daemon = GB_TRY(DaemonClient::make(options.daemon));
  const std::string path = "/v1/sandboxes/" + encode(options.id);
  const bool number = !options.of.empty() &&
                      std::ranges::all_of(options.of, [](char c) { return c >= '0' && c <= '9'; });
  if (number) {
    return follow(daemon, path + "/processes/" + options.of, options.daemon.json);
  }
  const std::string document = GB_TRY(daemon.text(path + "/contexts/" + encode(options.of) +
                                                  (options.html ? "/notebook.html" : "/notebook")));
  if (options.html || options.notebook) {
    write_fully(STDOUT_FILENO, document);
    return 0;
  }
  const notebook::Notebook history = GB_TRY(notebook::read_notebook(document));
  write_fully(STDOUT_FILENO, options.daemon.json ? history_events(history)
                                                 : history_text(history, wants_colour()));
  return 0;
}

}  // namespace

void add_sandbox_logs(CLI::App& group, Action* action) {
  auto* const command =
      group.add_subcommand("logs", "Show a process's output or a context's execution history");
  command->footer(kSandboxLogsFooter);
  auto options = std::make_shared<LogsOptionsText>();
  command->add_option("ID", options->id, "The sandbox")->required();
  command->add_option("OF", options->of, "A process id or a context name")->capture_default_str();
  auto* const notebook =
      command->add_flag("--notebook", options->notebook, "Print a context's history as a notebook");
  command->add_flag("--html", options->html, "Print a context's history as an HTML page")
      ->excludes(notebook);
  add_daemon_options(*command, options->daemon);
  command->callback([action, options] { *action = [options] { return ended(show(*options)); }; });
}

}  // namespace glovebox::cli
