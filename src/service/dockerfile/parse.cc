// SPDX-License-Identifier: Apache-2.0
#include "service/dockerfile/parse.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/json/json.h"
#include "base/text.h"
#include "spec/json/bounded_json.h"

namespace glovebox::dockerfile {
namespace {

using Kind = Instruction::Kind;

constexpr std::size_t kMaxText = 1UL << 20;
constexpr std::size_t kMaxInstruction = 128UL * 1024;
constexpr std::size_t kMostInstructions = 1'000;
constexpr std::size_t kMostStages = 64;
constexpr std::size_t kMostWords = 1'000;
constexpr std::string_view kBlank = " \t\r\v\f";

struct Supported {
  std::string_view name;
  Kind kind;
};
constexpr std::array<Supported, 15> kSupported = {{{"FROM", Kind::kFrom},
                                                   {"ARG", Kind::kArg},
                                                   {"RUN", Kind::kRun},
                                                   {"COPY", Kind::kCopy},
                                                   {"ADD", Kind::kAdd},
                                                   {"ENV", Kind::kEnv},
                                                   {"WORKDIR", Kind::kWorkdir},
                                                   {"USER", Kind::kUser},
                                                   {"SHELL", Kind::kShell},
                                                   {"CMD", Kind::kCmd},
                                                   {"ENTRYPOINT", Kind::kEntrypoint},
                                                   {"LABEL", Kind::kLabel},
                                                   {"EXPOSE", Kind::kExpose},
                                                   {"VOLUME", Kind::kVolume},
                                                   {"STOPSIGNAL", Kind::kStopSignal}}};

struct Unsupported {
  std::string_view name;
  std::string_view hint;
};
constexpr std::array<Unsupported, 3> kUnsupported = {
    {{"HEALTHCHECK", "remove it; a recipe's 'ready' waits for a command to succeed"},
     {"ONBUILD", "write its instruction into the Dockerfile of the template that needs it"},
     {"MAINTAINER", "use LABEL maintainer=NAME"}}};

struct FlagRule {
  Kind kind;
  std::string_view name;
};
constexpr std::array<FlagRule, 1> kFlags = {{{Kind::kCopy, "from"}}};

bool is_blank(char c) { return kBlank.find(c) != std::string_view::npos; }

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kBlank);
  return begin == std::string_view::npos
             ? std::string_view()
             : text.substr(begin, text.find_last_not_of(kBlank) + 1 - begin);
}

std::string upper(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  });
  return out;
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  });
  return out;
}

bool takes_inline_file(Kind kind) {
  return kind == Kind::kRun || kind == Kind::kCopy || kind == Kind::kAdd;
}

// "<<NAME", "<<-NAME", "<<'NAME'" or "<<\"NAME\"" as a word of its own.
struct Delimiter {
  std::string name;
  bool strips_tabs = false;
  bool quoted = false;
};
std::optional<Delimiter> delimiter_in(std::string_view word) {
  Delimiter delimiter;
  if (!word.starts_with("<<")) {
    return std::nullopt;
  }
  word.remove_prefix(2);
  if (word.starts_with('-')) {
    delimiter.strips_tabs = true;
    word.remove_prefix(1);
  }
  if (word.size() > 2 && (word.front() == '"' || word.front() == '\'') &&
      word.back() == word.front()) {
    delimiter.quoted = true;
    word = word.substr(1, word.size() - 2);
  }
  const bool plain = !word.empty() && word.size() <= 64 && std::ranges::all_of(word, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
  if (!plain) {
    return std::nullopt;
  }
  delimiter.name = word;
  return delimiter;
}

// Words as they are written, apart at blanks outside of quotes.
Result<std::vector<std::string>> split(std::string_view text, std::size_t line) {
  std::vector<std::string> words;
  std::string word;
  char quote = '\0';
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote == '\0' && is_blank(c)) {
      if (!word.empty()) {
        words.push_back(std::move(word));
        word.clear();
      }
      continue;
    }
    word += c;
    if (c == '\\' && quote != '\'' && i + 1 < text.size()) {
      word += text[++i];
    } else if (quote == '\0' && (c == '"' || c == '\'')) {
      quote = c;
    } else if (c == quote) {
      quote = '\0';
    }
    if (words.size() == kMostWords) {
      return at_line(line, ErrorCode::kInvalid, "more than 1000 words");
    }
  }
  if (quote != '\0') {
    return at_line(line, ErrorCode::kInvalid, std::string("unmatched ") + quote);
  }
  if (!word.empty()) {
    words.push_back(std::move(word));
  }
  return words;
}

