// SPDX-License-Identifier: Apache-2.0
#include "analyser/sql.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "analyser/lines.h"
#include "analyser/secrets.h"
#include "analyser/shell.h"
#include "analyser/sql_tokens.h"
#include "base/hex.h"
#include "base/text.h"

namespace glovebox::analyser {
namespace {

using Token = SqlToken;
using enum SqlToken::Kind;

// What is done with the argument of a function or of a command of the shell.
enum class Does : std::uint8_t { kNothing, kRead, kWrite, kBoth, kShell, kCode };
struct Known {
  std::string_view name;
  Does does;
};

constexpr auto kFunctions = std::to_array<Known>({
    {"readfile", Does::kRead},
    {"writefile", Does::kWrite},
    {"load_extension", Does::kRead},
    {"fsdir", Does::kRead},
    {"lsdir", Does::kRead},
    {"zipfile", Does::kRead},
    {"csv", Does::kRead},
});

// The shell takes the beginning of a command for the whole.
constexpr auto kCommands = std::to_array<Known>({
    {".archive", Does::kBoth},    {".backup", Does::kWrite},     {".cd", Does::kRead},
    {".clone", Does::kWrite},     {".excel", Does::kWrite},      {".import", Does::kRead},
    {".load", Does::kRead},       {".log", Does::kWrite},        {".once", Does::kWrite},
    {".open", Does::kBoth},       {".output", Does::kWrite},     {".parameter", Does::kCode},
    {".read", Does::kRead},       {".restore", Does::kRead},     {".save", Does::kWrite},
    {".session", Does::kBoth},    {".selftest", Does::kNothing}, {".shell", Does::kShell},
    {".system", Does::kShell},    {".trace", Does::kWrite},      {".www", Does::kWrite},
    {".expert", Does::kCode},     {".testcase", Does::kNothing}, {".unmodule", Does::kNothing},
    {".vfsname", Does::kNothing},
});

// The schema is SQL too: what is written there is executed later.
constexpr auto kSchemas = std::to_array<std::string_view>(
    {"sqlite_master", "sqlite_schema", "sqlite_temp_master", "sqlite_temp_schema"});

// The file of an address, "file:///etc/x?mode=ro" (sqlite.org/uri.html).
std::string file_of(const std::string& name) {
  if (!name.starts_with("file:")) {
    return name;
  }
  std::string_view rest = std::string_view(name).substr(5);
  rest = rest.substr(0, rest.find_first_of("?#"));
  if (rest.starts_with("//")) {
    rest.remove_prefix(std::min(rest.find('/', 2), rest.size()));
  }
  std::string file;
  for (std::size_t i = 0; i < rest.size(); ++i) {
    const auto byte = rest[i] == '%' ? from_hex(lower_case(rest.substr(i + 1, 2))) : std::nullopt;
    if (byte && byte->size() == 1) {
      file += *byte;
      i += 2;
    } else {
      file += rest[i];
    }
  }
  return file;
}

class Analysis {
 public:
  Analysis(std::string_view text, std::optional<Inside> inside, Facts& facts)
      : lines_(text, inside), facts_(facts), script_(sql_tokens(text)) {}

  void run() {
    for (at_ = 0; at_ < tokens().size(); ++at_) {
      look_at(tokens()[at_]);
    }
    if (!script_.failure.empty()) {
      facts_.add(Kind::kUnparsed, script_.failure, {});
    }
  }

 private:
  using Kind = analyser::Kind;

  [[nodiscard]] const std::vector<Token>& tokens() const { return script_.tokens; }
  // A token that does not exist is a mark without text.
  [[nodiscard]] const Token& token(std::size_t at) const {
    static const Token kNone{.kind = kMark};
    return at < tokens().size() ? tokens()[at] : kNone;
  }

  void add(Kind kind, std::string_view name, const Token& token) {
    facts_.add(kind, name, lines_.place(token.at));
  }

