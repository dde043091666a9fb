// SPDX-License-Identifier: Apache-2.0
// The commands of a shell script: where they begin and end, and what stands around them.
#include "analyser/shell.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "analyser/python.h"
#include "analyser/shell_reader.h"

namespace glovebox::analyser {
namespace {

// The longest first.
constexpr auto kOperators = std::to_array<std::string_view>(
    {"&>>", "<<<", "<<-", "&&", "||", ";;", "|&", ">>", "<<", ">&", "<&",
     "<>",  ">|",  "&>",  "\n", ";",  "&",  "|",  "(",  ")",  "<",  ">"});
constexpr auto kRedirections = std::to_array<std::string_view>(
    {"<<<", "<<-", "<<", ">>", ">&", "<&", "<>", ">|", "&>", "&>>", "<", ">"});
// Words that may stand before a command without being one.
constexpr auto kLeading = std::to_array<std::string_view>(
    {"if", "then", "else", "elif", "while", "until", "do", "{", "!", "time", "coproc"});
constexpr auto kClosing = std::to_array<std::string_view>({"fi", "done", "}", "esac"});
constexpr auto kDeclaring =
    std::to_array<std::string_view>({"export", "declare", "local", "readonly", "typeset"});

template <typename List>
bool among(const List& list, std::string_view name) {
  return std::ranges::find(list, name) != list.end();
}

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool in_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}
bool is_number(std::string_view word) {
  return !word.empty() && std::ranges::all_of(word, [](char c) { return c >= '0' && c <= '9'; });
}

// How many characters at the beginning of a text satisfy something.
template <typename Predicate>
std::size_t length_of(std::string_view text, Predicate predicate) {
  return static_cast<std::size_t>(std::ranges::find_if_not(text, predicate) - text.begin());
}

std::string joined(const Words& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    text += (i == 0 ? "" : " ") + words[i];
  }
  return text;
}

std::string_view without_spaces(std::string_view text) {
  text.remove_prefix(length_of(text, is_space));
  return text;
}

// Whether a text contains a word by itself.
bool has_word(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != std::string_view::npos;
       at = text.find(word, at + 1)) {
    if ((at == 0 || !in_word(text[at - 1])) &&
        (at + word.size() == text.size() || !in_word(text[at + word.size()]))) {
      return true;
    }
  }
  return false;
}

// Whether the condition of a loop always holds, and there is nothing else beside it.
bool is_forever(std::string_view text, bool until) {
  if (text.empty() || !is_space(text.front())) {
    return false;
  }
  text = without_spaces(text);
  const auto conditions = until ? std::vector<std::string_view>{"false"}
                                : std::vector<std::string_view>{"true", ":", "1", "[1]", "((1))"};
  const std::size_t end = text.find_first_of(";\n");
  if (end == std::string_view::npos) {
    return false;
  }
  std::string condition(text.substr(0, end));
  const bool spaced = condition.starts_with('[') || condition.starts_with("((");
  std::erase_if(condition, [&](char c) { return spaced && is_space(c); });
  while (!condition.empty() && is_space(condition.back())) {
    condition.pop_back();
  }
  return among(conditions, condition);
}

// Whether a text has a "&" that is not part of an operator.
bool has_background(std::string_view text) {
  for (std::size_t at = text.find('&'); at != std::string_view::npos; at = text.find('&', at + 1)) {
    const char before = at == 0 ? '\0' : text[at - 1];
    const char behind = at + 1 < text.size() ? text[at + 1] : '\0';
    if (before != '&' && behind != '&' && behind != '>' && (behind < '0' || behind > '9')) {
      return true;
    }
  }
  return false;
}

