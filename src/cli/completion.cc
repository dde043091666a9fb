// SPDX-License-Identifier: Apache-2.0
#include "cli/completion.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <iterator>
#include <memory>

#include "language/registry.h"
#include "sandbox/tiers/tier.h"

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

// bash splits "--option=value" into three words.
constexpr std::string_view kEquals = "=";

const CLI::App* command_in(const CLI::App& app, const std::string& name) {
  for (const CLI::App* const command : app.get_subcommands({})) {
    if (command->get_name() == name) {
      return command;
    }
  }
  return nullptr;
}

// The option that `word` names, if the word after it is its value.
const CLI::Option* option_with_value(const CLI::App& app, const std::string& word) {
  for (const CLI::Option* const option : app.get_options({})) {
    if (!option->get_positional() && option->get_type_size() != 0 && option->check_name(word)) {
      return option;
    }
  }
  return nullptr;
}

// "a,b" of a type that ends in ":{a,b}", as CLI11 writes the check CLI::IsMember.
std::vector<std::string> members_of(const std::string& type) {
  const std::size_t begin = type.find(":{");
  if (begin == std::string::npos) {
    return {};
  }
  return CLI::detail::split(type.substr(begin + 2, type.find('}', begin) - begin - 2), ',');
}

// The values that an option takes, if they are few or known here; else none, as for a file.
std::vector<std::string> values_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  std::vector<std::string> values = members_of(type);
  if (type == "TIER") {
    values.emplace_back("auto");
    for (const Tier* const tier : all_tiers()) {
      values.emplace_back(tier->name());
    }
  } else if (type == "LANGUAGE") {
    for (const Language& language : Registry::load(Registry::user_directories()).all()) {
      values.push_back(language.id);
    }
  }
  return values;
}

std::vector<std::string> values_of_arguments(const CLI::App& app) {
  std::vector<std::string> values;
  for (const CLI::Option* const option : app.get_options({})) {
    if (option->get_positional()) {
      std::ranges::move(values_of(*option), std::back_inserter(values));
    }
  }
  return values;
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
  const CLI::App* at = &app;
  const CLI::Option* option = nullptr;  // The option whose value comes next.
  for (const std::string& word : words.first(words.size() - 1)) {
    if (word == "--") {
      return {};
    }
    if (word == kEquals) {
      continue;
    }
    const CLI::App* const command = option != nullptr ? nullptr : command_in(*at, word);
    option = option != nullptr ? nullptr : option_with_value(*at, word);
    at = command != nullptr ? command : at;
  }
  const std::string last = option != nullptr && words.back() == kEquals ? "" : words.back();
  std::vector<std::string> names;
  if (option != nullptr) {
    names = values_of(*option);
  } else if (last.starts_with('-')) {
    names = options_of(*at);
  } else {
    names = commands_of(*at);
    std::ranges::move(values_of_arguments(*at), std::back_inserter(names));
  }
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
