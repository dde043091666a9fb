// SPDX-License-Identifier: Apache-2.0
// glovebox sandbox exec: code in a live context, or a command.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdlib>
#include <memory>

#include "base/text.h"
#include "cli/confirmation.h"
#include "cli/daemon/remote_events.h"
#include "cli/daemon/remote_options.h"
#include "cli/daemon/sandbox_commands.h"
#include "cli/daemon/sandbox_process.h"
#include "cli/dry_run_text.h"
#include "cli/interrupts.h"
#include "cli/output_writer.h"
#include "cli/repl_screen.h"
#include "language/registry.h"

namespace glovebox::cli {
namespace {

constexpr const char* kSandboxExecFooter =
    R"(Code runs in a context: an interpreter that keeps its variables between calls. Without
--context, the sandbox's default context for the language is used, and created if needed. Images
are saved as files. Words after '--' are run as a command instead, with standard input passed
through; with -t the command gets this terminal.

Press Ctrl-C to interrupt the execution, and again to detach from it.

Exit status: the command's own exit status (128+N if signal N killed it); 1 if code fails; 124 time
limit; 137 memory limit; 125 glovebox error; 2 usage error.

Examples:
  glovebox sandbox exec ID -e 'x = 41'
  glovebox sandbox exec ID -e 'x + 1'
  glovebox sandbox exec ID migrate.py --dry-run
  glovebox sandbox exec ID plot.py --save plots
  glovebox sandbox exec ID -l js -e 'console.log(process.version)'
  glovebox sandbox exec ID -- wc -l < data.csv
  glovebox sandbox exec ID --dry-run -- make clean
  glovebox sandbox exec -t ID -- bash)";

struct ExecOptionsText {
  DaemonOptionsText daemon;
  std::string id;
  std::string file;
  std::string code;
  std::string context;
  std::string language;
  std::string time;
  std::string save = ".";
  std::string cwd;
  std::string user;
  std::vector<std::string> env;
  bool code_given = false;
  bool events = false;
  bool recover = false;
  bool dry_run = false;
  bool yes = false;
  bool terminal = false;
};

// The language's own id: what the daemon calls its contexts.
Result<std::string> language_of(const ExecOptionsText& options, const std::string& code) {
  const Registry registry = Registry::load(Registry::user_directories());
  if (!options.language.empty()) {
    const auto known = registry.find(options.language);
    // The daemon may have languages that this machine does not.
    return known ? known->id : options.language;
  }
  if (!options.file.empty() && options.file != "-") {
    if (const auto found = registry.detect(options.file, std::string_view(code).substr(0, 256))) {
      return found->id;
    }
  }
  return std::string("python");
}

Result<std::string> context_of(DaemonClient& daemon,
                               const std::string& sandbox,
                               const ExecOptionsText& options,
                               const std::string& code) {
  if (!options.context.empty()) {
    return options.context;
  }
  const std::string language = GB_TRY(language_of(options, code));
  if (language == "python") {
    return std::string("default");
  }
  const Json listed = GB_TRY(daemon.ask("GET", sandbox + "/contexts"));
  for (const Json& context : list_in(listed, "contexts")) {
    if (text_in(context, "language") == language && flag_in(context, "alive")) {
      return text_in(context, "id");
    }
  }
  return text_in(GB_TRY(daemon.ask("POST", sandbox + "/contexts", {{"language", language}})), "id");
}

bool wants_colour(const ExecOptionsText& options) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here changes the environment.
  return ::isatty(STDOUT_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr && !options.events;
}

// Shows results to a person, or to a program that reads our output.
class Showing {
 public:
  explicit Showing(const ExecOptionsText& options)
      : options_(options),
        screen_({.terminal = ::isatty(STDOUT_FILENO) == 1,
                 .colour = wants_colour(options),
                 .directory = options.save}) {}

  void show(const std::string& line, const Json& said) {
    const std::string type = text_in(said, "type");
    if (options_.events) {
      write_fully(STDOUT_FILENO, line + "\n");
    } else if (options_.daemon.json) {
      if (type == "verdict") {
        Json verdict = said;
        verdict.erase("type");
        write_fully(STDOUT_FILENO, verdict.dump() + "\n");
      }
    } else if (const auto event = to_event(said)) {
      screen_.show(*event);
    } else if (type == "note") {
      screen_.say("glovebox: " + printable(text_in(said, "text")));
    } else if (type == "verdict") {
      screen_.end_cell();
      if (const std::string end = describe_end(said); !end.empty()) {
        screen_.say("glovebox: " + end);
      }
    }
  }

