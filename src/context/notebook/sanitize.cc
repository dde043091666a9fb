// SPDX-License-Identifier: Apache-2.0
#include "context/notebook/sanitize.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "context/notebook/html_tokens.h"
#include "context/notebook/markup.h"

namespace glovebox::notebook {
namespace {

constexpr std::size_t kMaxDepth = 64;
constexpr std::size_t kLongestValue = 100;

enum class Model {
  kInline,
  kBlock,  // Ends a paragraph.
  kVoid,
  kTable,
  kSection,  // Part of a table.
  kRow,
  kCell,
  kCaption,
};

struct Element {
  std::string_view name;
  Model model;
};

// Sorted.
constexpr auto kElements = std::to_array<Element>({
    {"a", Model::kInline},         {"abbr", Model::kInline},   {"b", Model::kInline},
    {"blockquote", Model::kBlock}, {"br", Model::kVoid},       {"caption", Model::kCaption},
    {"center", Model::kBlock},     {"code", Model::kInline},   {"dd", Model::kBlock},
    {"del", Model::kInline},       {"details", Model::kBlock}, {"div", Model::kBlock},
    {"dl", Model::kBlock},         {"dt", Model::kBlock},      {"em", Model::kInline},
    {"font", Model::kInline},      {"h1", Model::kBlock},      {"h2", Model::kBlock},
    {"h3", Model::kBlock},         {"h4", Model::kBlock},      {"h5", Model::kBlock},
    {"h6", Model::kBlock},         {"hr", Model::kVoid},       {"i", Model::kInline},
    {"img", Model::kVoid},         {"ins", Model::kInline},    {"kbd", Model::kInline},
    {"li", Model::kBlock},         {"mark", Model::kInline},   {"ol", Model::kBlock},
    {"p", Model::kBlock},          {"pre", Model::kBlock},     {"s", Model::kInline},
    {"samp", Model::kInline},      {"small", Model::kInline},  {"span", Model::kInline},
    {"strong", Model::kInline},    {"sub", Model::kInline},    {"summary", Model::kBlock},
    {"sup", Model::kInline},       {"table", Model::kTable},   {"tbody", Model::kSection},
    {"td", Model::kCell},          {"tfoot", Model::kSection}, {"th", Model::kCell},
    {"thead", Model::kSection},    {"tr", Model::kRow},        {"tt", Model::kInline},
    {"u", Model::kInline},         {"ul", Model::kBlock},      {"var", Model::kInline},
});
static_assert(std::ranges::is_sorted(kElements, {}, &Element::name));

const Element* find_element(std::string_view name) {
  const auto* const found = std::ranges::lower_bound(kElements, name, {}, &Element::name);
  return found != kElements.end() && found->name == name ? found : nullptr;
}

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

// Elements that go with all that is in them: their text is not for reading, or they change how the
// browser reads what follows.
bool is_dropped_whole(std::string_view name) {
  return is_one_of(name, {"script", "style", "iframe", "object", "template", "noscript", "textarea",
                          "title", "select", "xmp", "plaintext", "noembed", "noframes", "svg",
                          "math", "head", "audio", "video", "canvas"});
}

bool has_safe_characters(std::string_view value) {
  return std::ranges::all_of(value, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view(" #%.,()-+").find(c) != std::string_view::npos;
  });
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\n\r\f");
  return begin == std::string_view::npos
             ? std::string_view()
             : text.substr(begin, text.find_last_not_of(" \t\n\r\f") - begin + 1);
}

// The declarations that colour and align; nothing that could move content elsewhere on the page or
// load anything. The only functions are those of colours.
std::string safe_style(std::string_view style) {
  std::string safe;
  while (!style.empty()) {
    const std::size_t end = std::min(style.find(';'), style.size());
    const std::string_view declaration = style.substr(0, end);
    style.remove_prefix(std::min(end + 1, style.size()));
    const std::size_t colon = declaration.find(':');
    if (colon == std::string_view::npos) {
      continue;
    }
    const std::string name = ascii_lower(trimmed(declaration.substr(0, colon)));
    const std::string value = ascii_lower(trimmed(declaration.substr(colon + 1)));
    const bool is_color = name == "color" || name == "background-color";
    const bool is_color_call = value.starts_with("rgb(") || value.starts_with("rgba(") ||
                               value.starts_with("hsl(") || value.starts_with("hsla(");
    const auto calls = std::ranges::count(value, '(');
    if (is_one_of(name, {"text-align", "vertical-align", "color", "background-color", "font-weight",
                         "font-style", "text-decoration", "white-space"}) &&
        value.size() <= kLongestValue && has_safe_characters(value) &&
        (calls == 0 || (calls == 1 && is_color && is_color_call))) {
      safe += name + ":" + value + ";";
    }
  }
  return safe;
}

bool hides(std::string_view style) {
  std::string bare = ascii_lower(style);
  std::erase_if(bare, [](char c) { return c == ' ' || c == '\t' || c == '\n'; });
  return bare.find("display:none") != std::string::npos;
}

bool is_small_number(std::string_view value) {
  return !value.empty() && value.size() <= 4 &&
         std::ranges::all_of(value, [](char c) { return c >= '0' && c <= '9'; });
}

// What style sheets say of single elements.
class IdStyles {
 public:
  void learn(std::string_view sheet) {
    while (!sheet.empty()) {
      const std::size_t open = sheet.find('{');
      const std::size_t close = sheet.find('}', open);
      if (open == std::string_view::npos || close == std::string_view::npos) {
        return;
      }
      add(sheet.substr(0, open), safe_style(sheet.substr(open + 1, close - open - 1)));
      sheet.remove_prefix(close + 1);
    }
  }