// The length of a case's pattern at the beginning of a text, with its parenthesis; 0: there is
// none.
std::size_t pattern_length(std::string_view text) {
  const auto belongs = [](char c) {
    return !is_space(c) && std::string_view("()&;<>|").find(c) == std::string_view::npos;
  };
  std::size_t at = 0;
  for (;;) {
    const std::size_t length = length_of(text.substr(at), belongs);
    if (length == 0) {
      return 0;
    }
    at += length;
    const std::size_t bar = at + length_of(text.substr(at), is_space);
    if (bar < text.size() && text[bar] == '|') {
      at = bar + 1 + length_of(text.substr(bar + 1), is_space);
      continue;
    }
    const std::string_view pattern = text.substr(0, at + 1);
    return at < text.size() && text[at] == ')' && pattern.find('`') == std::string_view::npos
               ? at + 1
               : 0;
  }
}

}  // namespace

namespace {

std::string with_plain_joints(std::string_view text) {
  std::string plain(text);
  std::size_t to = 0;
  for (std::size_t from = 0; from < text.size(); ++from) {
    const bool joint = text[from] == '\r' && from > 0 && text[from - 1] == '\\' &&
                       from + 1 < text.size() && text[from + 1] == '\n';
    if (!joint) {
      plain[to++] = text[from];
    }
  }
  plain.resize(to);
  return plain;
}

}  // namespace

ShellReader::ShellReader(std::string_view text,
                         std::optional<Inside> inside,
                         ShellState& state,
                         Variables variables)
    : text_(with_plain_joints(text)),
      lines_(text_, inside),
      state_(state),
      depth_(inside ? inside->depth : 0),
      variables_(std::move(variables)) {
  variables_.try_emplace("IFS", " ");
  variables_.try_emplace("HOME", "~");
  variables_.try_emplace("PWD", ".");
  state_.read += text_.size();
  if (depth_ > kMostInside) {
    state_.fail("commands are nested too deeply to follow", place(0));
  } else if (state_.read > ShellState::kMostText || state_.facts.full()) {
    state_.fail("there is too much in it to follow", place(0));
  }
}

// NOLINTNEXTLINE(misc-no-recursion): kMostInside bounds it.
void ShellReader::nested(std::string_view text, std::size_t at) {
  ShellReader(text, inside(at), state_, variables_).run();
}

// NOLINTNEXTLINE(misc-no-recursion)
void ShellReader::run() {
  Words words;
  std::vector<Redirection> redirections;
  std::size_t start = 0;
  while (!ends()) {
    next(words, redirections, start);
  }
  if (state_.problem.empty()) {
    command(std::move(words), redirections, start, "\n");
  }
}

// The next word, or what ends a command.
void ShellReader::next(Words& words, std::vector<Redirection>& redirections, std::size_t& start) {
  const char c = text_[at_];
  if (c == ' ' || c == '\t' || c == '\r' || (c == '\\' && peek(1) == '\n')) {
    at_ += c == '\\' ? 2 : 1;
    return;
  }
  if (c == '#') {
    at_ = std::min(text_.find('\n', at_), text_.size());
    return;
  }
  const auto* const found = std::ranges::find_if(
      kOperators, [this](std::string_view each) { return rest().starts_with(each); });
  if (found == kOperators.end() || ((c == '<' || c == '>') && peek(1) == '(')) {
    if (words.empty()) {
      start = at_;
      if (leading()) {
        return;
      }
    }
    for (std::string& field : word()) {
      words.push_back(std::move(field));
    }
    return;
  }
  const std::size_t at = at_;
  at_ += found->size();
  if (among(kRedirections, *found)) {
    if (!words.empty() && is_number(words.back()) && at > 0 && is_number({&text_[at - 1], 1})) {
      words.pop_back();
    }
    redirection(*found, at, redirections);
    return;
  }
  if (*found == "(" && words.size() == 1) {  // name() { …
    functions_.push_back({.name = words[0], .braces = braces_});
    at_ = closing(at_);
  } else {
    command(std::exchange(words, {}), redirections, start, *found);
  }
  words.clear();
  redirections.clear();
  if (*found == "\n") {
    read_documents();
  }
}

