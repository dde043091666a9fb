// SPDX-License-Identifier: Apache-2.0
// glovebox repl: a conversation with a live interpreter in a sandbox.
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>

#include "base/text.h"
#include "cli/code_colours.h"
#include "cli/command.h"
#include "cli/input_file.h"
#include "cli/interrupts.h"
#include "cli/output_writer.h"
#include "cli/repl_editor.h"
#include "cli/repl_engine.h"
#include "cli/repl_piped.h"
#include "cli/sandbox_options.h"
#include "language/registry.h"
#include "sandbox/slot.h"

namespace glovebox::cli {
namespace {

constexpr const char* kReplFooter =
    R"(Lines that start with ':' are REPL commands; ':help' lists them. If standard input is not a
terminal, it is split into cells at blank lines, or at '# %%' lines if there are any.

Exit status: 0 success. Without a terminal, that of the first failing cell: 1 error; 124 time limit;
137 memory limit. 125 glovebox error; 2 usage error.

Examples:
  glovebox repl
  glovebox repl -l js --memory 1G --file data.csv
  glovebox repl -l jupyter:ir --save plots
  printf 'x = 6\n\nx * 7\n' | glovebox repl -l python)";

constexpr std::size_t kMaxInput = 64UL << 20;

struct ReplOptionsText {
  std::string language = "python";
  std::string save = ".";
  std::string time;
  SandboxOptionsText sandbox;
};

// NOLINTBEGIN(concurrency-mt-unsafe): nothing here changes the environment.
const char* variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}
// NOLINTEND(concurrency-mt-unsafe)

// $XDG_STATE_HOME/glovebox/history-python, with its directories; empty if there is no home.
std::string history_file(const std::string& language) {
  std::string directory;
  if (const char* const state = variable("XDG_STATE_HOME"); state != nullptr && *state == '/') {
    directory = state;
  } else if (const char* const home = variable("HOME"); home != nullptr) {
    directory = home;
    for (const char* const part : {"/.local", "/.local/state"}) {
      (void)::mkdir((home + std::string(part)).c_str(), 0700);
    }
    directory += "/.local/state";
  } else {
    return {};
  }
  (void)::mkdir(directory.c_str(), 0700);
  directory += "/glovebox";
  (void)::mkdir(directory.c_str(), 0700);
  return directory + "/history-" + language;
}

std::string prompt_text(const ReplEngine& engine, bool first, bool colour) {
  const std::string number = std::to_string(engine.next_count());
  const std::string text =
      first ? "In [" + number + "]: " : std::string(number.size() + 2, ' ') + "...: ";
  // The editor drops a sequence that nothing visible follows: the colour ends before the last
  // space.
  return colour ? "\1\x1b[32m\1" + text.substr(0, text.size() - 1) + "\1\x1b[0m\1 " : text;
}

// Reads lines until they are a cell. Nothing: the end.
std::optional<std::string> read_cell(ReplEngine& engine, ReplEditor& editor, bool colour) {
  std::string code;
  std::string indent;
  for (bool first = true;; first = false) {
    const auto line = editor.read_code(prompt_text(engine, first, colour), code, indent);
    if (line.end == ReplEditor::Line::End::kInterrupted) {
      return std::string();
    }
    if (line.end == ReplEditor::Line::End::kEnd) {
      return first ? std::nullopt : std::optional<std::string>(std::string());
    }
    code += line.text;
    if (first && (code.empty() || engine.is_command(code))) {
      return code;
    }
    const ReplEngine::Completeness answer = engine.check(code);
    // Two empty lines mean that the user wants it run, whatever the interpreter thinks of it.
    const bool forced = code.ends_with("\n") && line.text.empty() && code.ends_with("\n\n");
    if (answer.complete || forced) {
      return code;
    }
    indent = answer.indent;
    code += "\n";
  }
}

// What people type to leave, whatever the language.
bool is_farewell(std::string_view code) {
  constexpr std::array<std::string_view, 5> kWords = {"exit", "quit", "exit()", "quit()", "q()"};
  const std::size_t end = code.find_last_not_of(" \t\r\n;");
  return end != std::string_view::npos &&
         std::ranges::find(kWords, code.substr(0, end + 1)) != kWords.end();
}

Result<void> handle(ReplEngine& engine, const std::string& code) {
  if (is_farewell(code)) {
    engine.end();
    return {};
  }
  if (!engine.is_command(code)) {
    return engine.run_cell(code);
  }
  if (auto done = engine.run_command(code); !done) {
    // A command that fails does not end the conversation.
    engine.note_failure(1);
    (void)report(done.error());
    if (!engine.session().alive()) {
      return engine.replace();
    }
  }
  return {};
}

