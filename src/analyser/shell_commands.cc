// SPDX-License-Identifier: Apache-2.0
// What a command is and does, by its words.
#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "analyser/python.h"
#include "analyser/shell.h"
#include "analyser/shell_reader.h"

#include "base/text.h"

namespace glovebox::analyser {
namespace {

constexpr auto kShellNames =
    std::to_array<std::string_view>({"sh", "bash", "dash", "ash", "zsh", "ksh", "busybox sh"});
constexpr auto kInterpreters =
    std::to_array<std::string_view>({"python", "python3", "perl", "ruby", "node", "php"});
// Programs that run the command after their options, and which of their options take a value.
constexpr auto kWrappers = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"sudo", "ugpCchDRT"}, {"doas", "uC"},    {"env", "uCS"},    {"nohup", ""},
    {"nice", "n"},         {"ionice", "cnp"}, {"timeout", "ks"}, {"stdbuf", "ioe"},
    {"setsid", ""},        {"command", ""},   {"builtin", ""},   {"exec", "a"},
    {"xargs", "IELnPsda"}, {"time", "fo"},    {"busybox", ""},   {"unshare", ""},
    {"chroot", ""},        {"flock", ""},     {"watch", "n"},    {"strace", "eopsu"},
    {"script", "c"},       {"parallel", "j"}, {"nsenter", "t"},  {"toybox", ""},
});
// One more word comes before the command.
constexpr auto kWithOperand = std::to_array<std::string_view>({"timeout", "chroot", "flock"});
constexpr auto kFileReaders = std::to_array<std::string_view>(
    {"cat", "head", "tail", "less", "more", "grep", "source", ".", "base64", "xxd", "strings",
     "sort", "cut", "awk", "sed", "diff", "od"});
constexpr auto kFileWriters =
    std::to_array<std::string_view>({"rm", "tee", "touch", "mkdir", "rmdir", "chmod", "chown",
                                     "truncate", "shred", "unlink", "ln", "install", "mkfifo"});
constexpr auto kFileCopiers = std::to_array<std::string_view>({"cp", "mv", "rsync", "scp"});
constexpr auto kClients = std::to_array<std::string_view>(
    {"nc", "ncat", "netcat", "telnet", "ssh", "ping", "ftp", "sftp"});
constexpr auto kOpaque = std::to_array<std::string_view>({"perl", "ruby", "node", "php"});
constexpr auto kCodeOptions = std::to_array<std::string_view>({"-e", "-E", "-r", "-p"});
constexpr auto kSchemes =
    std::to_array<std::string_view>({"https", "http", "ftp", "wss", "ws", "ssh", "git", "tcp"});

template <typename List>
bool among(const List& list, std::string_view name) {
  return std::ranges::find(list, name) != list.end();
}

bool in_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// The host of a URL, given what follows its "//".
std::string_view host_at(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\n\r\f\v";
  const std::size_t user = text.find_first_of(" \t\n\r\f\v/@'\"");
  if (user != std::string_view::npos && text[user] == '@') {
    text.remove_prefix(user + 1);
  }
  if (text.starts_with('[')) {
    const std::size_t close = text.find_first_not_of("0123456789abcdefABCDEF:", 1);
    return close != std::string_view::npos && close > 1 && text[close] == ']'
               ? text.substr(1, close - 1)
               : "";
  }
  return text.substr(0, std::min(text.find_first_of("/:?#'\"\\"), text.find_first_of(kBlanks)));
}

// The words after a wrapper and its options; nothing if the program is not a wrapper.
std::optional<Words> behind_wrapper(const Words& words) {
  const std::string_view name = words.empty() ? "" : base_name(words[0]);
  const auto* const wrapper =
      std::ranges::find(kWrappers, name, &std::pair<std::string_view, std::string_view>::first);
  if (wrapper == kWrappers.end()) {
    return std::nullopt;
  }
  std::size_t at = 1;
  while (at < words.size()) {
    const std::string& word = words[at];
    if (word == "--") {
      ++at;
      break;
    }
    const std::size_t equals = word.find('=');
    if (word.size() > 1 && word[0] == '-') {
      at += word.size() == 2 && wrapper->second.find(word[1]) != std::string_view::npos ? 2 : 1;
    } else if ((name == "env" || name == "sudo") && equals != std::string::npos && equals > 0 &&
               std::ranges::all_of(word.substr(0, equals), in_word)) {
      ++at;
    } else {
      break;
    }
  }
  at += among(kWithOperand, name) ? 1 : 0;
  return at < words.size() ? Words(words.begin() + static_cast<std::ptrdiff_t>(at), words.end())
                           : Words{};
}