// Skips what only leads to a command.
bool ShellReader::leading() {
  const std::string_view text = rest();
  const std::string_view word = text.substr(
      0, length_of(text, [](char c) {
        return !is_space(c) && std::string_view(";&|()<>'\"$`\\").find(c) == std::string_view::npos;
      }));
  if (word == "[[" || text.starts_with("((")) {
    const std::size_t end = text_.find(word.empty() ? "))" : "]]", at_ + 2);
    if (end == std::string::npos) {
      fail("a test is never closed", at_);
      return true;
    }
    at_ = end + 2;
    return true;
  }
  if (leading_word(word)) {
    return true;
  }
  const std::size_t skipped = text.starts_with('(') ? 1 : 0;
  if (const std::size_t pattern = pattern_length(text.substr(skipped)); pattern > 0) {
    at_ += skipped + pattern;
    return true;
  }
  return false;
}

bool ShellReader::leading_word(std::string_view word) {
  const std::string_view behind = rest().substr(word.size());
  if (among(kLeading, word)) {
    at_ += word.size();
    braces_ += word == "{" ? 1 : 0;
    if (word == "while" || word == "until") {
      loop(word == "until");
    }
    return true;
  }
  if (among(kClosing, word)) {
    at_ += word.size();
    if (word == "}") {
      --braces_;
      while (!functions_.empty() && functions_.back().braces >= braces_) {
        functions_.pop_back();
      }
    }
    return true;
  }
  if (word == "function") {
    // function name () {
    std::string_view text = without_spaces(behind);
    const std::string_view name = text.substr(
        0, length_of(text, [](char c) { return !is_space(c) && c != '(' && c != '{'; }));
    text = without_spaces(text.substr(name.size()));
    if (text.starts_with('(')) {
      const std::string_view inner = without_spaces(text.substr(1));
      text = inner.starts_with(')') ? without_spaces(inner.substr(1)) : text;
    }
    if (!name.empty() && text.starts_with('{') && text.data() != behind.data()) {
      functions_.push_back({.name = std::string(name), .braces = braces_});
      at_ = static_cast<std::size_t>(text.data() - text_.data());
      return true;
    }
  }
  if (word == "for" || word == "select") {
    at_ += word.size();
    const std::string_view text = without_spaces(behind);
    const std::string name(text.substr(0, length_of(text, in_word)));
    const std::string_view in = without_spaces(text.substr(name.size()));
    if (!name.empty() && in.starts_with("in") && in.data() > text.data() + name.size() &&
        (in.size() == 2 || !in_word(in[2]))) {
      at_ = static_cast<std::size_t>(in.data() - text_.data()) + 2;
      assign(name, joined(words_of_line()));
    }
    return true;
  }
  if (word == "case") {
    for (std::size_t at = behind.find("in"); at != std::string_view::npos;
         at = behind.find("in", at + 1)) {
      if (at > 0 && !in_word(behind[at - 1]) &&
          (at + 2 == behind.size() || !in_word(behind[at + 2]))) {
        at_ += word.size() + at + 2;
        return true;
      }
    }
  }
  return false;
}

Words ShellReader::words_of_line() {
  Words values;
  while (!ends() && peek() != '\n' && peek() != ';') {
    if (peek() == ' ' || peek() == '\t') {
      ++at_;
    } else if (std::string_view("&|()<>").find(peek()) != std::string_view::npos) {
      break;
    } else {
      for (std::string& field : word()) {
        values.push_back(std::move(field));
      }
    }
  }
  return values;
}

void ShellReader::loop(bool until) {
  if (!is_forever(rest(), until)) {
    return;
  }
  const std::string_view body = rest().substr(0, rest().find("done"));
  constexpr auto kEnds =
      std::to_array<std::string_view>({"break", "exit", "return", "sleep", "read"});
  if (std::ranges::none_of(kEnds, [&](std::string_view word) { return has_word(body, word); })) {
    state_.facts.add(Kind::kPattern, "endless-loop", place(at_));
  }
  if (has_background(body)) {
    state_.facts.add(Kind::kPattern, "fork-bomb", place(at_));
  }
}