 private:
  const ExecOptionsText& options_;
  ReplScreen screen_;
};

// Decides about a dry run: --yes keeps it, a person is asked, or it waits for a decision.
Result<void> decide(DaemonClient& daemon,
                    const ExecOptionsText& options,
                    const Json& verdict,
                    int cancel_fd) {
  const auto found = verdict.find("dry_run");
  const Json run = found == verdict.end() ? Json() : *found;
  const std::string id = text_in(run, "id");
  if (id.empty()) {
    return {};
  }
  const bool machine = options.events || options.daemon.json;
  if (!machine) {
    write_fully(STDOUT_FILENO, dry_run_text(run.dump(), wants_colour(options)));
  }
  const bool asks = !options.yes && !machine && has_person();
  const bool commits = options.yes || (asks && person_agrees("Commit these changes?", cancel_fd));
  if (!commits && !asks) {
    if (!machine) {
      write_fully(STDERR_FILENO,
                  "glovebox: the dry run is undecided\n  hint: glovebox sandbox "
                  "dry-run " +
                      options.id + " --commit, or --discard\n");
    }
    return {};
  }
  (void)GB_TRY(daemon.ask("POST", "/v1/sandboxes/" + encode(options.id) + "/dry-runs/" +
                                      encode(id) + (commits ? "/commit" : "/discard")));
  if (!machine) {
    write_fully(STDERR_FILENO, commits ? "glovebox: committed\n" : "glovebox: discarded\n");
  }
  return {};
}

Result<int> follow(DaemonClient& daemon,
                   const std::string& context,
                   const ExecOptionsText& options,
                   EventLines& lines,
                   Interrupts& interrupts) {
  Showing showing(options);
  bool asked = false;
  for (;;) {
    const auto ready = lines.await(interrupts.fd());
    if (ready == http::ClientAnswer::Ready::kNothing) {
      continue;
    }
    if (ready == http::ClientAnswer::Ready::kOther) {
      const int signal = interrupts.take();
      if (asked || signal != SIGINT) {
        return 128 + signal;  // The daemon ends executions that nobody listens to.
      }
      asked = true;
      (void)daemon.ask("POST", context + "/interrupt");
      continue;
    }
    const auto line = GB_TRY(lines.next_line());
    if (!line) {
      return Error(ErrorCode::kUnavailable, "the execution ended without a verdict");
    }
    const Json said = GB_TRY(parse_answer(*line));
    showing.show(*line, said);
    const std::string type = text_in(said, "type");
    if (type == "failed") {
      return error_in(said);
    }
    if (type == "verdict") {
      GB_TRY(decide(daemon, options, said, interrupts.fd()));
      return exit_status_in(said);
    }
  }
}

Error needs_dry_run() { return {ErrorCode::kInvalid, "--yes requires --dry-run"}; }

Result<int> execute(const ExecOptionsText& options) {
  if (options.code_given == !options.file.empty()) {
    return Error(ErrorCode::kInvalid, "expected one of FILE, '-', -e CODE or '-- COMMAND'",
                 "see 'glovebox sandbox exec --help'");
  }
  if (!options.user.empty()) {
    return Error(ErrorCode::kInvalid, "--user requires a command",
                 "code runs in a context, as the sandbox's own user; put a command after '--'");
  }
  Json request = Json::object();
  request["code"] = to_utf8(options.code_given ? options.code : GB_TRY(read_program(options.file)));
  request["env"] = GB_TRY(pairs_json(options.env, "--env"));
  if (options.recover) {
    request["recover"] = true;
  }
  if (options.dry_run) {
    request["dry_run"] = true;
  } else if (options.yes) {
    return needs_dry_run();
  }
  if (!options.time.empty()) {
    request["limits"] = GB_TRY(limits_json({{"time", options.time}}));
  }
  DaemonClient daemon = GB_TRY(DaemonClient::make(options.daemon));
  const std::string sandbox = "/v1/sandboxes/" + encode(options.id);
  const std::string context =
      sandbox + "/contexts/" +
      encode(GB_TRY(context_of(daemon, sandbox, options, text_in(request, "code"))));
  Interrupts interrupts;
  EventLines lines(
      GB_TRY(daemon.stream("POST", context + "/execute", request, "application/x-ndjson")));
  return follow(daemon, context, options, lines, interrupts);
}

// A dry run of a command; its changes are shown once it has ended.
Result<int> try_command(const ExecOptionsText& options, const std::vector<std::string>& words) {
  if (options.terminal || options.events) {
    return Error(ErrorCode::kInvalid, std::string(options.terminal ? "-t" : "--events") +
                                          " cannot be combined with a dry run of a command");
  }
  ProcessOrder order;
  order.argv = words;
  order.cwd = options.cwd;
  order.user = options.user;
  order.env = GB_TRY(pairs_json(options.env, "--env"));
  Json request = GB_TRY(process_request(order));
  request["dry_run"] = true;
  if (!options.time.empty()) {
    request["limits"] = GB_TRY(limits_json({{"time", options.time}}));
  }
  DaemonClient daemon = GB_TRY(DaemonClient::make(options.daemon));
  Interrupts interrupts;
  Json done =
      GB_TRY(daemon.ask("POST", "/v1/sandboxes/" + encode(options.id) + "/commands", request));
  if (options.daemon.json) {
    write_fully(STDOUT_FILENO, done.dump() + "\n");
  } else {
    write_fully(STDOUT_FILENO, text_in(done, "stdout"));
    write_fully(STDERR_FILENO, text_in(done, "stderr"));
  }
  GB_TRY(decide(daemon, options, done, interrupts.fd()));
  done["status"] = text_in(done, "reason");  // In a verdict's words.
  return exit_status_in(done);
}

Result<int> run_command(const ExecOptionsText& options, const std::vector<std::string>& words) {
  if (options.code_given || !options.file.empty()) {
    return Error(ErrorCode::kInvalid, "cannot run both code and a command");
  }
  if (options.dry_run) {
    return try_command(options, words);
  }
  if (options.yes) {
    return needs_dry_run();
  }
  ProcessOrder order;
  order.argv = words;
  order.cwd = options.cwd;
  order.user = options.user;
  order.env = GB_TRY(pairs_json(options.env, "--env"));
  order.timeout = options.time;
  order.json = options.daemon.json;
  order.events = options.events;
  const std::string sandbox = "/v1/sandboxes/" + encode(options.id);
  return options.terminal ? run_in_terminal(options.daemon, sandbox, order)
                          : run_process(options.daemon, sandbox, order);
}

}  // namespace