  void add_file(Does does, const std::string& file, const Token& token) {
    if (file.empty() || file == ":memory:") {
      return;
    }
    if (does == Does::kRead || does == Does::kBoth) {
      add(Kind::kFileRead, file_of(file), token);
    }
    if (does == Does::kWrite || does == Does::kBoth) {
      add(Kind::kFileWrite, file_of(file), token);
    }
  }

  void look_at(const Token& token) {
    if (token.kind == kCommand) {
      command(token);
    } else if (token.kind == kText) {
      if (has_token(token.text)) {
        add(Kind::kPattern, "credential", token);
      }
    } else if (token.kind == kName) {
      name(token);
    }
  }

  void name(const Token& named) {
    const Token& next = token(at_ + 1);
    if (next.is(kMark, "(")) {
      call(named);
    }
    if (at_ > 0 && token(at_ - 1).is(kName, "using")) {
      add(Kind::kName, named.text, named);  // The module of a virtual table.
    }
    if (named.text == "attach") {
      add(Kind::kName, "attach", named);
      std::size_t from = at_ + (next.is(kName, "database") ? 2 : 1);
      add_file(Does::kBoth, text_from(from), named);
    } else if (named.text == "into" && follows_vacuum()) {
      add(Kind::kName, "vacuum_into", named);
      std::size_t from = at_ + 1;
      add_file(Does::kWrite, text_from(from), named);
    } else if (named.text == "pragma") {
      const std::size_t last = token(at_ + 2).is(kMark, ".") ? at_ + 3 : at_ + 1;
      add(Kind::kName, "pragma." + token(last).text, named);
    } else if (named.text == "with") {
      recursion(named);
    } else if (std::ranges::find(kSchemas, named.text) != kSchemas.end() && is_changed()) {
      add(Kind::kPattern, "dynamic-code", named);
    }
  }

  void call(const Token& function) {
    add(Kind::kName, function.text, function);
    const auto* const known = std::ranges::find(kFunctions, function.text, &Known::name);
    if (known != kFunctions.end()) {
      std::size_t from = at_ + 2;
      if (token(from).kind == kName && token(from + 1).is(kMark, "=")) {
        from += 2;  // csv(filename='x'), of a virtual table.
      }
      add_file(known->does, text_from(from), function);
    }
  }

  // The text that an expression is, if it is made of constants; else empty. `at` becomes the token
  // after it.
  std::string text_from(std::size_t& at) {
    std::string text;
    for (;; ++at) {
      const Token& part = token(at);
      if (part.kind == kText || part.kind == kName) {
        // SQLite takes a name in quotes that nothing has as a text.
        if (part.is(kName, "char") && token(at + 1).is(kMark, "(")) {
          text += characters_from(at);
        } else {
          text += part.text;
        }
      } else if (const auto bytes =
                     part.kind == kBlob ? from_hex(lower_case(part.text)) : std::nullopt) {
        text += *bytes;
      } else {
        return "";
      }
      if (!token(at + 1).is(kMark, "||")) {
        ++at;
        return text;
      }
      ++at;
    }
  }

  // char(111, 115). `at` becomes its last token.
  std::string characters_from(std::size_t& at) {
    std::string text;
    for (at += 2; at < tokens().size() && !token(at).is(kMark, ")"); ++at) {
      const std::string& digits = token(at).text;
      if (token(at).kind == kNumber && digits.size() <= 3 &&
          std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; })) {
        text += static_cast<char>(std::stoi(digits) & 0x7f);
      }
    }
    return text;
  }

  [[nodiscard]] bool follows_vacuum() const {
    return (at_ >= 1 && token(at_ - 1).is(kName, "vacuum")) ||
           (at_ >= 2 && token(at_ - 2).is(kName, "vacuum"));
  }

  [[nodiscard]] bool is_changed() const {
    const std::size_t before = at_ >= 2 && token(at_ - 1).is(kMark, ".") ? at_ - 2 : at_;
    const std::size_t from = before >= 4 ? before - 4 : 0;
    for (std::size_t i = from; i < before; ++i) {
      if (token(i).is(kName, "update") || token(i).is(kName, "insert") ||
          token(i).is(kName, "into") || token(i).is(kName, "delete")) {
        return true;
      }
    }
    return false;
  }