// Redirections

void ShellReader::redirection(std::string_view operation,
                              std::size_t at,
                              std::vector<Redirection>& into) {
  while (peek() == ' ' || peek() == '\t') {
    ++at_;
  }
  if (operation == "<<" || operation == "<<-") {
    std::string_view text = rest();
    text.remove_prefix(text.starts_with('\\') ? 1 : 0);
    const std::string_view quote =
        text.starts_with('\'') || text.starts_with('"') ? text.substr(0, 1) : "";
    text.remove_prefix(quote.size());
    const std::string_view end = text.substr(
        0, length_of(text, [](char c) {
          return !is_space(c) && std::string_view("'\";|&<>()").find(c) == std::string_view::npos;
        }));
    if (end.empty() || !text.substr(end.size()).starts_with(quote)) {
      fail("a here-document has no end word", at);
      return;
    }
    at_ = static_cast<std::size_t>(end.data() - text_.data()) + end.size() + quote.size();
    into.push_back({.operation = "<<", .document = documents_.size()});
    documents_.push_back({.end = std::string(end), .at = at});
    return;
  }
  const std::string target = joined(word());
  into.push_back({.operation = std::string(operation), .target = target});
  if (operation == "<<<") {
    return;
  }
  if (target.starts_with("/dev/tcp/") || target.starts_with("/dev/udp/")) {
    state_.facts.add(Kind::kPattern, "network-redirection", place(at));
    const std::string_view host = std::string_view(target).substr(9);
    state_.facts.add(Kind::kHost, host.substr(0, host.find('/')), place(at));
  } else if (!is_number(target) && target != "-") {
    state_.facts.add(operation == "<" ? Kind::kFileRead : Kind::kFileWrite, target, place(at));
  }
}

// NOLINTNEXTLINE(misc-no-recursion): kMostInside bounds it.
void ShellReader::read_documents() {
  for (const Document& document : std::exchange(documents_, {})) {
    std::string text;
    bool first = true;
    while (at_ < text_.size()) {
      const std::size_t end = std::min(text_.find('\n', at_), text_.size());
      const std::string_view line = std::string_view(text_).substr(at_, end - at_);
      at_ = std::min(end + 1, text_.size());
      if (line.substr(length_of(line, [](char c) { return c == '\t'; })) == document.end) {
        break;
      }
      text += first ? "" : "\n";
      text += line;
      first = false;
    }
    if (!document.owner.empty()) {
      input_of(document.owner, text, document.at);
    }
  }
}

// Commands

void ShellReader::assign(std::string_view name, std::string value) {
  if (value.size() > kMostVariable) {
    fail("a variable becomes too long to follow", std::min(at_, text_.size()));
    return;
  }
  variables_.insert_or_assign(std::string(name), std::move(value));
}

