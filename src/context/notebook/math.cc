// SPDX-License-Identifier: Apache-2.0
#include "context/notebook/math.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/utf8.h"
#include "context/notebook/markup.h"
#include "context/notebook/math_symbols.h"

namespace glovebox::notebook {
namespace {

constexpr std::size_t kMaxLength = 20'000;
constexpr int kMaxDepth = 60;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

std::string element(const char* name, std::string_view content) {
  return std::string("<") + name + ">" + std::string(content) + "</" + name + ">";
}

std::string text_element(const char* name, std::string_view text) {
  return element(name, escaped(text));
}

// A piece of a formula, and where its limits go.
struct Atom {
  std::string html;
  bool limits_above = false;
  bool space_behind = false;
};

class Parser {
 public:
  Parser(std::string_view text, bool display) : text_(text), display_(display) {}

  std::string run() {
    std::string html = table("", "rl");
    // What closes nothing is passed over, as TeX does after its complaint.
    while (at_ < text_.size()) {
      if (peek() == '}') {
        ++at_;
      } else {
        (void)command();
      }
      html += table("", "rl");
    }
    return html;
  }

 private:
  [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  void skip_blanks() {
    while (at_ < text_.size() && is_blank(text_[at_])) {
      ++at_;
    }
  }

  // The name behind the backslash that stands here: letters, or one character.
  [[nodiscard]] std::string_view peek_command() const {
    if (peek() != '\\') {
      return {};
    }
    std::size_t end = at_ + 1;
    while (end < text_.size() && is_letter(text_[end])) {
      ++end;
    }
    return text_.substr(at_ + 1, std::max<std::size_t>(end - at_ - 1, 1));
  }

  std::string_view command() {
    const std::string_view name = peek_command();
    at_ = std::min(at_ + 1 + name.size(), text_.size());
    return name;
  }

  // The text between braces, or the next character.
  std::string_view raw_argument() {
    skip_blanks();
    if (peek() != '{') {
      const std::size_t begin = at_;
      at_ = std::min(at_ + 1, text_.size());
      return text_.substr(begin, at_ - begin);
    }
    const std::size_t begin = ++at_;
    int open = 1;
    while (at_ < text_.size()) {
      const char c = text_[at_++];
      if (c == '\\' && at_ < text_.size()) {
        ++at_;
      } else if (c == '{') {
        ++open;
      } else if (c == '}' && --open == 0) {
        return text_.substr(begin, at_ - 1 - begin);
      }
    }
    return text_.substr(begin);
  }

  // Without braces it is one character, of a number too.
  std::string argument() {
    skip_blanks();
    if (is_digit(peek())) {
      return element("mrow", text_element("mn", text_.substr(at_++, 1)));
    }
    return element("mrow", at_ < text_.size() && peek() != '}' ? atom().html : "");
  }

  // What ends a row: the caller knows whether it was expected.
  [[nodiscard]] bool at_row_end() const {
    const char c = peek();
    if (at_ >= text_.size() || c == '}' || c == '&') {
      return true;
    }
    const std::string_view name = peek_command();
    return name == "\\" || name == "right" || name == "end" || name == "cr";
  }

  std::string row() {
    std::string html;
    for (skip_blanks(); !at_row_end(); skip_blanks()) {
      html += scripted();
    }
    return html;
  }

  // An optional argument ends with a bracket.
  std::string bracketed_row() {
    std::string html;
    for (skip_blanks(); !at_row_end() && peek() != ']'; skip_blanks()) {
      html += scripted();
    }
    at_ += peek() == ']' ? 1U : 0U;
    return html;
  }

  // Cells between "&", rows between "\\"; a lone cell is not a table.
  std::string table(std::string_view name, std::string_view alignment) {
    std::string rows;
    std::string cells;
    bool alone = true;
    std::size_t column = 0;
    const auto end_cell = [&](const std::string& cell) {
      const char side = alignment.empty() ? 'c' : alignment[column % alignment.size()];
      cells += side == 'c'   ? "<mtd>"
               : side == 'r' ? "<mtd class=\"right\">"
                             : "<mtd class=\"left\">";
      cells += cell + "</mtd>";
      ++column;
    };
    std::string cell = row();
    for (;;) {
      const std::string_view next = peek_command();
      if (peek() == '&') {
        ++at_;
        end_cell(cell);
        alone = false;
      } else if (next == "\\" || next == "cr") {
        (void)command();
        skip_line_gap();
        end_cell(cell);
        rows += element("mtr", cells);
        cells.clear();
        column = 0;
        alone = false;
      } else {
        break;
      }
      cell = row();
    }
    if (alone && (name.empty() || name == "equation" || name == "equation*")) {
      return cell;
    }
    if (!cell.empty() || !cells.empty()) {
      end_cell(cell);
      rows += element("mtr", cells);
    }
    return (alignment.starts_with('r') ? "<mtable displaystyle=\"true\">" : "<mtable>") + rows +
           "</mtable>";
  }

  // "\\[2pt]" asks for a wider gap.
  void skip_line_gap() {
    if (peek() == '[') {
      const std::size_t end = text_.find(']', at_);
      at_ = end == std::string_view::npos || end - at_ > 12 ? at_ : end + 1;
    }
  }

  std::string scripted() {
    Atom base = atom();
    const char* const space = base.space_behind ? "<mspace width=\"0.17em\"></mspace>" : "";
    std::string below;
    std::string above;
    for (;;) {
      skip_blanks();
      const char c = peek();
      if (c == '^' && above.empty()) {
        ++at_;
        above = argument();
      } else if (c == '_' && below.empty()) {
        ++at_;
        below = argument();
      } else if (c == '\'') {
        ++at_;
        above += "<mo>′</mo>";
      } else if (peek_command() == "limits" || peek_command() == "nolimits") {
        base.limits_above = command() == "limits";
      } else {
        break;
      }
    }
    if (below.empty() && above.empty()) {
      return base.html + space;
    }
    const bool outside = base.limits_above;
    const std::string html = element("mrow", base.html);
    if (above.empty()) {
      return element(outside ? "munder" : "msub", html + element("mrow", below)) + space;
    }
    if (below.empty()) {
      return element(outside ? "mover" : "msup", html + element("mrow", above)) + space;
    }
    return element(outside ? "munderover" : "msubsup",
                   html + element("mrow", below) + element("mrow", above)) +
           space;
  }

  Atom atom() {
    if (++depth_ > kMaxDepth) {
      --depth_;
      const std::string_view rest = text_.substr(at_);
      at_ = text_.size();
      return {text_element("mtext", rest)};
    }
    Atom result = atom_within();
    --depth_;
    return result;
  }

  Atom atom_within() {
    skip_blanks();
    const char c = peek();
    if (c == '{') {
      ++at_;
      std::string html = table("", "rl");
      at_ += peek() == '}' ? 1U : 0U;
      return {element("mrow", html)};
    }
    if (c == '^' || c == '_') {
      return {};
    }
    if (c == '\\') {
      return from_command(command());
    }
    if (is_digit(c)) {
      const std::size_t begin = at_;
      while (is_digit(peek()) ||
             (peek() == '.' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1]))) {
        ++at_;
      }
      return {text_element("mn", text_.substr(begin, at_ - begin))};
    }
    const std::size_t begin = at_++;
    while (at_ < text_.size() && continues_character(text_[at_])) {
      ++at_;
    }
    const std::string_view character = text_.substr(begin, at_ - begin);
    if (is_letter(c) || static_cast<unsigned char>(c) >= 0x80) {
      return {text_element("mi", character)};
    }
    if (c == '~') {
      return {"<mspace width=\"0.3em\"></mspace>"};
    }
    return {c == '-' ? "<mo>−</mo>" : fence_or_operator(character)};
  }