// The facts of one command.
class Command {
 public:
  Command(const Words& words, Inside inside, ShellState& state, const Variables& variables)
      : words_(words),
        name_(base_name(words[0])),
        inside_(inside),
        state_(state),
        variables_(variables) {
    std::ranges::copy_if(words.begin() + 1, words.end(), std::back_inserter(operands_),
                         [](const std::string& word) { return !word.starts_with('-'); });
  }

  // NOLINTNEXTLINE(misc-no-recursion): kMostInside bounds it.
  void run() {
    if (words_[0].starts_with('$') || words_[0].starts_with("<(") ||
        words_[0].find("$(") != std::string::npos) {
      add(Kind::kPattern, "dynamic-command");
    }
    state_.facts.add_command(name_, words_, inside_.at);
    for (std::size_t i = 1; i < words_.size(); ++i) {
      for (const std::string& host : hosts_in(words_[i])) {
        add(Kind::kHost, host);
      }
    }
    carried();
    if (const auto inner = behind_wrapper(words_); inner && !inner->empty()) {
      another(*inner);
    }
    files_and_hosts();
  }

 private:
  void add(Kind kind, std::string_view name) { state_.facts.add(kind, name, inside_.at); }
  [[nodiscard]] bool has(std::string_view word) const {
    return std::ranges::find(words_, word) != words_.end();
  }
  // The word after `word`; null if there is none.
  [[nodiscard]] const std::string* behind(std::string_view word) const {
    const auto found = std::ranges::find(words_.begin() + 1, words_.end(), word);
    return found == words_.end() || found + 1 == words_.end() ? nullptr : &found[1];
  }
  // NOLINTNEXTLINE(misc-no-recursion)
  void script(std::string_view text) {
    ShellReader(text, inside_.deeper(), state_, variables_).run();
  }
  // NOLINTNEXTLINE(misc-no-recursion)
  void another(const Words& words) {
    if (!words.empty()) {
      find_command(words, inside_.deeper(), state_, variables_);
    }
  }
  [[nodiscard]] bool has_option_c() const {
    return std::any_of(words_.begin() + 1, words_.end(), [](const std::string& word) {
      return word.starts_with('-') && word.find('c') != std::string::npos &&
             std::all_of(word.begin() + 1, word.end(), [](char c) { return c >= 'a' && c <= 'z'; });
    });
  }

  // Scripts, code and commands in the words.
  // NOLINTNEXTLINE(misc-no-recursion)
  void carried() {
    if (is_shell(name_) && has_option_c()) {
      if (!operands_.empty()) {
        script(operands_[0]);
      }
    } else if (is_shell(name_) || name_ == "source" || name_ == ".") {
      if (!operands_.empty() &&
          (operands_[0].starts_with("<(") || operands_[0].starts_with("/dev/stdin"))) {
        add(Kind::kPattern, "pipe-to-shell");
      }
    } else if (name_ == "eval") {
      add(Kind::kPattern, "dynamic-code");
      std::string text;
      for (std::size_t i = 1; i < words_.size(); ++i) {
        text += (i > 1 ? " " : "") + words_[i];
      }
      script(text);
    } else if (name_ == "trap" && !operands_.empty()) {
      script(operands_[0]);
    } else if (is_python() && behind("-c") != nullptr) {
      analyse_python(*behind("-c"), inside_.deeper(), state_.facts);
    } else if (among(kOpaque, name_) && std::ranges::any_of(words_, [](const std::string& word) {
                 return among(kCodeOptions, word);
               })) {
      add(Kind::kPattern, "opaque-code");
    } else if (name_ == "find") {
      find();
    } else if (name_ == "ssh" && operands_.size() > 1) {
      another(Words(operands_.begin() + 1, operands_.end()));
    } else if (name_ == "env" && behind("-S") != nullptr) {
      script(*behind("-S"));
    }
  }

