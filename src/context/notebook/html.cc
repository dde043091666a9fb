// SPDX-License-Identifier: Apache-2.0
#include "context/notebook/html.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <string_view>

#include "base/text.h"
#include "context/notebook/ansi.h"
#include "context/notebook/highlight.h"
#include "context/notebook/html_style.h"
#include "context/notebook/markdown.h"
#include "context/notebook/markup.h"
#include "context/notebook/math.h"
#include "context/notebook/media.h"
#include "context/notebook/mime.h"
#include "context/notebook/sanitize.h"

namespace glovebox::notebook {
namespace {

constexpr std::size_t kLongestTitle = 200;

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\n\r");
  return begin == std::string_view::npos
             ? std::string_view()
             : text.substr(begin, text.find_last_not_of(" \t\n\r") - begin + 1);
}

// LaTeX of an output that is mathematics throughout; nothing for documents, such as tables.
std::optional<std::string> math_output(std::string_view latex) {
  latex = trimmed(latex);
  for (const auto& [open, close] : {std::pair("$$", "$$"), {"\\[", "\\]"}, {"$", "$"}}) {
    const std::string_view opening = open;
    if (latex.size() > 2 * opening.size() && latex.starts_with(opening) && latex.ends_with(close)) {
      const std::string_view inner =
          latex.substr(opening.size(), latex.size() - 2 * opening.size());
      return inner.find('$') == std::string_view::npos ? std::optional(latex_to_mathml(inner, true))
                                                       : std::nullopt;
    }
  }
  if (latex.starts_with("\\begin{") && is_math_environment(latex.substr(7, latex.find('}') - 7))) {
    return latex_to_mathml(latex, true);
  }
  return std::nullopt;
}

std::optional<std::string> json_output(const MimeBundle& data) {
  for (const auto& [mime, value] : data) {
    // Only these: other types that end in "json" describe pictures, which other programs draw.
    if (mime == "application/json" || mime == "application/geo+json") {
      return json_to_html(value);
    }
  }
  return std::nullopt;
}

std::optional<std::string> image_output(const MimeBundle& data, const std::string& description) {
  const auto address = image_address(data);
  return address
             ? std::optional("<img src=\"" + *address + "\" alt=\"" + escaped(description) + "\">")
             : std::nullopt;
}

std::string pdf_output(const std::string& address) {
  return "<p><a href=\"" + address + "\" download=\"output.pdf\">PDF document</a></p>";
}

// "<IPython.core.display.HTML object>" and the like say less than anything else.
bool is_repr(std::string_view plain) {
  return plain.starts_with('<') && plain.ends_with('>') && plain.find('\n') == plain.npos;
}

// The richest value that can be shown without scripts.
std::string data_output(const Output& output) {
  const MimeBundle& data = output.data;
  const std::string plain = text_value(data, "text/plain").value_or("");
  const auto image = image_output(data, plain.substr(0, kLongestTitle));
  if (const auto html = text_value(data, "text/html")) {
    const SanitizedHtml safe = sanitize_html(*html);
    // With its scripts gone, a drawing's HTML is an empty box. With its style sheet gone, HTML that
    // holds both a picture made of boxes and a text for readers without styles would show both.
    const bool needs_more = safe.had_script || safe.had_hidden;
    const bool is_whole =
        safe.visible && !(needs_more && (image || (!plain.empty() && !is_repr(plain))));
    if (is_whole) {
      return "<div class=\"html\">" + safe.html + "</div>";
    }
  }
  if (image) {
    return *image;
  }
  if (const auto latex = text_value(data, "text/latex")) {
    if (const auto math = math_output(*latex)) {
      return *math;
    }
  }
  if (const auto markdown = text_value(data, "text/markdown")) {
    return "<div class=\"markdown\">" + markdown_to_html(*markdown) + "</div>";
  }
  if (const auto json = json_output(data)) {
    return *json;
  }
  if (const auto pdf = data_address(data, "application/pdf")) {
    return pdf_output(*pdf);
  }
  if (!plain.empty()) {
    return "<pre class=\"plain\">" + ansi_to_html(plain) + "</pre>";
  }
  if (const auto latex = text_value(data, "text/latex")) {
    return "<pre class=\"plain\">" + escaped(*latex) + "</pre>";
  }
  std::string types;
  for (const auto& [mime, value] : data) {
    types += (types.empty() ? "" : ", ") + escaped(mime);
  }
  return types.empty() ? "" : "<p class=\"absent\">[output of type " + types + "]</p>";
}

std::string error_output(const Output& output) {
  std::string html = "<pre class=\"error\">";
  if (output.traceback.empty()) {
    html += "<strong>" + escaped(to_utf8(output.name)) +
            "</strong>: " + ansi_to_html(to_utf8(output.text));
  }
  std::string lines;
  for (const std::string& line : output.traceback) {
    lines += (lines.empty() ? "" : "\n") + line;
  }
  return html + ansi_to_html(lines) + "</pre>";
}

std::string prompt(const char* kind, const std::optional<int>& count) {
  const std::string number = count ? std::to_string(*count) : " ";
  return std::string("<div class=\"prompt ") + kind + "\">" + kind + " [" + number + "]</div>";
}

std::string title_of(const Notebook& notebook, const HtmlOptions& options, const About& about) {
  if (!options.title.empty()) {
    return options.title;
  }
  if (!about.title.empty()) {
    return about.title;
  }
  for (const Cell& cell : notebook.cells) {
    const std::size_t heading = cell.source.starts_with("# ") ? 0 : cell.source.find("\n# ") + 1;
    if (cell.kind == Cell::Kind::kMarkdown && (heading > 0 || cell.source.starts_with("# "))) {
      const std::string_view line = std::string_view(cell.source).substr(heading + 2);
      return to_utf8(trimmed(line.substr(0, line.find('\n'))).substr(0, kLongestTitle));
    }
  }
  return "Notebook";
}

// A cell with its magic says which language it is in.
std::string_view language_of(const Cell& cell, std::string_view language) {
  if (!cell.source.starts_with("%%")) {
    return language;
  }
  const std::string_view line = std::string_view(cell.source).substr(2);
  const std::string_view magic = line.substr(0, line.find_first_of(" \n"));
  for (const std::string_view known : {"bash", "sh", "javascript", "js", "sql", "R"}) {
    if (magic == known) {
      return known;
    }
  }
  return language;
}

void write_cell(const Cell& cell,
                const HtmlOptions& options,
                std::string_view language,
                const std::function<void(std::string_view)>& write) {
  if (cell.kind == Cell::Kind::kMarkdown) {
    write("<section class=\"cell\"><div class=\"prompt\"></div><div class=\"markdown\">" +
          markdown_to_html(cell.source, cell.attachments) + "</div></section>\n");
    return;
  }
  const std::string source = to_utf8(cell.source);
  if (cell.kind == Cell::Kind::kRaw) {
    write("<section class=\"cell\"><div class=\"prompt\"></div><pre class=\"raw\">" +
          escaped(source) + "</pre></section>\n");
    return;
  }
  write("<section class=\"cell\">");
  if (options.with_code) {
    write(prompt("in", cell.execution_count) + "<pre class=\"code\">" +
          highlight(source, language_of(cell, language)) + "</pre>");
  }
  for (const Output& output : cell.outputs) {
    const bool is_result = output.kind == Output::Kind::kResult;
    write(is_result ? prompt("out", output.execution_count) : "<div class=\"prompt\"></div>");
    write("<div class=\"output\">");
    write(output_to_html(output));
    write("</div>");
  }
  write("</section>\n");
}

}  // namespace

