// SPDX-License-Identifier: Apache-2.0
// The lines and cells that IPython handles before Python sees them.
//
// A magic that is not known here is a fact "unparsed": it may do anything with its line.
#include <algorithm>
#include <array>
#include <string>
#include <tuple>
#include <utility>

#include "analyser/python.h"
#include "analyser/python_magics.h"
#include "analyser/shell.h"

namespace glovebox::analyser {
namespace {

template <typename List>
bool among(const List& list, std::string_view name) {
  return std::ranges::find(list, name) != list.end();
}

// Neither run code nor change files.
constexpr auto kHarmless = std::to_array<std::string_view>(
    {"autoreload", "automagic", "bookmark", "capture",    "cd",      "colors", "config",
     "dhist",      "env",       "gui",      "hist",       "history", "html",   "latex",
     "lsmagic",    "magic",     "markdown", "matplotlib", "pdoc",    "pinfo",  "pinfo2",
     "pprint",     "precision", "psearch",  "psource",    "pwd",     "pylab",  "quickref",
     "reset",      "set_env",   "tb",       "unload_ext", "who",     "who_ls", "whos",
     "xdel",       "xmode"});
// Run the Python after their options; the options listed here take a value.
constexpr auto kTimers = std::to_array<std::pair<std::string_view, std::string_view>>(
    {{"time", ""}, {"timeit", "nrp"}, {"prun", "lsTD"}, {"memit", "rti"}, {"lprun", "fmTDu"}});
constexpr auto kShells = std::to_array<std::string_view>({"!", "sx", "system", "sc"});
// Names of commands, which IPython passes on.
constexpr auto kCommands = std::to_array<std::string_view>(
    {"cat", "conda", "cp", "less",  "ls", "mamba", "man", "micromamba", "mkdir", "more",
     "mv",  "pip",   "rm", "rmdir", "uv", "ll",    "lf",  "lk",         "ldir",  "lx"});
constexpr auto kShownCells = std::to_array<std::string_view>(
    {"html", "HTML", "latex", "markdown", "svg", "SVG", "javascript", "js"});
constexpr auto kShellCells =
    std::to_array<std::string_view>({"bash", "sh", "zsh", "ksh", "dash", "!", "sx", "system"});
constexpr auto kPythonCells =
    std::to_array<std::string_view>({"python", "python2", "python3", "pypy", "pypy3"});
constexpr auto kOtherCells = std::to_array<std::string_view>({"perl", "ruby", "node"});

std::string_view trimmed(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  text.remove_suffix(text.size() - (text.find_last_not_of(" \t\n") + 1));
  return text;
}

// The first word, and what follows it.
std::pair<std::string_view, std::string_view> split(std::string_view text) {
  text = trimmed(text);
  const std::size_t end = std::min(text.find_first_of(" \t"), text.size());
  return {text.substr(0, end), trimmed(text.substr(end))};
}

std::string_view behind_options(std::string_view text, std::string_view with_value) {
  for (auto [word, rest] = split(text); word.size() > 1 && word.front() == '-';
       std::tie(word, rest) = split(text)) {
    const bool value = word.size() == 2 && with_value.find(word[1]) != std::string_view::npos;
    text = value ? split(rest).second : rest;
  }
  return text;
}

struct Cell {
  std::string_view name;
  std::string_view line;  // After the name.
  std::string_view body;
};

Cell cell_of(std::string_view code) {
  code.remove_prefix(std::min(code.find_first_not_of(" \t\n\f"), code.size()));
  if (!code.starts_with("%%")) {
    return {};
  }
  const std::size_t end = std::min(code.find('\n'), code.size());
  std::string_view line = code.substr(2, end - 2);
  const bool bang = line.starts_with('!');
  auto [name, rest] = split(line);
  if (bang) {
    name = line.substr(0, 1);
    rest = line.substr(1);
  }
  return {.name = name, .line = rest, .body = code.substr(std::min(end + 1, code.size()))};
}

void unknown(std::string_view name, Inside inside, Facts& facts) {
  facts.add(Kind::kUnparsed, "the magic '%" + std::string(name) + "' is not known", inside.at);
}

void interpreted(std::string_view interpreter, const Cell& cell, Inside inside, Facts& facts) {
  const std::string_view program = interpreter.substr(interpreter.rfind('/') + 1);
  if (among(kShellCells, program)) {
    analyse_shell(cell.body, inside, facts);
  } else if (among(kPythonCells, program)) {
    analyse_python(cell.body, inside, facts);
  } else {
    facts.add(Kind::kPattern, "opaque-code", inside.at);
  }
}

}  // namespace

std::size_t before_timed_code(std::string_view line) {
  if (!line.starts_with('%')) {
    return 0;
  }
  const std::size_t signs = line.starts_with("%%") ? 2 : 1;
  const auto [name, rest] = split(line.substr(signs));
  const auto* const timer =
      std::ranges::find(kTimers, name, &std::pair<std::string_view, std::string_view>::first);
  const std::string_view code =
      timer == kTimers.end() ? std::string_view{} : behind_options(rest, timer->second);
  return code.empty() ? 0 : static_cast<std::size_t>(code.data() - line.data());
}

bool is_foreign_cell(std::string_view code) {
  const std::string_view name = cell_of(code).name;
  return name == "script" || name == "writefile" || name == "file" || among(kShownCells, name) ||
         among(kShellCells, name) || among(kPythonCells, name) || among(kOtherCells, name);
}

void analyse_foreign_cell(std::string_view code, Inside inside, Facts& facts) {
  const Cell cell = cell_of(code);
  if (cell.name == "script") {
    const std::string_view command = behind_options(cell.line, "");
    analyse_shell(command, inside, facts);
    interpreted(split(command).first, cell, inside, facts);
  } else if (cell.name == "writefile" || cell.name == "file") {
    const std::string_view name = behind_options(cell.line, "");
    facts.add(Kind::kFileWrite, name, inside.at);
    if (name.ends_with(".py")) {
      analyse_python(cell.body, inside, facts);
    } else if (name.ends_with(".sh")) {
      analyse_shell(cell.body, inside, facts);
    }
  } else if (!among(kShownCells, cell.name)) {
    interpreted(cell.name, cell, inside, facts);
  }
}

void analyse_magic(std::string_view line, Inside inside, Facts& facts) {
  if (line.starts_with('!')) {
    line.remove_prefix(line.starts_with("!!") ? 2 : 1);
    analyse_shell(line, inside, facts);
    return;
  }
  line.remove_prefix(line.starts_with("%%") ? 2 : 1);
  const auto [name, rest] = split(line);
  const bool timer =
      std::ranges::find(kTimers, name, &std::pair<std::string_view, std::string_view>::first) !=
      kTimers.end();
  if (timer) {
    // If the line has no code, it times the cell.
  } else if (among(kShells, name)) {
    const std::size_t assigned = name == "sc" ? rest.find('=') : std::string_view::npos;
    analyse_shell(assigned == std::string_view::npos ? rest : rest.substr(assigned + 1), inside,
                  facts);
  } else if (among(kCommands, name)) {
    analyse_shell(trimmed(line), inside, facts);
  } else if (name == "alias") {
    analyse_shell(split(rest).second, inside, facts);
  } else if (name == "load_ext" || name == "reload_ext" || name == "aimport") {
    facts.add(Kind::kModule, split(rest).first, inside.at);
  } else if (name == "run") {
    facts.add(Kind::kPattern, "dynamic-code", inside.at);
  } else if (!among(kHarmless, name)) {
    unknown(name, inside, facts);
  }
}

}  // namespace glovebox::analyser
