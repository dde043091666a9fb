// SPDX-License-Identifier: Apache-2.0
#include "cli/program.h"

#include <poll.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <memory>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

#include "base/sys/undumpable.h"
#include "cli/completion.h"
#include "language/suggest.h"

#ifndef GB_VERSION
#error "the build defines GB_VERSION"
#endif

namespace glovebox::cli {
namespace {

constexpr const char* kProgramFooter = R"(Examples:
  glovebox run script.py                  run a file in a fresh sandbox
  glovebox run -l python -e 'print(6*7)'  run a line of code
  glovebox run plot.py --file data.csv --out results
  glovebox repl -l python                 start a live interpreter in a sandbox
  glovebox notebook run analysis.ipynb    run a notebook and save its outputs
  glovebox serve                          run the daemon for REST and E2B SDK clients
  glovebox sandbox create                 create a sandbox on the daemon
  glovebox languages                      list the languages that can run here
  glovebox doctor                         check which isolation features work here)";

// Where the type of an option ends and the names of its checks begin: "N:INT in [1 - 64]".
std::size_t checks_in(const std::string& type) {
  return std::min({type.find(":{"), type.find(":INT"), type.find(":UINT")});
}

// Shows what an option takes as "<SIZE>", and repeats nothing that the description says.
class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() { column_width(26); }

  std::string make_option_opts(const CLI::Option* option) const override {
    const std::string name = option->get_type_name();
    return option->get_type_size() == 0 || option->get_positional() || name.empty()
               ? std::string()
               : " <" + name.substr(0, checks_in(name)) + ">";
  }

  // As CLI11 would write it after the name, unless the description says it in other words.
  std::string make_option_desc(const CLI::Option* option) const override {
    const std::string text = option->get_description();
    const std::string usual = option->get_default_str();
    return usual.empty() || option->get_type_size() == 0 ||
                   text.find("[default") != std::string::npos
               ? text
               : text + " [default: " + usual + "]";
  }

  std::string make_positionals(const CLI::App* app) const override {
    std::string text;
    for (const CLI::Option* const option :
         app->get_options([](const CLI::Option* each) { return each->get_positional(); })) {
      text += make_option(option, true);
    }
    return text.empty() ? text : "\nArguments:\n" + text;
  }

  // A group of options with a required number of them looks like any other group.
  std::string make_expanded(const CLI::App* app) const override {
    if (!app->get_name().empty()) {
      return CLI::Formatter::make_expanded(app);
    }
    std::string text = "\n" + app->get_description() + ":\n";
    for (const CLI::Option* const option : app->get_options()) {
      text += option == app->get_help_ptr() ? "" : make_option(option, false);
    }
    return text;
  }

  // One empty line between two groups.
  std::string make_help(const CLI::App* app,
                        std::string name,
                        CLI::AppFormatMode mode) const override {
    std::string text = CLI::Formatter::make_help(app, std::move(name), mode);
    for (std::size_t at = text.find("\n\n\n"); at != std::string::npos; at = text.find("\n\n\n")) {
      text.erase(at, 1);
    }
    return text;
  }
};

// Says in plain words what is wrong with the values of a command's options.
Error plain(const CLI::ParseError& wrong, const std::string& help) {
  const std::string text = wrong.what();
  const auto between = [&](std::string_view before, std::string_view after) {
    const std::size_t start = text.find(before) + before.size();
    return text.substr(start, text.find(after, start) - start);
  };
  if (text.starts_with("Could not convert: ")) {
    return {ErrorCode::kInvalid,
            between(": ", " = ") + ": invalid number '" + text.substr(text.find(" = ") + 3) + "'",
            "use a number, without a unit"};
  }
  if (const std::size_t at = text.find(": 1 required "); at != std::string::npos) {
    return {ErrorCode::kInvalid, text.substr(0, at) + " requires a value", help};
  }
  if (text.find(" not in {") != std::string::npos) {
    std::string allowed = between("{", "}");
    for (std::size_t at = allowed.find(','); at != std::string::npos; at = allowed.find(',', at)) {
      allowed.replace(at, 1, ", ");
      at += 2;
    }
    return {
        ErrorCode::kInvalid,
        text.substr(0, text.find(": ")) + ": invalid value '" + between(": ", " not in {") + "'",
        "use one of: " + allowed};
  }
  if (text.starts_with("Exactly 1 option from ")) {
    std::string names = between("[", "]");
    for (std::size_t at = names.find(",--"); at != std::string::npos; at = names.find(",--")) {
      names.replace(at, 1, ", ");
    }
    return {ErrorCode::kInvalid, "use exactly one of " + names, help};
  }
  if (const std::size_t at = text.find(" excludes "); at != std::string::npos) {
    return {ErrorCode::kInvalid,
            text.substr(0, at) + " and " + text.substr(at + 10) + " cannot be combined",
            "leave one of them out"};
  }
  return {ErrorCode::kInvalid, text, help};
}

// The word is not one of the commands of `app`; `path` is the words that lead to `app`.
Error unknown_command(const CLI::App& app, const std::string& path, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::App* const command : app.get_subcommands({})) {
    names.push_back(command->get_name());
  }
  const std::string nearest = nearest_word(word, {names.begin(), names.end()});
  const bool is_file = word.find_first_of("./") != std::string::npos;
  // From a script's first line, the kernel passes everything after the program as one word.
  const std::string first = word.substr(0, word.find(' '));
  if (first != word && std::ranges::find(names, first) != names.end()) {
    return {ErrorCode::kInvalid, "unknown command '" + word + "'",
            "to pass several words in a script's first line, begin it with '#!/usr/bin/env -S'"};
  }
  return {ErrorCode::kInvalid,
          (is_file ? "no such command or file: '" : "unknown command '") + word + "'",
          nearest.empty() ? "run '" + path + " --help' for a list of commands"
                          : "did you mean '" + path + " " + nearest + "'?"};
}