void add_sandbox_exec(CLI::App& group, const std::vector<std::string>& words, Action* action) {
  auto* const command = group.add_subcommand("exec", "Run code in a context, or run a command");
  command->footer(kSandboxExecFooter);
  auto options = std::make_shared<ExecOptionsText>();
  command->add_option("ID", options->id, "The sandbox")->required();
  command->add_option("FILE", options->file, "File with the code to run; '-' reads standard input");
  auto* const code = command->add_option("-e", options->code, "Code to run")->type_name("CODE");
  command->add_option("-c,--context", options->context, "Context to run the code in")
      ->type_name("CONTEXT");
  command->add_option("-l,--language", options->language, "Language of the code [default: python]")
      ->type_name("LANGUAGE");
  command->add_option("--time", options->time, "Time limit: 30s")->type_name("TIME");
  command->add_option("--env", options->env, "Environment variable NAME=VALUE; repeatable")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  command->add_option("--save", options->save, "Directory to save images in")
      ->type_name("DIR")
      ->capture_default_str();
  command->add_option("--cwd", options->cwd, "Working directory of the command")->type_name("DIR");
  command
      ->add_option("--user", options->user,
                   "User to run the command as, in a sandbox whose own user is root")
      ->type_name("USER");
  command->add_flag("--recover", options->recover,
                    "Restore the context's previous state if the code crashes it");
  command->add_flag("--dry-run", options->dry_run,
                    "Show what it changes, then ask whether to commit that");
  command->add_flag("--yes", options->yes, "Commit the dry run without asking");
  command->add_flag("-t,--terminal", options->terminal, "Run the command in this terminal");
  command->add_flag("--events", options->events, "Print events as JSON lines as they happen");
  add_daemon_options(*command, options->daemon);
  command->callback([action, options, code, words] {
    options->code_given = code->count() > 0;
    *action = [options, words] {
      return ended(words.empty() ? execute(*options) : run_command(*options, words));
    };
  });
}

}  // namespace glovebox::cli