std::string output_to_html(const Output& output) {
  switch (output.kind) {
    case Output::Kind::kStream:
      return std::string("<pre class=\"stream") + (output.name == "stderr" ? " stderr" : "") +
             "\">" + ansi_to_html(output.text) + "</pre>";
    case Output::Kind::kError:
      return error_output(output);
    case Output::Kind::kDisplay:
    case Output::Kind::kResult:
      return data_output(output);
  }
  return {};
}

void notebook_to_html(const Notebook& notebook,
                      const HtmlOptions& options,
                      const std::function<void(std::string_view)>& write) {
  const About what = about(notebook);
  const std::string title = escaped(title_of(notebook, options, what));
  const std::string language = what.language.empty() ? "python" : what.language;
  write(
      "<!DOCTYPE html>\n<html>\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; "
      "style-src 'unsafe-inline'; form-action 'none'; base-uri 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"referrer\" content=\"no-referrer\">\n<title>" +
      title + "</title>\n<style>" + std::string(page_style()) +
      "</style>\n</head>\n<body>\n<main>\n<header><span class=\"title\">" + title +
      "</span><span class=\"kernel\">" + escaped(what.kernel.empty() ? language : what.kernel) +
      "</span></header>\n");
  for (const Cell& cell : notebook.cells) {
    write_cell(cell, options, language, write);
  }
  write("</main>\n</body>\n</html>\n");
}

std::string notebook_to_html(const Notebook& notebook, const HtmlOptions& options) {
  std::string html;
  notebook_to_html(notebook, options, [&html](std::string_view piece) { html += piece; });
  return html;
}

}  // namespace glovebox::notebook