  // Brackets do not stretch unless \left says so.
  static std::string fence_or_operator(std::string_view text) {
    const bool is_fence = text.find_first_of("()[]{}|/") != std::string_view::npos;
    if (!is_fence) {
      return text_element("mo", text);
    }
    // A bar may open or close: which, only the reader knows, so it gets no space of its own.
    return (text == "|" ? "<mo stretchy=\"false\" lspace=\"0\" rspace=\"0\">"
                        : "<mo stretchy=\"false\">") +
           escaped(text) + "</mo>";
  }

  Atom from_command(std::string_view name) {
    if (const MathSymbol* const symbol = find_math_symbol(name)) {
      return from_symbol(*symbol);
    }
    if (const MathAccent accent = find_math_accent(name); !accent.text.empty()) {
      const bool is_brace = name.ends_with("brace");
      const std::string mark = std::string("<mo stretchy=\"") +
                               (name.size() > 5 ? "true" : "false") + "\">" + escaped(accent.text) +
                               "</mo>";
      const std::string base = argument();
      return {accent.below ? element("munder", base + mark)
                           : "<mover accent=\"true\">" + base + mark + "</mover>",
              is_brace};
    }
    if (name == "frac" || name == "dfrac" || name == "tfrac" || name == "cfrac") {
      const std::string above = argument();
      return {element("mfrac", above + argument())};
    }
    if (name == "binom" || name == "dbinom") {
      const std::string above = argument();
      return {"<mrow><mo>(</mo><mfrac linethickness=\"0\">" + above + argument() +
              "</mfrac><mo>)</mo></mrow>"};
    }
    if (name == "sqrt") {
      return root();
    }
    if (name == "left") {
      return fenced();
    }
    if (name == "begin") {
      return environment();
    }
    if (name == "mathbb" || name == "mathcal" || name == "mathscr" || name == "mathfrak" ||
        name == "mathbf" || name == "boldsymbol" || name == "bm" || name == "Bbb") {
      return in_alphabet(name);
    }
    if (name == "text" || name == "textrm" || name == "textbf" || name == "textit" ||
        name == "mbox" || name == "texttt" || name == "hbox") {
      return {text_element("mtext", with_hard_blanks(raw_argument()))};
    }
    if (name == "operatorname" || name == "mathrm" || name == "mathsf" || name == "mathtt") {
      if (peek() == '*') {
        ++at_;
      }
      return {"<mi mathvariant=\"normal\">" + escaped(plain_name(raw_argument())) + "</mi>"};
    }
    return from_rare_command(name);
  }

