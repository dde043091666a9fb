// SPDX-License-Identifier: Apache-2.0
#include "context/notebook/markdown.h"

#include <charconv>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include <cmark-gfm-core-extensions.h>
#include <cmark-gfm.h>

#include "base/text.h"
#include "context/notebook/highlight.h"
#include "context/notebook/markdown_math.h"
#include "context/notebook/markup.h"
#include "context/notebook/math.h"
#include "context/notebook/media.h"
#include "context/notebook/sanitize.h"

namespace glovebox::notebook {
namespace {

constexpr std::size_t kMaxSize = 128 << 10;

struct NodeFree {
  void operator()(cmark_node* node) const { cmark_node_free(node); }
};
struct ParserFree {
  void operator()(cmark_parser* parser) const { cmark_parser_free(parser); }
};
struct IteratorFree {
  void operator()(cmark_iter* iterator) const { cmark_iter_free(iterator); }
};

// The parser owns the memory of its extensions' nodes, so both are kept together.
struct Document {
  std::unique_ptr<cmark_parser, ParserFree> parser;
  std::unique_ptr<cmark_node, NodeFree> root;
};

Document parse(std::string_view markdown) {
  // The library's registration is not safe for threads.
  static std::once_flag registered;
  std::call_once(registered, cmark_gfm_core_extensions_ensure_registered);
  Document document;
  document.parser.reset(cmark_parser_new(CMARK_OPT_DEFAULT));
  for (const char* const name : {"table", "strikethrough", "tasklist"}) {
    if (cmark_syntax_extension* const extension = cmark_find_syntax_extension(name)) {
      cmark_parser_attach_syntax_extension(document.parser.get(), extension);
    }
  }
  cmark_parser_feed(document.parser.get(), markdown.data(), markdown.size());
  document.root.reset(cmark_parser_finish(document.parser.get()));
  return document;
}

std::string_view view(const char* text) { return text == nullptr ? std::string_view() : text; }

class Renderer {
 public:
  Renderer(const std::vector<Formula>& formulas,
           const std::map<std::string, MimeBundle>& attachments)
      : formulas_(formulas), attachments_(attachments) {}

  std::string run(cmark_node* root) {
    const std::unique_ptr<cmark_iter, IteratorFree> iterator(cmark_iter_new(root));
    for (cmark_event_type event = cmark_iter_next(iterator.get()); event != CMARK_EVENT_DONE;
         event = cmark_iter_next(iterator.get())) {
      node(cmark_iter_get_node(iterator.get()), event == CMARK_EVENT_ENTER);
    }
    return std::move(html_);
  }

 private:
  void node(cmark_node* node, bool enter) {
    const std::string_view type = view(cmark_node_get_type_string(node));
    if (image_depth_ > 0 && type != "image") {
      // Inside of an image there is only its description.
      if (enter && (type == "text" || type == "code")) {
        description_ += with_sources(view(cmark_node_get_literal(node)));
      }
      return;
    }
    if (type == "text") {
      append_text(view(cmark_node_get_literal(node)));
    } else if (type == "softbreak") {
      html_ += '\n';
    } else if (type == "linebreak") {
      html_ += "<br>\n";
    } else if (type == "code") {
      html_ += "<code>" + escaped(with_sources(view(cmark_node_get_literal(node)))) + "</code>";
    } else if (type == "code_block") {
      code_block(node);
    } else if (type == "html_block" || type == "html_inline") {
      html_ += sanitize_html(with_sources(view(cmark_node_get_literal(node)))).html;
    } else if (type == "thematic_break") {
      html_ += "<hr>\n";
    } else if (type == "link") {
      link(node, enter);
    } else if (type == "image") {
      image(node, enter);
    } else if (type == "heading") {
      const std::string name = "h" + std::to_string(cmark_node_get_heading_level(node));
      element(name, enter);
    } else if (type == "paragraph") {
      paragraph(node, enter);
    } else if (type == "list") {
      list(node, enter);
    } else if (type == "table_cell") {
      cell(node, enter);
    } else {
      simple(type, enter);
    }
  }

  void element(std::string_view name, bool enter) {
    html_ += enter ? "<" : "</";
    html_ += name;
    html_ += enter ? ">" : ">\n";
  }

  void simple(std::string_view type, bool enter) {
    if (type == "emph") {
      html_ += enter ? "<em>" : "</em>";
    } else if (type == "strong") {
      html_ += enter ? "<strong>" : "</strong>";
    } else if (type == "strikethrough") {
      html_ += enter ? "<del>" : "</del>";
    } else if (type == "block_quote") {
      element("blockquote", enter);
    } else if (type == "item" || type == "tasklist") {
      element("li", enter);
    } else if (type == "table") {
      element("table", enter);
    } else if (type == "table_row" || type == "table_header") {
      in_header_ = type == "table_header";
      column_ = 0;
      element("tr", enter);
    }
  }

  // In a tight list the texts stand without paragraphs.
  void paragraph(cmark_node* node, bool enter) {
    cmark_node* const item = cmark_node_parent(node);
    cmark_node* const list = item == nullptr ? nullptr : cmark_node_parent(item);
    if (list == nullptr || cmark_node_get_type(list) != CMARK_NODE_LIST ||
        cmark_node_get_list_tight(list) == 0) {
      element("p", enter);
    }
  }

