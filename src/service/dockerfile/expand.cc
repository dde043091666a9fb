// SPDX-License-Identifier: Apache-2.0
#include "service/dockerfile/expand.h"

namespace glovebox::dockerfile {
namespace {

constexpr std::size_t kMaxExpanded = 64UL * 1024;
constexpr int kMaxDepth = 8;

bool starts_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool continues_name(char c) { return starts_name(c) || (c >= '0' && c <= '9'); }

class Expander {
 public:
  Expander(std::string_view text, const Lookup& lookup, Quotes quotes)
      : text_(text), lookup_(lookup), quotes_(quotes) {}

  Result<std::string> run() { return sequence(0); }

 private:
  [[nodiscard]] bool at_end() const { return at_ == text_.size(); }
  [[nodiscard]] bool sees(char c) const { return !at_end() && text_[at_] == c; }

  Result<void> add(std::string& out, std::string_view more) const {
    if (out.size() + more.size() > kMaxExpanded) {
      return Error(ErrorCode::kInvalid, "the expanded text is longer than 64 KiB");
    }
    out += more;
    return {};
  }

  // Up to the end or, within braces, to the one that closes them.
  Result<std::string> sequence(int depth) {
    std::string out;
    bool quoted = false;
    while (!at_end() && (depth == 0 || quoted || !sees('}'))) {
      const char c = text_[at_++];
      if (c == '\\' && !at_end()) {
        GB_TRY(escape(out, quoted));
      } else if (c == '$') {
        GB_TRY(add(out, GB_TRY(variable(depth))));
      } else if (c == '"' && quotes_ == Quotes::kRemoved) {
        quoted = !quoted;
      } else if (c == '\'' && quotes_ == Quotes::kRemoved && !quoted) {
        const std::size_t end = text_.find('\'', at_);
        if (end == std::string_view::npos) {
          return Error(ErrorCode::kInvalid, "a single quote is not closed");
        }
        GB_TRY(add(out, text_.substr(at_, end - at_)));
        at_ = end + 1;
      } else {
        GB_TRY(add(out, std::string_view(&c, 1)));
      }
    }
    if (quoted) {
      return Error(ErrorCode::kInvalid, "a double quote is not closed");
    }
    return out;
  }

  // In double quotes, a backslash in front of an ordinary character stays.
  Result<void> escape(std::string& out, bool quoted) {
    const char next = text_[at_++];
    const bool special = next == '"' || next == '$' || next == '\\';
    const bool stays = (quoted && !special) || (quotes_ == Quotes::kKept && next != '$');
    return add(out, (stays ? std::string("\\") : std::string()) + next);
  }

  std::string_view name() {
    const std::size_t begin = at_;
    while (!at_end() && continues_name(text_[at_])) {
      ++at_;
    }
    return text_.substr(begin, at_ - begin);
  }

  // After its "$".
  Result<std::string> variable(int depth) {
    if (!sees('{')) {
      if (at_end() || !starts_name(text_[at_])) {
        return std::string("$");
      }
      return lookup_(name()).value_or("");
    }
    ++at_;
    if (at_end() || !starts_name(text_[at_])) {
      return Error(ErrorCode::kInvalid, "'${' without the name of a variable");
    }
    const std::optional<std::string> value = lookup_(name());
    if (sees('}')) {
      ++at_;
      return value.value_or("");
    }
    const std::string_view how = text_.substr(at_, 2);
    if (how != ":-" && how != ":+") {
      return Error(ErrorCode::kInvalid,
                   "only ${NAME}, ${NAME:-WORD} and ${NAME:+WORD} are supported");
    }
    at_ += 2;
    if (depth == kMaxDepth) {
      return Error(ErrorCode::kInvalid, "variables are nested too deeply");
    }
    std::string other = GB_TRY(sequence(depth + 1));
    if (!sees('}')) {
      return Error(ErrorCode::kInvalid, "'${' is not closed");
    }
    ++at_;
    const bool set = value && !value->empty();
    return how == ":-" ? (set ? *value : std::move(other)) : (set ? std::move(other) : "");
  }

  const std::string_view text_;
  const Lookup& lookup_;
  const Quotes quotes_;
  std::size_t at_ = 0;
};

}  // namespace

Result<std::string> expand(std::string_view word, const Lookup& lookup, Quotes quotes) {
  return Expander(word, lookup, quotes).run();
}

}  // namespace glovebox::dockerfile