  Atom from_rare_command(std::string_view name) {
    if (name == "overset" || name == "stackrel" || name == "underset") {
      const std::string mark = argument();
      return {element(name == "underset" ? "munder" : "mover", argument() + mark)};
    }
    if (name == "not") {
      skip_blanks();
      return {element("mrow", "<mpadded width=\"0\"><mo≯</mo></mpadded>" + argument())};
    }
    if (name == "boxed") {
      return {"<mrow class=\"boxed\">" + argument() + "</mrow>"};
    }
    if (name == "substack") {
      skip_blanks();
      at_ += peek() == '{' ? 1U : 0U;
      std::string html = table("", "");
      at_ += peek() == '}' ? 1U : 0U;
      return {html};
    }
    if (name == "pmod") {
      return {
          "<mrow><mspace width=\"0.5em\"></mspace><mo stretchy=\"false\">(</mo><mi>mod</mi>"
          "<mspace width=\"0.3em\"></mspace>" +
          argument() + "<mo stretchy=\"false\">)</mo></mrow>"};
    }
    if (name == "tag") {
      return {"<mspace width=\"2em\"></mspace><mtext>(" + escaped(raw_argument()) + ")</mtext>"};
    }
    if (name == "label" || name == "color" || name == "hspace" || name == "vspace" ||
        name == "phantom") {
      (void)raw_argument();
      return {};
    }
    // Sizes and hints, for which MathML has its own rules.
    constexpr auto kIgnored = std::to_array<std::string_view>(
        {"big",          "Big",       "bigg",        "Bigg",    "bigl",     "bigr",
         "Bigl",         "Bigr",      "biggl",       "biggr",   "Biggl",    "Biggr",
         "displaystyle", "textstyle", "scriptstyle", "limits",  "nolimits", "nonumber",
         "notag",        "rm",        "bf",          "it",      "middle",   "hline",
         "mathit",       "mathstrut", "mathop",      "mathrel", "mathbin",  "hfill"});
    if (std::ranges::find(kIgnored, name) != kIgnored.end()) {
      return {};
    }
    return {text_element("mtext", "\\" + std::string(name))};
  }

  [[nodiscard]] Atom from_symbol(const MathSymbol& symbol) const {
    switch (symbol.kind) {
      case MathSymbol::Kind::kIdentifier:
        return {text_element("mi", symbol.text)};
      case MathSymbol::Kind::kOperator:
        return {symbol.text.size() == 1 ? fence_or_operator(symbol.text)
                                        : text_element("mo", symbol.text)};
      case MathSymbol::Kind::kLarge:
        return {"<mo largeop=\"true\" movablelimits=\"true\">" + escaped(symbol.text) + "</mo>",
                true};
      case MathSymbol::Kind::kIntegral:
        return {"<mo largeop=\"true\">" + escaped(symbol.text) + "</mo>"};
      case MathSymbol::Kind::kFunction:
        return {text_element("mi", symbol.text), false, true};
      case MathSymbol::Kind::kLimit:
        return {"<mo movablelimits=\"true\">" + escaped(symbol.text) + "</mo>", display_};
      case MathSymbol::Kind::kSpace:
        return {"<mspace width=\"" + std::string(symbol.text) + "\"></mspace>"};
    }
    return {};
  }

