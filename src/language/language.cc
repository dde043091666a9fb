// SPDX-License-Identifier: Apache-2.0
#include "language/language.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "language/java_source.h"

namespace glovebox {
namespace {

struct Placeholder {
  std::string_view name;
  std::string value;
};

std::string fill_in(std::string_view text, const std::vector<Placeholder>& placeholders) {
  std::string filled;
  while (!text.empty()) {
    const std::size_t brace = text.find('{');
    filled += text.substr(0, brace);
    if (brace == std::string_view::npos) {
      break;
    }
    text.remove_prefix(brace);
    const auto found =
        std::find_if(placeholders.begin(), placeholders.end(),
                     [text](const Placeholder& each) { return text.starts_with(each.name); });
    if (found != placeholders.end()) {
      filled += found->value;
      text.remove_prefix(found->name.size());
    } else {
      filled += '{';
      text.remove_prefix(1);
    }
  }
  return filled;
}

std::string stem_of(std::string_view file_name) {
  const std::size_t dot = file_name.rfind('.');
  return std::string(file_name.substr(0, dot == 0 ? std::string_view::npos : dot));
}

Command make_command(const Environment& env,
                     const std::vector<std::string>& argv,
                     std::vector<Placeholder> placeholders,
                     const Limits& limits,
                     std::string_view home) {
  placeholders.push_back({"{dir}", std::string(home)});
  placeholders.push_back({"{memory_mib}", std::to_string(limits.memory.count / (1_MiB).count)});
  placeholders.push_back(
      {"{heap_mib}", std::to_string(limits.memory.count / 4 * 3 / (1_MiB).count)});
  placeholders.push_back({"{cpus}", std::to_string(std::max(1L, std::lround(limits.cpus)))});
  Command command;
  for (const std::string& argument : argv) {
    command.argv.push_back(fill_in(argument, placeholders));
  }
  for (const auto& [name, value] : env) {
    command.env.emplace_back(name, fill_in(value, placeholders));
  }
  command.cwd = home;
  return command;
}

// A name that no interpreter takes for an option, a pattern or a list.
bool is_plain_name(std::string_view stem) {
  constexpr std::size_t kMaxStem = 100;
  const auto is_plain = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.';
  };
  return !stem.empty() && stem.size() <= kMaxStem && stem.front() != '-' && stem.front() != '.' &&
         std::ranges::all_of(stem, is_plain);
}

// What the file of `user_path` is called in the sandbox: its ending if it is one of the language's,
// else the language's own. A script keeps its name, which it may show to its users; so does a file
// whose compiler only shows the name in messages (kOwn). Other compilers derive names of classes,
// modules or crates from the file's name, and not every name is valid there.
std::string named_as(const Language& language, std::string_view user_path) {
  const std::string_view name = user_path.substr(user_path.rfind('/') + 1);
  const std::size_t dot = name.rfind('.');
  const std::string_view ending =
      dot == std::string_view::npos ? std::string_view() : name.substr(dot);
  const auto& known = language.extensions;
  const bool is_known =
      !ending.empty() && std::find(known.begin(), known.end(), ending) != known.end();
  const std::string_view own = std::string_view(language.file_name);
  const std::string own_stem = stem_of(own);
  std::string stem = stem_of(name);
  const bool keeps = language.naming == SourceNaming::kOwn ||
                     (language.compile.empty() && language.naming != SourceNaming::kJava);
  if (!keeps || !is_plain_name(stem)) {
    stem = own_stem;
  }
  return stem.append(is_known ? ending : own.substr(own_stem.size()));
}

// Whether a statement that only a module may have starts a line, and nothing says CommonJS. Node
// detects this itself from 20.19 on; needed until that is the oldest Node that Debian supports.
bool is_javascript_module(std::string_view code) {
  if (code.find("require(") != std::string_view::npos ||
      code.find("module.exports") != std::string_view::npos) {
    return false;
  }
  while (!code.empty()) {
    const std::string_view line = code.substr(0, code.find('\n'));
    for (const std::string_view head :
         {"import ", "import{", "import\"", "import'", "import*", "export ", "export{"}) {
      if (line.starts_with(head)) {
        return true;
      }
    }
    code.remove_prefix(std::min(code.size(), line.size() + 1));
  }
  return false;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

Language in_tier(Language language, std::string_view tier) {
  const auto found = std::ranges::find(language.variants, tier, &Language::tier);
  if (found == language.variants.end()) {
    return language;
  }
  Language variant = *found;
  return variant;
}

Plan make_plan(const Language& language,
               const SourceText& source,
               const std::vector<std::string>& arguments,
               const Limits& run_limits,
               const Limits& compile_limits) {
  Plan plan;
  plan.file_name = named_as(language, source.name);
  plan.file_mode = language.file_mode;
  std::string main = stem_of(plan.file_name);
  if (language.naming == SourceNaming::kJava) {
    const JavaNames names = java_names(source.code);
    if (!names.file_stem.empty()) {
      plan.file_name = names.file_stem + ".java";
    }
    if (!names.main_class.empty()) {
      main = names.main_class;
    }
  } else if (language.naming == SourceNaming::kJavaScript && plan.file_name.ends_with(".js") &&
             is_javascript_module(source.code)) {
    plan.file_name = main + ".mjs";
  }
  // Compiled output keeps the default name: the user may have a directory named after the file.
  const bool compiled_as_ever = language.naming == SourceNaming::kOwn;
  const std::vector<Placeholder> placeholders = {
      {"{file}", plan.file_name},
      {"{stem}", stem_of(compiled_as_ever ? language.file_name : plan.file_name)},
      {"{main}", main}};
  if (!language.compile.empty()) {
    plan.compile =
        make_command(language.env, language.compile, placeholders, compile_limits, source.home);
  }
  plan.run = make_command(language.env, language.run, placeholders, run_limits, source.home);
  plan.run.argv.insert(plan.run.argv.end(), arguments.begin(), arguments.end());
  return plan;
}

Command make_agent_command(const Language& language,
                           const std::string& agents,
                           const Limits& limits) {
  Environment env = language.agent_env;
  for (const auto& variable : language.env) {
    const bool replaced = std::ranges::any_of(
        language.agent_env, [&](const auto& own) { return own.first == variable.first; });
    if (!replaced) {
      env.push_back(variable);
    }
  }
  return make_command(env, language.agent, {{"{agents}", agents}}, limits, kWorkspace);
}

std::string version_in(std::string_view output) {
  // The first number with a dot; if there is none ("mawk 134"), the first number.
  std::string first;
  for (std::size_t at = 0; at < output.size(); ++at) {
    if (!is_digit(output[at])) {
      continue;
    }
    std::size_t end = at;
    bool dotted = false;
    while (end < output.size() &&
           (is_digit(output[end]) ||
            (output[end] == '.' && end + 1 < output.size() && is_digit(output[end + 1])))) {
      dotted = dotted || output[end] == '.';
      ++end;
    }
    std::string number(output.substr(at, std::min<std::size_t>(end - at, 32)));
    if (dotted) {
      return number;
    }
    if (first.empty()) {
      first = number;
    }
    at = end;
  }
  return first;
}

}  // namespace glovebox