// NOLINTNEXTLINE(misc-no-recursion): kMostInside bounds it.
void ShellReader::command(Words words,
                          const std::vector<Redirection>& redirections,
                          std::size_t start,
                          std::string_view operation) {
  while (!words.empty()) {
    const std::string& first = words.front();
    std::size_t length = length_of(first, in_word);
    const bool named = length > 0 && !is_number({first.data(), 1});
    const bool added = named && first[length] == '+';
    if (!named || length + (added ? 1 : 0) >= first.size() ||
        first[length + (added ? 1 : 0)] != '=') {
      break;
    }
    const std::string name = first.substr(0, length);
    const auto known = variables_.find(name);
    const std::string before = added && known != variables_.end() ? known->second : "";
    assign(name, before + first.substr(length + (added ? 2 : 1)));
    words.erase(words.begin());
  }
  if (!words.empty() && state_.problem.empty()) {
    if (const auto alias = aliases_.find(words[0]); alias != aliases_.end()) {
      std::string script = alias->second;
      for (std::size_t i = 1; i < words.size() || i == 1; ++i) {
        script += " " + (i < words.size() ? words[i] : "");
      }
      nested(script, start);
    }
    const bool own = std::ranges::find(functions_, words[0], &Function::name) != functions_.end();
    if ((own && (operation == "|" || operation == "&" || operation == "|&")) ||
        (words[0] == "$0" && operation == "&")) {
      state_.facts.add(Kind::kPattern, "fork-bomb", place(start));
    }
    remember(words);
    for (const Redirection& each : redirections) {
      if (each.operation == "<<" && each.document < documents_.size()) {
        documents_[each.document].owner = words;
      } else if (each.operation == "<<<") {
        input_of(words, each.target, start);
      }
    }
    find_command(words, {.at = place(start), .depth = depth_}, state_, variables_);
    piped_into(words, start);
    pipeline_.push_back(std::move(words));
  }
  if (operation != "|" && operation != "|&") {
    pipeline_.clear();
  }
}

// Aliases and variables that a command makes.
void ShellReader::remember(const Words& words) {
  if (words[0] == "alias" || among(kDeclaring, words[0])) {
    for (std::size_t i = 1; i < words.size(); ++i) {
      const std::size_t equals = words[i].find('=');
      const std::string name = words[i].substr(0, equals);
      const std::string value = equals == std::string::npos ? "" : words[i].substr(equals + 1);
      if (words[0] == "alias") {
        aliases_.insert_or_assign(name, value);
      } else if (equals != std::string::npos) {
        assign(name, value);
      }
    }
  }
  const auto dashes = std::ranges::find(words, "--");
  if (words[0] == "set" && dashes != words.end()) {
    int number = 0;
    for (auto each = dashes + 1; each != words.end(); ++each) {
      assign(std::to_string(++number), *each);
    }
  }
}

// NOLINTNEXTLINE(misc-no-recursion): kMostInside bounds it.
void ShellReader::piped_into(const Words& words, std::size_t start) {
  const Words inner = unwrapped(words);
  if (pipeline_.empty() || inner.empty() || !is_interpreter(base_name(inner[0]))) {
    return;
  }
  // An interpreter with a program of its own reads data, not code.
  for (std::size_t i = 1; i < inner.size(); ++i) {
    if (!inner[i].starts_with('-') || inner[i] == "-c" || inner[i] == "-e" || inner[i] == "-m") {
      return;
    }
  }
  state_.facts.add(Kind::kPattern, "pipe-to-shell", place(start));
  if (pipeline_.size() == 1) {
    if (const auto text = said_by(pipeline_[0])) {
      input_of(words, *text, start);
    }
  }
}

// NOLINTNEXTLINE(misc-no-recursion): kMostInside bounds it.
void ShellReader::input_of(const Words& words, std::string_view text, std::size_t at) {
  const Words inner = unwrapped(words);
  const std::string_view name = inner.empty() ? "" : base_name(inner[0]);
  if (is_shell(name)) {
    nested(text, at);
  } else if (name.starts_with("python")) {
    analyse_python(text, inside(at), state_.facts);
  }
}

void analyse_shell(std::string_view text, std::optional<Inside> inside, Facts& facts) {
  ShellState state{.facts = facts};
  ShellReader(text, inside, state).run();
  if (!state.problem.empty()) {
    facts.add(Kind::kUnparsed, state.problem, state.problem_at);
  }
}

void analyse_command(const std::vector<std::string>& words, Inside inside, Facts& facts) {
  ShellState state{.facts = facts};
  find_command(words, inside, state, {});
  if (!state.problem.empty()) {
    facts.add(Kind::kUnparsed, state.problem, state.problem_at);
  }
}

}  // namespace glovebox::analyser