  // The token after the parenthesis at `open` and all that is in it, or after the last token.
  [[nodiscard]] std::size_t behind(std::size_t open) const {
    int depth = 0;
    for (std::size_t i = open; i < tokens().size(); ++i) {
      depth += token(i).is(kMark, "(") ? 1 : token(i).is(kMark, ")") ? -1 : 0;
      if (depth == 0) {
        return i + 1;
      }
    }
    return tokens().size();
  }

  // WITH name(columns) AS (SELECT … UNION ALL SELECT … FROM name): without a condition or a limit,
  // that makes rows forever.
  void recursion(const Token& with) {
    std::size_t at = at_ + (token(at_ + 1).is(kName, "recursive") ? 2 : 1);
    bool limited = false;
    for (std::size_t i = at; i < tokens().size() && !token(i).is(kMark, ";"); ++i) {
      limited = limited || token(i).is(kName, "limit");
    }
    while (!limited && token(at).kind == kName) {
      const std::string& table = token(at).text;
      std::size_t open = token(at + 1).is(kMark, "(") ? behind(at + 1) : at + 1;
      while (token(open).kind == kName) {  // AS NOT MATERIALIZED
        ++open;
      }
      const std::size_t end = behind(open);
      if (goes_on(open, end, table)) {
        add(Kind::kPattern, "endless-loop", with);
      }
      if (!token(end).is(kMark, ",")) {
        return;
      }
      at = end + 1;
    }
  }

  [[nodiscard]] bool goes_on(std::size_t from, std::size_t end, std::string_view table) const {
    bool united = false;
    bool from_itself = false;
    for (std::size_t i = from; i < end; ++i) {
      if (token(i).kind != kName) {
        continue;
      }
      const std::string& word = token(i).text;
      united = united || word == "union";
      if (united && (word == "where" || word == "on" || word == "having")) {
        return false;
      }
      from_itself = from_itself || (united && word == table && !token(i + 1).is(kMark, "."));
    }
    return from_itself;
  }

  void command(const Token& line) {
    const std::vector<std::string> words = sql_command_words(line.text);
    if (words.empty() || words.front().empty()) {
      return;
    }
    const std::string name = "." + words.front();
    bool known = false;
    for (const Known& each : kCommands) {
      if (each.name.starts_with(name)) {
        known = true;
        add(Kind::kName, each.name, line);
        arguments(each.does, words, line);
      }
    }
    if (!known) {
      add(Kind::kName, name, line);
    }
  }

  void arguments(Does does, const std::vector<std::string>& words, const Token& line) {
    std::string script;
    for (std::size_t i = 1; i < words.size(); ++i) {
      const std::string& word = words[i];
      if (does == Does::kShell || does == Does::kCode) {
        const bool quoted = does == Does::kShell && i > 1 && word.find(' ') != word.npos;
        script += (i > 1 ? " " : "") + (quoted ? "\"" + word + "\"" : word);
      } else if (word.starts_with('|')) {
        follow(word.substr(1), line, analyse_shell);
      } else if (!word.starts_with('-')) {
        add_file(does, word, line);
      }
    }
    if (does == Does::kShell) {
      follow(script, line, analyse_shell);
    } else if (does == Does::kCode) {
      follow(script, line, analyse_sql);
    }
  }

  void follow(std::string_view script,
              const Token& line,
              void (*analyse)(std::string_view, std::optional<Inside>, Facts&)) {
    const Inside inside = lines_.inside(line.at);
    if (inside.depth > kMostInside) {
      add(Kind::kPattern, "dynamic-code", line);
    } else {
      analyse(script, inside, facts_);
    }
  }

  const Lines lines_;
  Facts& facts_;
  const SqlTokens script_;
  std::size_t at_ = 0;
};

}  // namespace

void analyse_sql(std::string_view text, std::optional<Inside> inside, Facts& facts) {
  Analysis(text, inside, facts).run();
}

}  // namespace glovebox::analyser