  // The first element of an id gets it, and no other: a page of many elements with one id would
  // become much larger than it was.
  std::string take(const std::string& id) {
    const auto found = styles_.find(id);
    if (found == styles_.end()) {
      return {};
    }
    std::string style = std::move(found->second);
    styles_.erase(found);
    return style;
  }

 private:
  // In characters: far more than a table that somebody reads.
  static constexpr std::size_t kMost = 4UL << 20;

  void add(std::string_view selectors, const std::string& style) {
    for (std::size_t end = 0; !style.empty() && end != std::string_view::npos;) {
      end = selectors.find(',');
      const std::string_view selector = trimmed(selectors.substr(0, end));
      selectors.remove_prefix(end == std::string_view::npos ? selectors.size() : end + 1);
      if (is_id(selector) && used_ + style.size() + selector.size() <= kMost) {
        styles_[std::string(selector.substr(1))] += style;
        used_ += style.size() + selector.size();
      }
    }
  }

  static bool is_id(std::string_view selector) {
    return selector.size() > 1 && selector.size() <= kLongestValue && selector.front() == '#' &&
           std::ranges::all_of(selector.substr(1), [](char c) {
             return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                    c == '_' || c == '-';
           });
  }

  std::map<std::string, std::string> styles_;
  std::size_t used_ = 0;
};

class Sanitizer {
 public:
  SanitizedHtml run(std::string_view html) {
    HtmlTokenizer tokenizer(html);
    while (const auto token = tokenizer.next()) {
      switch (token->kind) {
        case HtmlToken::Kind::kText:
          text(token->text);
          break;
        case HtmlToken::Kind::kStart:
          if (is_dropped_whole(token->name)) {
            result_.had_script |= token->name == "script";
            const std::string_view content = tokenizer.skip_element(token->name);
            if (token->name == "style") {
              styles_.learn(content);
            }
          } else {
            start(*token);
          }
          break;
        case HtmlToken::Kind::kEnd:
          end(token->name);
          break;
      }
    }
    close_to(0);
    return std::move(result_);
  }

 private:
  [[nodiscard]] Model innermost() const {
    return open_.empty() ? Model::kBlock : open_.back()->model;
  }
  // Where only rows and cells may stand.
  [[nodiscard]] bool between_cells() const {
    const Model model = innermost();
    return model == Model::kTable || model == Model::kSection || model == Model::kRow;
  }

  void text(const std::string& decoded) {
    const bool blank = trimmed(decoded).empty();
    // A browser would move it in front of the table.
    if (!between_cells()) {
      append_escaped(result_.html, decoded);
      result_.visible |= !blank;
      result_.had_hidden |= !blank && hidden_;
    } else if (blank) {
      result_.html += '\n';
    }
  }

  void start(const HtmlToken& token) {
    const Element* const element = find_element(token.name);
    if (element == nullptr || open_.size() >= kMaxDepth || !make_place(*element)) {
      return;
    }
    std::string tag = "<" + token.name;
    if (const std::string style = style_of(token); !style.empty()) {
      tag += " style=\"" + escaped(style) + "\"";
    }
    bool has_source = false;
    for (const auto& [name, value] : token.attributes) {
      has_source |= add_attribute(tag, token.name, name, value);
    }
    if (token.name == "img") {
      if (!has_source) {
        return;
      }
      result_.visible = true;
    }
    if (token.name == "a") {
      tag += " rel=\"noopener noreferrer nofollow\"";
    }
    result_.html += tag + ">";
    if (element->model != Model::kVoid) {
      if (!hidden_ && is_hidden(token)) {
        hidden_ = open_.size();
      }
      open_.push_back(element);
    }
  }