Error wrong_in_command(CLI::App& command,
                       const std::vector<std::string>& extra,
                       const CLI::ParseError& wrong) {
  CLI::App* deepest = &command;
  std::string path = command.get_name();
  while (!deepest->get_subcommands().empty()) {
    deepest = deepest->get_subcommands().front();
    path += " " + deepest->get_name();
  }
  const std::string help = "run 'glovebox " + path + " --help' for its options";
  const std::string word = extra.empty() ? "" : extra.front().substr(0, extra.front().find('='));
  if (deepest->get_require_subcommand_min() > 0 && !word.starts_with('-')) {
    return word.empty() ? Error{ErrorCode::kInvalid, "no command given",
                                "run 'glovebox " + path + " --help' for a list of commands"}
                        : unknown_command(*deepest, "glovebox " + path, word);
  }
  if (dynamic_cast<const CLI::ExtrasError*>(&wrong) == nullptr || word.empty()) {
    return plain(wrong, help);
  }
  if (!word.starts_with('-')) {
    return {ErrorCode::kInvalid, "unexpected argument '" + word + "'", help};
  }
  std::vector<std::string> names;
  for (const CLI::Option* const option : deepest->get_options()) {
    for (const std::string& name : option->get_lnames()) {
      names.push_back("--" + name);
    }
  }
  const std::string nearest = nearest_word(word, {names.begin(), names.end()});
  const bool passes_words =
      path == "run" || path == "agent" || path == "sandbox exec" || path == "sandbox ssh";
  return {ErrorCode::kInvalid, "unknown option '" + word + "'",
          !nearest.empty() ? "did you mean '" + nearest + "'?"
          : passes_words   ? "to pass it to the program, put '--' before it; " + help
                           : help};
}

// Says what is wrong with the command line, and where to find the right one.
Error usage_error(CLI::App& app, const CLI::ParseError& wrong) {
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  const std::vector<std::string> words = app.remaining(true);
  if (!chosen.empty()) {
    return wrong_in_command(*chosen.front(), words, wrong);
  }
  if (words.empty() || words.front().starts_with('-')) {
    return {ErrorCode::kInvalid,
            words.empty() ? "no command given" : "unknown option '" + words.front() + "'",
            "run 'glovebox --help' for a list of commands"};
  }
  return unknown_command(app, "glovebox", words.front());
}

int run(int argc, char** argv, const Commands& commands) {
  CLI::App app("Run untrusted code in a sandbox.", "glovebox");
  app.set_version_flag("--version", std::string("glovebox ") + GB_VERSION);
  app.require_subcommand(1);
  app.footer(kProgramFooter);
  app.formatter(std::make_shared<HelpFormatter>());  // Before the commands, which inherit it.
  // Words after "--" are only for the guest: the parser would take "[a,b]" for a list of two.
  char** const end = argv + argc;
  char** const dashes = std::find(argv, end, std::string_view("--"));
  const std::vector<std::string> words(dashes == end ? end : dashes + 1, end);
  Action action;
  if (argc > 2 && argv[1] == kComplete) {
    commands.add(app, argv[2], {}, &action);
    for (const std::string& name : completions(app, std::vector<std::string>(argv + 2, end))) {
      std::cout << name << "\n";
    }
    return 0;
  }
  commands.add(app, argc < 2 ? std::string_view() : argv[1], words, &action);
  try {
    app.parse(static_cast<int>(dashes - argv), argv);
    if (!words.empty() && !commands.take_words(app)) {
      throw CLI::ExtrasError(words);
    }
  } catch (const CLI::ParseError& wrong) {
    // Help and version come this way, too; there is no help for a command that does not exist.
    const bool is_help =
        wrong.get_exit_code() == 0 && (!app.get_subcommands().empty() || app.remaining().empty());
    return is_help ? app.exit(wrong) : report(usage_error(app, wrong));
  }
  return action();
}

// Lost output must not look like success. A reader that has seen enough and is gone is not an
// error.
int status_with_output(int status) {
  std::cout.flush();
  (void)std::fflush(nullptr);
  pollfd output{.fd = STDOUT_FILENO, .events = POLLOUT, .revents = 0};
  const bool reads = ::poll(&output, 1, 0) != 1 || (output.revents & POLLERR) == 0;
  const bool lost = !std::cout || std::ferror(stdout) != 0;
  return !lost || !reads || status != 0
             ? status
             : report(Error(ErrorCode::kUnavailable, "cannot write to standard output",
                            "check that the disk is not full"));
}

}  // namespace

void run_program(int argc, char** argv, const Commands& commands) {
  // A reader that goes away is an error to handle, not a reason to die.
  (void)std::signal(SIGPIPE, SIG_IGN);
  // A process that makes and holds sandboxes knows the secrets of all of them.
  sys::become_undumpable();
  int status = kExitFailed;
  try {
    status = run(argc, argv, commands);
  } catch (const std::exception& unforeseen) {
    (void)std::fprintf(stderr, "glovebox: %s\n", unforeseen.what());
  }
  status = status_with_output(status);
#ifdef __SANITIZE_ADDRESS__
  __lsan_do_leak_check();  // Usually done after the destructors, which do not run here.
#endif
  std::_Exit(status);
}

}  // namespace glovebox::cli
