// SPDX-License-Identifier: Apache-2.0
// A reader of shell scripts, which knows words, quotes and variables, and finds the commands.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyser/facts.h"
#include "analyser/inside.h"
#include "analyser/lines.h"

namespace glovebox::analyser {

using Words = std::vector<std::string>;
using Variables = std::map<std::string, std::string, std::less<>>;

// What nested scripts share. The first thing that cannot be followed ends all of them.
struct ShellState {
  static constexpr std::size_t kMostText = std::size_t{16} * 1024 * 1024;  // For all of them.

  Facts& facts;
  std::string problem{};
  Place problem_at{};
  std::size_t read = 0;

  void fail(std::string why, Place at) {
    if (problem.empty()) {
      problem = std::move(why);
      problem_at = at;
    }
  }
};

class ShellReader {
 public:
  // `inside`: for a script inside another text.
  ShellReader(std::string_view text,
              std::optional<Inside> inside,
              ShellState& state,
              Variables variables = {});
  void run();

 private:
  static constexpr std::size_t kMostVariable = std::size_t{256} * 1024;

  struct Document {  // A here-document.
    std::string end;
    std::size_t at;
    Words owner{};
  };
  struct Redirection {
    std::string operation;
    std::string target{};
    std::size_t document = 0;  // Its index in `documents_`, if it is a here-document.
  };
  struct Function {
    std::string name;
    int braces;  // Around it.
  };

  [[nodiscard]] bool ends() const { return at_ >= text_.size() || !state_.problem.empty(); }
  [[nodiscard]] char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  [[nodiscard]] std::string_view rest() const { return std::string_view(text_).substr(at_); }
  [[nodiscard]] Place place(std::size_t at) const { return lines_.place(at); }
  [[nodiscard]] Inside inside(std::size_t at) const {
    return {.at = place(at), .depth = depth_ + 1};
  }
  void fail(std::string why, std::size_t at) { state_.fail(std::move(why), place(at)); }
  void nested(std::string_view text, std::size_t at);

  // Words (shell_words.cc)
  Words word();
  std::string dollar();
  std::string expansion();
  std::string ansi_quoted();
  std::string double_quoted();
  std::string backquoted();
  std::size_t closing(std::size_t start);
  std::string value_of(std::string_view name) const;

  // Commands
  void next(Words& words, std::vector<Redirection>& redirections, std::size_t& start);
  bool leading();
  bool leading_word(std::string_view word);
  Words words_of_line();
  void loop(bool until);
  void redirection(std::string_view operation, std::size_t at, std::vector<Redirection>& into);
  void read_documents();
  void assign(std::string_view name, std::string value);
  void command(Words words,
               const std::vector<Redirection>& redirections,
               std::size_t start,
               std::string_view operation);
  void remember(const Words& words);
  void piped_into(const Words& words, std::size_t start);
  void input_of(const Words& words, std::string_view text, std::size_t at);

  std::string text_;
  Lines lines_;
  ShellState& state_;
  int depth_;
  std::size_t at_ = 0;
  Variables variables_;
  std::map<std::string, std::string, std::less<>> aliases_{};
  std::vector<Function> functions_{};  // Around the current command.
  int braces_ = 0;
  std::vector<Document> documents_{};
  std::vector<Words> pipeline_{};
};

// Facts about one command; `variables` are set in any script that its words contain.
void find_command(const Words& words, Inside inside, ShellState& state, const Variables& variables);
// The innermost command: without sudo, env and the like.
Words unwrapped(const Words& words);
std::string_view base_name(std::string_view word);
bool is_shell(std::string_view program);
bool is_interpreter(std::string_view program);
// What `echo` or `printf` writes.
std::optional<std::string> said_by(Words words);
// What a substitution of a plain `echo` or `printf` becomes; for any other, something unknown.
std::string said_by_script(std::string_view script);
// The fields of "{a,b,c}".
Words braces(const std::string& word);

}  // namespace glovebox::analyser