// The words of a JSON list; nothing if it is not one.
std::optional<std::vector<std::string>> strings_in(std::string_view text) {
  if (!text.starts_with('[')) {
    return std::nullopt;
  }
  const auto list = parse_json(text, {.values = kMostWords, .depth = 2});
  if (!list || !list->is_array()) {
    return std::nullopt;
  }
  std::vector<std::string> words;
  for (const auto& word : *list) {
    if (!word.is_string() || word.get_ref<const std::string&>().find('\0') != std::string::npos) {
      return std::nullopt;
    }
    words.push_back(word.get<std::string>());
  }
  return words;
}

class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {}

  [[nodiscard]] bool at_end() const { return rest_.empty(); }
  // Of the line that next() has returned.
  [[nodiscard]] std::size_t number() const { return number_; }

  std::string_view next() {
    std::string_view line = rest_.substr(0, rest_.find('\n'));
    rest_.remove_prefix(std::min(rest_.size(), line.size() + 1));
    ++number_;
    return line.ends_with('\r') ? line.substr(0, line.size() - 1) : line;
  }

 private:
  std::string_view rest_;
  std::size_t number_ = 0;
};

class Parser {
 public:
  explicit Parser(std::string_view text) : lines_(text) {}

  Result<Dockerfile> run() {
    while (!lines_.at_end()) {
      const std::string_view line = trimmed(lines_.next());
      if (line.starts_with('#')) {
        GB_TRY(check_comment(line));
        continue;
      }
      in_head_ = false;
      if (!line.empty()) {
        GB_TRY(take(GB_TRY(instruction(line))));
      }
    }
    if (file_.stages.empty()) {
      return Error(ErrorCode::kInvalid, "the Dockerfile has no FROM instruction",
                   "begin with FROM and the name of a template, for example: FROM default");
    }
    return std::move(file_);
  }

 private:
  // Of the directives in the first comments, one changes what the rest means.
  Result<void> check_comment(std::string_view comment) const {
    std::string directive = lower(comment.substr(1));
    std::erase_if(directive, is_blank);
    if (in_head_ && directive.starts_with("escape=") && directive != "escape=\\") {
      return at_line(lines_.number(), ErrorCode::kUnsupported,
                     "only the backslash is supported as the escape character");
    }
    return {};
  }

  // The whole of an instruction: lines that end with a backslash continue; comments and empty lines
  // between them are left out.
  Result<std::string> joined(std::string_view first, std::size_t line) {
    std::string whole;
    for (std::string_view part = first;;) {
      const bool goes_on = part.ends_with('\\');
      whole += goes_on ? part.substr(0, part.size() - 1) : part;
      if (whole.size() > kMaxInstruction) {
        return at_line(line, ErrorCode::kInvalid, "the instruction is longer than 128 KiB");
      }
      if (!goes_on) {
        return whole;
      }
      std::string_view next;
      do {
        if (lines_.at_end()) {
          return whole;
        }
        next = lines_.next();
      } while (trimmed(next).empty() || trimmed(next).starts_with('#'));
      // Leading blanks belong to a text that continues; blanks after a backslash do not.
      part = next.substr(0, next.find_last_not_of(kBlank) + 1);
    }
  }

