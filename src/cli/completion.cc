// SPDX-License-Identifier: Apache-2.0
#include "cli/completion.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>

namespace glovebox::cli {
namespace {

constexpr const char* kBash = R"sh(# bash completion for glovebox
_glovebox() {
  mapfile -t COMPREPLY < <("$1" --complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _glovebox glovebox
)sh";

constexpr const char* kZsh = R"sh(#compdef glovebox
_glovebox() {
  local -a found
  found=(${(f)"$("${words[1]}" --complete "${(@)words[2,CURRENT]}" 2>/dev/null)"})
  if (( $#found )); then compadd -a found; else _files; fi
}
if [[ $funcstack[1] == _glovebox ]]; then _glovebox "$@"; else compdef _glovebox glovebox; fi
)sh";

constexpr const char* kFish = R"sh(# fish completion for glovebox
complete -c glovebox -a '(glovebox --complete (commandline -opc)[2..] (commandline -ct | string collect --allow-empty) 2>/dev/null)'
)sh";

const CLI::App* command_in(const CLI::App& app, const std::string& name) {
  for (const CLI::App* const command : app.get_subcommands({})) {
    if (command->get_name() == name) {
      return command;
    }
  }
  return nullptr;
}

// Whether the word behind `word` is its value.
bool takes_value(const CLI::App& app, const std::string& word) {
  return std::ranges::any_of(app.get_options({}), [&word](const CLI::Option* option) {
    return !option->get_positional() && option->get_type_size() != 0 && option->check_name(word);
  });
}

std::vector<std::string> options_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* const option : app.get_options({})) {
    if (option->get_group().empty()) {
      continue;  // Hidden.
    }
    for (const std::string& name : option->get_lnames()) {
      names.push_back("--" + name);
    }
    for (const std::string& name : option->get_snames()) {
      names.push_back("-" + name);
    }
  }
  return names;
}

std::vector<std::string> commands_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* const command : app.get_subcommands({})) {
    if (!command->get_group().empty()) {
      names.push_back(command->get_name());
    }
  }
  return names;
}

}  // namespace

std::vector<std::string> completions(const CLI::App& app, std::span<const std::string> words) {
  if (words.empty()) {
    return {};
  }
  const std::string& last = words.back();
  const CLI::App* at = &app;
  bool is_value = false;
  for (const std::string& word : words.first(words.size() - 1)) {
    if (word == "--") {
      return {};
    }
    const CLI::App* const command = is_value ? nullptr : command_in(*at, word);
    is_value = !is_value && takes_value(*at, word);
    at = command != nullptr ? command : at;
  }
  if (is_value) {
    return {};
  }
  std::vector<std::string> names = last.starts_with('-') ? options_of(*at) : commands_of(*at);
  std::erase_if(names, [&last](const std::string& name) { return !name.starts_with(last); });
  std::ranges::sort(names);
  return names;
}

void add_completion(CLI::App& app, Action* action) {
  auto* const command =
      app.add_subcommand("completion", "Print a completion script for bash, zsh or fish");
  command->footer(
      "Examples:\n  source <(glovebox completion bash)\n"
      "  glovebox completion fish > ~/.config/fish/completions/glovebox.fish");
  auto shell = std::make_shared<std::string>();
  command->add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->callback([action, shell] {
    *action = [shell] {
      std::cout << (*shell == "bash" ? kBash : *shell == "zsh" ? kZsh : kFish);
      return 0;
    };
  });
}

}  // namespace glovebox::cli