  void list(cmark_node* node, bool enter) {
    const bool ordered = cmark_node_get_list_type(node) == CMARK_ORDERED_LIST;
    const int start = cmark_node_get_list_start(node);
    if (enter && ordered && start != 1) {
      html_ += "<ol start=\"" + std::to_string(start) + "\">";
    } else {
      element(ordered ? "ol" : "ul", enter);
    }
  }

  void cell(cmark_node* node, bool enter) {
    const char* const name = in_header_ ? "th" : "td";
    if (!enter) {
      element(name, false);
      return;
    }
    cmark_node* const table = cmark_node_parent(cmark_node_parent(node));
    const std::size_t column = column_++;
    const uint8_t* const alignments = cmark_gfm_extensions_get_table_alignments(table);
    const char side =
        alignments != nullptr && column < cmark_gfm_extensions_get_table_columns(table)
            ? static_cast<char>(alignments[column])
            : '\0';
    html_ += std::string("<") + name;
    html_ += side == 'r' ? " class=\"right\">" : side == 'c' ? " class=\"middle\">" : ">";
  }

  void code_block(cmark_node* node) {
    const std::string_view info = view(cmark_node_get_fence_info(node));
    html_ += "<pre class=\"code\">" +
             highlight(with_sources(view(cmark_node_get_literal(node))),
                       info.substr(0, info.find_first_of(" {"))) +
             "</pre>\n";
  }

  void link(cmark_node* node, bool enter) {
    const std::string url = with_sources(view(cmark_node_get_url(node)));
    if (!is_safe_link(url)) {
      return;
    }
    html_ +=
        enter ? "<a href=\"" + escaped(url) + "\" rel=\"noopener noreferrer nofollow\">" : "</a>";
  }

  void image(cmark_node* node, bool enter) {
    image_depth_ += enter ? 1 : -1;
    if (enter || image_depth_ > 0) {
      return;
    }
    const std::string url = with_sources(view(cmark_node_get_url(node)));
    std::string source = is_image_data(url) ? url : "";
    constexpr std::string_view kAttachment = "attachment:";
    if (url.starts_with(kAttachment)) {
      const auto found = attachments_.find(percent_decoded(url.substr(kAttachment.size())));
      source = found == attachments_.end() ? "" : image_address(found->second).value_or("");
    }
    html_ += source.empty() ? "<span class=\"absent\">[image: " + escaped(description_) + "]</span>"
                            : "<img src=\"" + source + "\" alt=\"" + escaped(description_) + "\">";
    description_.clear();
  }

  static std::string percent_decoded(std::string_view text) {
    std::string plain;
    for (std::size_t i = 0; i < text.size(); ++i) {
      unsigned int code = 0;
      const char* const digits = text.data() + i + 1;
      if (text[i] == '%' && text.size() - i > 2 &&
          std::from_chars(digits, digits + 2, code, 16).ptr == digits + 2) {
        plain += static_cast<char>(code);
        i += 2;
      } else {
        plain += text[i];
      }
    }
    return plain;
  }

  // Calls `plain` with the texts between the marks of formulas and `formula` with each formula.
  template <typename Plain, typename Show>
  void split(std::string_view text, Plain plain, Show show) const {
    while (!text.empty()) {
      const std::size_t begin = text.find(kFormulaBegin);
      plain(text.substr(0, begin));
      if (begin == std::string_view::npos) {
        return;
      }
      text.remove_prefix(begin + kFormulaBegin.size());
      const std::size_t end = text.find(kFormulaEnd);
      if (end == std::string_view::npos) {
        return;
      }
      std::size_t number = formulas_.size();
      (void)std::from_chars(text.data(), text.data() + end, number);
      if (number < formulas_.size()) {
        show(formulas_[number]);
      }
      text.remove_prefix(end + kFormulaEnd.size());
    }
  }

  void append_text(std::string_view text) {
    split(
        text, [this](std::string_view plain) { append_escaped(html_, plain); },
        [this](const Formula& formula) {
          html_ += latex_to_mathml(formula.latex, formula.display);
        });
  }

  // Where no formula can be shown, its source is.
  [[nodiscard]] std::string with_sources(std::string_view text) const {
    std::string plain;
    split(
        text, [&plain](std::string_view piece) { plain += piece; },
        [&plain](const Formula& formula) { plain += formula.source; });
    return plain;
  }

  const std::vector<Formula>& formulas_;
  const std::map<std::string, MimeBundle>& attachments_;
  std::string html_;
  std::string description_;
  int image_depth_ = 0;
  bool in_header_ = false;
  std::size_t column_ = 0;
};

}  // namespace

std::string markdown_to_html(std::string_view markdown,
                             const std::map<std::string, MimeBundle>& attachments) {
  const std::string text = to_utf8(markdown);
  if (text.size() > kMaxSize) {
    return "<pre>" + escaped(text) + "</pre>";
  }
  const ExtractedMath math = extract_math(text);
  const Document document = parse(math.markdown);
  return Renderer(math.formulas, attachments).run(document.root.get());
}

}  // namespace glovebox::notebook