  [[nodiscard]] bool is_python() const {
    return name_.starts_with("python") &&
           name_.substr(6).find_first_not_of("0123456789.") == std::string_view::npos;
  }

  // NOLINTNEXTLINE(misc-no-recursion)
  void find() {
    for (const std::string_view option : {"-exec", "-execdir", "-ok", "-okdir"}) {
      for (auto at = std::ranges::find(words_, option); at != words_.end();
           at = std::find(at + 1, words_.end(), option)) {
        another(Words(at + 1, std::find_if(at + 1, words_.end(), [](const std::string& word) {
                        return word == ";" || word == "+";
                      })));
      }
    }
    if (has("-delete")) {
      Words deletes{"rm", "-r"};
      deletes.insert(deletes.end(), operands_.begin(),
                     operands_.begin() + std::min<std::ptrdiff_t>(1, std::ssize(operands_)));
      state_.facts.add_command("rm", deletes, inside_.at);
    }
  }

  void files_and_hosts() {
    if (among(kClients, name_) && !operands_.empty()) {
      add(Kind::kHost, lower_case(operands_[0].substr(operands_[0].rfind('@') + 1)));
    }
    if (among(kFileReaders, name_)) {
      add_files(operands_, Kind::kFileRead);
    } else if (among(kFileWriters, name_)) {
      add_files(operands_, Kind::kFileWrite);
    } else if (among(kFileCopiers, name_) && !operands_.empty()) {
      add_files(std::span(operands_).first(operands_.size() - 1), Kind::kFileRead);
      add(Kind::kFileWrite, operands_.back());
    } else if (name_ == "dd") {
      for (const std::string& word : words_) {
        if (word.starts_with("if=") || word.starts_with("of=")) {
          add(word[0] == 'i' ? Kind::kFileRead : Kind::kFileWrite, word.substr(3));
        }
      }
    }
  }
  void add_files(std::span<const std::string> names, Kind kind) {
    for (const std::string& each : names) {
      add(kind, each);
    }
  }

  const Words& words_;
  std::string_view name_;
  Inside inside_;
  ShellState& state_;
  const Variables& variables_;
  Words operands_;
};

}  // namespace

std::vector<std::string> hosts_in(std::string_view text) {
  std::vector<std::string> hosts;
  for (std::size_t at = text.find("://"); at != std::string_view::npos;
       at = text.find("://", at + 3)) {
    std::size_t begin = at;
    while (begin > 0 && in_word(text[begin - 1])) {
      --begin;
    }
    const std::string_view host = host_at(text.substr(at + 3));
    if (among(kSchemes, text.substr(begin, at - begin)) && !host.empty()) {
      hosts.push_back(lower_case(host));
    }
  }
  return hosts;
}

std::string_view base_name(std::string_view word) { return word.substr(word.rfind('/') + 1); }

bool is_shell(std::string_view program) { return among(kShellNames, program); }

bool is_interpreter(std::string_view program) {
  return is_shell(program) || among(kInterpreters, program);
}

Words unwrapped(const Words& words) {
  Words inner = words;
  for (int i = 0; i < kMostInside; ++i) {
    auto next = behind_wrapper(inner);
    if (!next) {
      break;
    }
    inner = *std::move(next);
  }
  return inner;
}

// NOLINTNEXTLINE(misc-no-recursion): kMostInside bounds it.
void find_command(const Words& words,
                  Inside inside,
                  ShellState& state,
                  const Variables& variables) {
  if (inside.depth > kMostInside) {
    state.fail("commands are nested too deeply to follow", inside.at);
    return;
  }
  if (state.problem.empty()) {
    Command(words, inside, state, variables).run();
  }
}

}  // namespace glovebox::analyser