  Atom root() {
    skip_blanks();
    if (peek() != '[') {
      return {element("msqrt", argument())};
    }
    ++at_;
    const std::string degree = element("mrow", bracketed_row());
    return {element("mroot", argument() + degree)};
  }

  // The bracket behind \left or \right; "." means none.
  std::string delimiter() {
    skip_blanks();
    std::string_view text;
    if (peek() == '\\') {
      const MathSymbol* const symbol = find_math_symbol(command());
      text = symbol == nullptr ? std::string_view() : symbol->text;
    } else {
      text = text_.substr(at_, 1);
      at_ = std::min(at_ + 1, text_.size());
    }
    return text.empty() || text == "." ? "" : "<mo stretchy=\"true\">" + escaped(text) + "</mo>";
  }

  Atom fenced() {
    std::string html = delimiter();
    html += table("", "rl");
    if (peek_command() == "right") {
      (void)command();
      html += delimiter();
    }
    return {element("mrow", html)};
  }

  Atom environment() {
    const std::string_view name = raw_argument();
    const MathEnvironment* const known = find_math_environment(name);
    std::string_view alignment = known == nullptr ? "" : known->alignment;
    std::string columns;
    if (name == "array") {
      for (const char c : raw_argument()) {
        columns += c == 'l' || c == 'r' || c == 'c' ? std::string(1, c) : "";
      }
      alignment = columns;
    }
    std::string html = table(name, alignment);
    if (peek_command() == "end") {
      (void)command();
      (void)raw_argument();
    }
    if (known == nullptr) {
      return {element("mrow", text_element("mtext", "\\begin{" + std::string(name) + "}") + html)};
    }
    const auto bracket = [](std::string_view text) {
      return text.empty() ? "" : "<mo stretchy=\"true\">" + escaped(text) + "</mo>";
    };
    return {element("mrow", bracket(known->open) + html + bracket(known->close))};
  }

  Atom in_alphabet(std::string_view name) {
    const std::string_view alphabet = name == "mathscr" ? "mathcal"
                                      : name == "Bbb"   ? "mathbb"
                                      : name[0] == 'b'  ? "mathbf"
                                                        : name;
    skip_blanks();
    const std::size_t begin = at_;
    const std::string_view letters = raw_argument();
    if (letters.empty() || !std::ranges::all_of(letters, [](char c) {
          return is_letter(c) || is_digit(c) || c == ' ';
        })) {
      // \boldsymbol{\beta}: what is not a letter is shown as it is.
      at_ = begin;
      return {"<mrow class=\"bold\">" + argument() + "</mrow>"};
    }
    std::string text;
    for (const char c : letters) {
      text += c == ' ' ? "" : math_letter(alphabet, c);
    }
    return {element("mi", text)};
  }

  // MathML drops blanks at the ends of a text.
  static std::string with_hard_blanks(std::string_view text) {
    std::string hard;
    for (const char c : text) {
      hard += c == ' ' ? std::string("\u00a0") : std::string(1, c);
    }
    return hard;
  }

  // \mathrm{d\,x} and the like: commands have no place in a name.
  static std::string plain_name(std::string_view text) {
    std::string name;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\\') {
        name += i + 1 < text.size() && !is_letter(text[i + 1]) ? " " : "\\";
        i += i + 1 < text.size() && !is_letter(text[i + 1]) ? 1U : 0U;
      } else if (text[i] != '{' && text[i] != '}') {
        name += text[i];
      }
    }
    return name;
  }

  std::string_view text_;
  bool display_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

std::string latex_to_mathml(std::string_view latex, bool display) {
  std::string html = display ? "<math display=\"block\">" : "<math>";
  html +=
      "<mrow>" +
      (latex.size() > kMaxLength ? text_element("mtext", latex) : Parser(latex, display).run()) +
      "</mrow></math>";
  return html;
}

bool is_math_environment(std::string_view name) { return find_math_environment(name) != nullptr; }

}  // namespace glovebox::notebook
