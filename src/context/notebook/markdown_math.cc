// SPDX-License-Identifier: Apache-2.0
#include "context/notebook/markdown_math.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "context/notebook/math.h"

namespace glovebox::notebook {
namespace {

// Longer formulas are not looked for, so that many lonely dollars cost no more than their number.
constexpr std::size_t kLongestInline = 2'000;
constexpr std::size_t kLongestDisplay = 8'000;

bool is_markdown_blank(char c) { return c == ' ' || c == '\t' || c == '\n'; }

std::string without_marks(std::string_view text) {
  std::string clean;
  clean.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const std::string_view here = text.substr(i, kFormulaBegin.size());
    if (here == kFormulaBegin || here == kFormulaEnd) {
      i += kFormulaBegin.size();
    } else {
      clean += text[i++];
    }
  }
  return clean;
}

class Extractor {
 public:
  explicit Extractor(std::string_view text) : text_(text) {}

  ExtractedMath run() {
    while (at_ < text_.size()) {
      if ((at_ == 0 || text_[at_ - 1] == '\n') && skip_fenced_code()) {
        continue;
      }
      const char c = text_[at_];
      if (c == '`') {
        skip_inline_code();
      } else if (c == '$') {
        dollars();
      } else if (c == '\\') {
        backslash();
      } else {
        copy(1);
      }
    }
    return std::move(result_);
  }

 private:
  void copy(std::size_t size) {
    result_.markdown += text_.substr(at_, size);
    at_ = std::min(at_ + size, text_.size());
  }

  [[nodiscard]] std::size_t run_length(std::size_t from) const {
    const std::size_t end = text_.find_first_not_of(text_[from], from);
    return std::min(end, text_.size()) - from;
  }

  // A fence may stand behind blanks, list marks and quote marks.
  bool skip_fenced_code() {
    const std::size_t fence = text_.find_first_not_of(" \t>", at_);
    if (fence == std::string_view::npos || (text_[fence] != '`' && text_[fence] != '~')) {
      return false;
    }
    const std::size_t length = run_length(fence);
    if (length < 3) {
      return false;
    }
    const char mark = text_[fence];
    std::size_t line = next_line(fence);
    while (line < text_.size()) {
      const std::size_t begin = text_.find_first_not_of(" \t>", line);
      line = next_line(line);
      if (begin != std::string_view::npos && begin < line && text_[begin] == mark &&
          run_length(begin) >= length) {
        break;
      }
    }
    copy(line - at_);
    return true;
  }

  [[nodiscard]] std::size_t next_line(std::size_t from) const {
    const std::size_t end = text_.find('\n', from);
    return end == std::string_view::npos ? text_.size() : end + 1;
  }

  void skip_inline_code() {
    const std::size_t length = run_length(at_);
    for (std::size_t close = text_.find('`', at_ + length);
         close != std::string_view::npos && close - at_ < kLongestDisplay;
         close = text_.find('`', close + run_length(close))) {
      if (run_length(close) == length) {
        copy(close + length - at_);
        return;
      }
    }
    copy(length);
  }

  void dollars() {
    const bool display = text_.substr(at_).starts_with("$$");
    const auto end = display ? closing("$$", at_ + 2, kLongestDisplay) : closing_dollar();
    const std::size_t width = display ? 2 : 1;
    if (!end || *end == at_ + width) {
      copy(width);
      return;
    }
    formula(width, *end, width, display);
  }

  // The rules of Pandoc: no blank inside of the dollars, no digit behind the second, which keeps
  // "$5 and $6" a text.
  [[nodiscard]] std::optional<std::size_t> closing_dollar() const {
    if (at_ + 1 >= text_.size() || is_markdown_blank(text_[at_ + 1])) {
      return std::nullopt;
    }
    const std::size_t limit = std::min(text_.size(), at_ + kLongestInline);
    for (std::size_t i = at_ + 1; i < limit; ++i) {
      const bool ends_paragraph = text_[i] == '\n' && i + 1 < text_.size() && text_[i + 1] == '\n';
      if (text_[i] == '\\') {
        ++i;
      } else if (text_[i] == '`' || ends_paragraph) {
        break;  // Code binds closer.
      } else if (text_[i] == '$') {
        const bool digit_behind =
            i + 1 < text_.size() && text_[i + 1] >= '0' && text_[i + 1] <= '9';
        return is_markdown_blank(text_[i - 1]) || digit_behind ? std::nullopt : std::optional(i);
      }
    }
    return std::nullopt;
  }

  [[nodiscard]] std::optional<std::size_t> closing(std::string_view mark,
                                                   std::size_t from,
                                                   std::size_t longest) const {
    const std::size_t found =
        text_.substr(0, std::min(text_.size(), from + longest)).find(mark, from);
    return found == std::string_view::npos ? std::nullopt : std::optional(found);
  }

  void backslash() {
    const std::string_view rest = text_.substr(at_);
    if (rest.starts_with("\\\\[") || rest.starts_with("\\\\(")) {
      const bool display = rest[2] == '[';
      if (const auto end = closing(display ? "\\\\]" : "\\\\)", at_ + 3, kLongestDisplay)) {
        formula(3, *end, 3, display);
        return;
      }
    }
    if (rest.starts_with("\\begin{")) {
      const std::size_t brace = rest.substr(0, 32).find('}');
      const std::string_view name =
          brace == std::string_view::npos ? std::string_view() : rest.substr(7, brace - 7);
      const std::string mark = "\\end{" + std::string(name) + "}";
      const auto end =
          is_math_environment(name) ? closing(mark, at_ + brace, kLongestDisplay) : std::nullopt;
      if (end) {
        // The environment itself is a part of the formula.
        formula(0, *end + mark.size(), 0, true);
        return;
      }
    }
    copy(2);
  }

  // The formula from here to `end`, between an opening and a closing mark.
  void formula(std::size_t opening, std::size_t end, std::size_t closing_width, bool display) {
    const std::size_t begin = at_;
    at_ = end + closing_width;
    result_.markdown += kFormulaBegin;
    result_.markdown += std::to_string(result_.formulas.size());
    result_.markdown += kFormulaEnd;
    result_.formulas.push_back(
        {.source = std::string(text_.substr(begin, at_ - begin)),
         .latex = std::string(text_.substr(begin + opening, end - begin - opening)),
         .display = display});
  }

  std::string_view text_;
  std::size_t at_ = 0;
  ExtractedMath result_;
};

}  // namespace

ExtractedMath extract_math(std::string_view markdown) {
  const std::string clean = without_marks(markdown);
  return Extractor(clean).run();
}

}  // namespace glovebox::notebook