  Result<Instruction> instruction(std::string_view first) {
    const std::size_t line = lines_.number();
    const std::string whole = GB_TRY(joined(first, line));
    if (whole.find('\0') != std::string::npos) {
      return at_line(line, ErrorCode::kInvalid, "the instruction contains a NUL byte");
    }
    const std::string_view name =
        std::string_view(whole).substr(0, std::min(whole.find_first_of(kBlank), whole.size()));
    Instruction made{.kind = GB_TRY(kind_of(name, line)), .line = line};
    std::string_view rest = trimmed(std::string_view(whole).substr(name.size()));
    made.title = upper(name) + (rest.empty() ? "" : " " + std::string(rest));
    GB_TRY(take_flags(made, rest));
    if (rest.empty()) {
      return at_line(line, ErrorCode::kInvalid, upper(name) + " without an argument");
    }
    GB_TRY(take_rest(made, rest));
    return made;
  }

  static Result<Kind> kind_of(std::string_view name, std::size_t line) {
    const std::string wanted = upper(name.substr(0, 64));
    for (const Supported& each : kSupported) {
      if (each.name == wanted) {
        return each.kind;
      }
    }
    for (const Unsupported& each : kUnsupported) {
      if (each.name == wanted) {
        return at_line(line, ErrorCode::kUnsupported, wanted + " is not supported",
                       std::string(each.hint));
      }
    }
    return at_line(line, ErrorCode::kInvalid, "unknown instruction '" + printable(wanted) + "'");
  }

  static Result<void> take_flags(Instruction& made, std::string_view& rest) {
    while (rest.starts_with("--")) {
      const std::string_view word =
          rest.substr(0, std::min(rest.find_first_of(kBlank), rest.size()));
      const std::size_t equals = std::min(word.find('='), word.size());
      const std::string_view name = word.substr(2, equals - 2);
      const bool known = std::ranges::any_of(kFlags, [&](const FlagRule& rule) {
        return rule.kind == made.kind && rule.name == name;
      });
      if (!known || equals == word.size()) {
        return at_line(made.line, ErrorCode::kUnsupported,
                       "the option '" + printable(word.substr(0, 128)) + "' is not supported",
                       name == "chmod" || name == "chown"
                           ? "change the file with RUN; files of a template's root belong to root"
                           : "remove it");
      }
      made.flags.emplace_back(name, word.substr(equals + 1));
      rest = trimmed(rest.substr(word.size()));
    }
    return {};
  }

  Result<void> take_rest(Instruction& made, std::string_view rest) {
    const bool shell_or_exec = made.kind == Kind::kRun || made.kind == Kind::kCmd ||
                               made.kind == Kind::kEntrypoint || made.kind == Kind::kShell ||
                               made.kind == Kind::kCopy || made.kind == Kind::kAdd ||
                               made.kind == Kind::kVolume;
    if (auto words = shell_or_exec ? strings_in(rest) : std::nullopt) {
      made.exec = true;
      made.words = *std::move(words);
    } else if (made.kind == Kind::kShell) {
      return at_line(made.line, ErrorCode::kInvalid, "SHELL takes a JSON list of strings",
                     R"(for example: SHELL ["/bin/bash", "-c"])");
    } else if (made.kind == Kind::kRun || made.kind == Kind::kCmd ||
               made.kind == Kind::kEntrypoint) {
      made.text = rest;
    } else {
      made.words = GB_TRY(split(rest, made.line));
    }
    const bool takes_none = made.kind == Kind::kCmd || made.kind == Kind::kEntrypoint;
    if (made.exec && made.words.empty() && !takes_none) {
      return at_line(made.line, ErrorCode::kInvalid, "an empty list");
    }
    if (takes_inline_file(made.kind) && !made.exec) {
      GB_TRY(take_inline_file(made, rest));
    }
    return check_count(made);
  }

  Result<void> take_inline_file(Instruction& made, std::string_view rest) {
    // What a shell reads need not be words for us.
    const auto words = split(rest, made.line);
    if (!words) {
      return {};
    }
    std::optional<Delimiter> delimiter;
    std::size_t count = 0;
    for (const std::string& word : *words) {
      if (auto found = delimiter_in(word)) {
        delimiter = std::move(found);
        ++count;
      }
    }
    if (count == 0) {
      return {};
    }
    if (count > 1) {
      return at_line(made.line, ErrorCode::kUnsupported,
                     "more than one here-document in an instruction");
    }
    std::string content = GB_TRY(inline_text(*delimiter, made.line));
    if (made.kind == Kind::kRun) {
      // A shell reads its own here-document; if nothing else is there, that is the script.
      made.text = delimiter_in(rest) ? std::move(content)
                                     : std::string(rest) + "\n" + content + delimiter->name + "\n";
      return {};
    }
    std::erase_if(made.words,
                  [](const std::string& word) { return delimiter_in(word).has_value(); });
    made.inline_file = Instruction::Inline{.name = delimiter->name,
                                           .content = std::move(content),
                                           .expanded = !delimiter->quoted};
    return {};
  }