Result<void> converse(ReplEngine& engine, Interrupts& interrupts, bool colour) {
  const Context& context = engine.session().context();
  const LiveSpec& spec = engine.session().spec();
  write_fully(STDOUT_FILENO, spec.language.title + " " + printable(context.version()) +
                                 " in a sandbox, tier " +
                                 std::string(engine.session().sandbox().tier()) +
                                 ". Type ':help' for commands, Ctrl-D to exit.\n");
  engine.remember_cells();
  ReplEditor editor(interrupts, history_file(spec.language.id));
  editor.complete = [&engine](const std::string& code, std::size_t cursor) {
    return engine.complete(code, cursor);
  };
  if (colour) {
    editor.colour = [&spec](std::string_view code) { return colour_code(spec.language.id, code); };
  }
  engine.input = [&editor](const Event& question) {
    ColourFilter filter;
    std::string prompt = filter.pass(question.text);
    std::erase(prompt, '\1');
    return editor.read_answer(prompt, question.secret);
  };
  while (!engine.is_over()) {
    const std::optional<std::string> cell = read_cell(engine, editor, colour);
    if (!cell) {
      return {};
    }
    if (cell->find_first_not_of(" \t\r\n") != std::string::npos) {
      editor.remember(*cell);
      GB_TRY(handle(engine, *cell));
    }
  }
  return {};
}

Result<void> work_off(ReplEngine& engine, const std::string& text) {
  const auto complete = [&engine](const std::string& code) { return engine.check(code).complete; };
  const std::vector<std::string> cells = split_cells(text, complete);
  for (std::size_t at = 0; at < cells.size() && !engine.is_over(); ++at) {
    GB_TRY(handle(engine, cells[at]));
    const std::size_t left = cells.size() - at - 1;
    if (engine.is_over() && left > 0 && !engine.session().alive()) {
      engine.note_failure(1);
      (void)report(
          Error(ErrorCode::kConflict, "a cell ended the interpreter; " + std::to_string(left) +
                                          (left == 1 ? " cell was" : " cells were") + " not run"));
    }
  }
  return {};
}

Result<int> run(const ReplOptionsText& options) {
  const Registry registry = Registry::load(Registry::user_directories());
  Language language = GB_TRY(
      find_live_language(registry, options.language,
                         {.exactly = options.sandbox.tier, .at_least = options.sandbox.min_tier}));
  LiveSpec spec = GB_TRY(make_live_spec(std::move(language), options.sandbox));
  if (const auto time = GB_TRY(parse_time(options.time, "--time"))) {
    spec.limits.wall = *time;
  }
  const bool terminal = ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1;
  const std::string text = terminal
                               ? std::string()
                               : GB_TRY(read_whole_input(std::string(kStandardInput), kMaxInput,
                                                         "pass large data with --file"));
  Interrupts interrupts;
  (void)sweep_leftovers();
  const std::unique_ptr<LiveSession> session = GB_TRY(LiveSession::open(std::move(spec)));
  const char* const kind = variable("TERM");
  const bool colour = terminal && variable("NO_COLOR") == nullptr && kind != nullptr &&
                      std::string_view(kind) != "dumb";
  ReplScreen screen({.terminal = terminal, .colour = colour, .directory = options.save});
  ReplEngine engine(*session, screen, interrupts);
  GB_TRY(terminal ? converse(engine, interrupts, colour) : work_off(engine, text));
  GB_TRY(session->end());
  return terminal ? 0 : engine.exit_status();
}

}  // namespace

void add_repl(CLI::App& app, Action* action) {
  auto* const command = app.add_subcommand("repl", "Start a live interpreter in a sandbox");
  command->footer(kReplFooter);
  auto options = std::make_shared<ReplOptionsText>();
  command
      ->add_option("-l,--language", options->language,
                   "Language, or jupyter:NAME for a Jupyter kernel [default: python]")
      ->type_name("LANGUAGE");
  command
      ->add_option("--save", options->save,
                   "Directory to save plots in [default: the current directory]")
      ->type_name("DIR");
  command
      ->add_option("--time", options->time, "Wall-clock time of each cell: 30s [default: no limit]")
      ->type_name("TIME");
  add_options(*command, options->sandbox);
  forbid_empty_values(*command);
  command->callback([action, options] {
    *action = [options] {
      auto status = run(*options);
      return status ? *status : report(status.error());
    };
  });
}

}  // namespace glovebox::cli