  // Closes what the element cannot stand in. False if it has no place at all.
  bool make_place(const Element& element) {
    switch (element.model) {
      case Model::kSection:
      case Model::kCaption:
        return close_until([](Model model) { return model == Model::kTable; });
      case Model::kRow:
        return close_until(
            [](Model model) { return model == Model::kTable || model == Model::kSection; });
      case Model::kCell:
        return close_until([](Model model) { return model == Model::kRow; });
      default:
        break;
    }
    if (between_cells()) {
      return false;
    }
    if (element.model == Model::kBlock || element.model == Model::kTable || element.name == "hr") {
      close_innermost({"p", "h1", "h2", "h3", "h4", "h5", "h6"}, {});
    }
    if (element.name == "li") {
      close_innermost({"li"}, {"ul", "ol"});
    } else if (element.name == "dt" || element.name == "dd") {
      close_innermost({"dt", "dd"}, {"dl"});
    } else if (element.name == "a") {
      close_innermost({"a"}, {});
    }
    return true;
  }

  // Closes up to an element for which `is_parent` is true, within the innermost table.
  template <typename IsParent>
  bool close_until(IsParent is_parent) {
    for (std::size_t i = open_.size(); i-- > 0;) {
      if (is_parent(open_[i]->model)) {
        close_to(i + 1);
        return true;
      }
      if (open_[i]->model == Model::kTable) {
        return false;
      }
    }
    return false;
  }

  // Closes the innermost of `names`, unless one of `walls` or a part of a table stands between.
  void close_innermost(std::initializer_list<std::string_view> names,
                       std::initializer_list<std::string_view> walls) {
    for (std::size_t i = open_.size(); i-- > 0;) {
      if (is_one_of(open_[i]->name, names)) {
        close_to(i);
        return;
      }
      if (is_one_of(open_[i]->name, walls) || is_table_part(open_[i]->model)) {
        return;
      }
    }
  }

  static bool is_table_part(Model model) {
    return model != Model::kInline && model != Model::kBlock && model != Model::kVoid;
  }

  void end(std::string_view name) {
    for (std::size_t i = open_.size(); i-- > 0;) {
      if (open_[i]->name == name) {
        close_to(i);
        return;
      }
      // What stands in a cell ends nothing outside of it, but a table's parts end each other.
      if (open_[i]->model == Model::kTable ||
          (is_table_part(open_[i]->model) && find_element(name) != nullptr &&
           !is_table_part(find_element(name)->model))) {
        return;
      }
    }
  }

  void close_to(std::size_t depth) {
    while (open_.size() > depth) {
      result_.html += "</";
      result_.html += open_.back()->name;
      result_.html += '>';
      open_.pop_back();
    }
    if (hidden_ && open_.size() <= *hidden_) {
      hidden_.reset();
    }
  }

  // Appends the attribute if it is allowed. True when it is the source of an image.
  static bool add_attribute(std::string& tag,
                            std::string_view element,
                            const std::string& name,
                            const std::string& value) {
    const auto append = [&tag, &name](std::string_view safe) {
      tag += " " + name + "=\"" + escaped(safe) + "\"";
    };
    if (name == "class") {
      if (element == "table" && value.find("dataframe") != std::string::npos) {
        append("dataframe");
      }
    } else if (name == "href") {
      if (element == "a" && is_safe_link(trimmed(value))) {
        append(trimmed(value));
      }
    } else if (name == "src") {
      if (element == "img" && is_image_data(trimmed(value))) {
        append(trimmed(value));
        return true;
      }
    } else if (is_one_of(name, {"colspan", "rowspan", "width", "height"})) {
      if (is_small_number(value)) {
        append(value);
      }
    } else if (is_one_of(name, {"title", "alt"})) {
      append(value);
    } else if (is_one_of(name, {"align", "valign", "scope"})) {
      if (is_one_of(ascii_lower(value), {"left", "right", "center", "top", "middle", "bottom",
                                         "row", "col", "rowgroup", "colgroup"})) {
        append(ascii_lower(value));
      }
    } else if (name == "open" && element == "details") {
      append("");
    }
    return false;
  }

  static bool is_hidden(const HtmlToken& token) {
    return std::ranges::any_of(token.attributes, [](const auto& attribute) {
      const auto& [name, value] = attribute;
      return name == "hidden" || (name == "style" && hides(value));
    });
  }

  // From style sheets first, so that the element's own declarations win.
  std::string style_of(const HtmlToken& token) {
    std::string sheet;
    std::string own;
    for (const auto& [name, value] : token.attributes) {
      if (name == "id") {
        sheet = styles_.take(value);
      } else if (name == "style") {
        own += safe_style(value);
      } else if (name == "color" && token.name == "font") {
        own += safe_style("color:" + value);
      }
    }
    return sheet + own;
  }

  std::vector<const Element*> open_;
  std::optional<std::size_t> hidden_;  // How many are open around the outermost hidden one.
  IdStyles styles_;
  SanitizedHtml result_;
};

}  // namespace

SanitizedHtml sanitize_html(std::string_view html) { return Sanitizer().run(to_utf8(html)); }

}  // namespace glovebox::notebook