  Result<std::string> inline_text(const Delimiter& delimiter, std::size_t line) {
    std::string content;
    while (!lines_.at_end()) {
      std::string_view next = lines_.next();
      while (delimiter.strips_tabs && next.starts_with('\t')) {
        next.remove_prefix(1);
      }
      if (next == delimiter.name) {
        return content;
      }
      content.append(next) += '\n';
      if (content.size() > kMaxInstruction) {
        return at_line(line, ErrorCode::kInvalid, "the here-document is longer than 128 KiB");
      }
    }
    return at_line(line, ErrorCode::kInvalid,
                   "the here-document does not end with a line '" + delimiter.name + "'");
  }

  static Result<void> check_count(const Instruction& made) {
    const std::size_t count = made.words.size();
    switch (made.kind) {
      case Kind::kCopy:
      case Kind::kAdd:
        if (count + (made.inline_file ? 1 : 0) < 2) {
          return at_line(made.line, ErrorCode::kInvalid, "expected a source and a target");
        }
        return {};
      case Kind::kWorkdir:
      case Kind::kUser:
      case Kind::kStopSignal:
        if (count != 1) {
          return at_line(made.line, ErrorCode::kInvalid, "expected exactly one argument",
                         "put it in quotes if it contains spaces");
        }
        return {};
      default:
        return {};
    }
  }

  Result<void> take(Instruction made) {
    if (++count_ > kMostInstructions) {
      return at_line(made.line, ErrorCode::kInvalid, "more than 1000 instructions");
    }
    if (made.kind == Kind::kFrom) {
      return begin_stage(std::move(made));
    }
    if (!file_.stages.empty()) {
      file_.stages.back().steps.push_back(std::move(made));
      return {};
    }
    if (made.kind != Kind::kArg) {
      return at_line(made.line, ErrorCode::kInvalid, "expected FROM before this instruction");
    }
    file_.args.push_back(std::move(made));
    return {};
  }

  Result<void> begin_stage(Instruction from) {
    const std::vector<std::string>& words = from.words;
    const bool named = words.size() == 3 && upper(words[1]) == "AS";
    if (words.size() != 1 && !named) {
      return at_line(from.line, ErrorCode::kInvalid,
                     "expected FROM TEMPLATE or FROM TEMPLATE AS NAME");
    }
    if (file_.stages.size() == kMostStages) {
      return at_line(from.line, ErrorCode::kInvalid, "more than 64 stages");
    }
    const std::string name = named ? lower(words[2]) : "";
    for (const Stage& stage : file_.stages) {
      if (named && stage.name == name) {
        return at_line(from.line, ErrorCode::kInvalid,
                       "another stage is called '" + printable(name) + "'");
      }
    }
    std::string image = words[0];
    file_.stages.push_back(
        {.from = std::move(from), .image = std::move(image), .name = name, .steps = {}});
    return {};
  }

  Lines lines_;
  Dockerfile file_;
  std::size_t count_ = 0;
  bool in_head_ = true;
};

}  // namespace

Error at_line(std::size_t line, ErrorCode code, const std::string& why, std::string hint) {
  return {code, "line " + std::to_string(line) + ": " + why, std::move(hint)};
}

Result<Dockerfile> parse(std::string_view text) {
  if (text.size() > kMaxText) {
    return Error(ErrorCode::kInvalid, "the Dockerfile is larger than 1 MiB");
  }
  if (text.starts_with("\xEF\xBB\xBF")) {
    text.remove_prefix(3);
  }
  return Parser(text).run();
}

}  // namespace glovebox::dockerfile
