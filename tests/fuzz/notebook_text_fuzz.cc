// SPDX-License-Identifier: Apache-2.0
// Texts of guests that become parts of a page: whatever goes in, only elements and attributes that
// cannot act come out.
#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "context/notebook/ansi.h"
#include "context/notebook/highlight.h"
#include "context/notebook/markdown.h"
#include "context/notebook/math.h"
#include "context/notebook/sanitize.h"
#include "context/notebook/stream_text.h"
#include "require.h"

namespace {

using namespace glovebox::notebook;

// Elements that load, run or change how a browser reads what follows.
constexpr auto kForbidden = std::to_array<std::string_view>(
    {"script", "style", "iframe", "object", "embed", "link", "meta", "base", "form", "input",
     "button", "textarea", "svg", "template", "noscript", "frame", "xmp", "plaintext", "body"});

bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == ':';
}

// Reads what we write, which is stricter than HTML: every "<" begins a tag in small letters, every
// attribute has a value in double quotes.
void check(std::string_view html) {
  std::size_t at = 0;
  const auto name = [&] {
    const std::size_t begin = at;
    while (at < html.size() && is_name(html[at])) {
      ++at;
    }
    require(at > begin);
    return html.substr(begin, at - begin);
  };
  while ((at = html.find('<', at)) != std::string_view::npos) {
    ++at;
    const bool closes = at < html.size() && html[at] == '/';
    at += closes ? 1 : 0;
    require(std::ranges::find(kForbidden, name()) == kForbidden.end());
    while (at < html.size() && html[at] == ' ') {
      ++at;
      const std::string_view attribute = name();
      require(!attribute.starts_with("on") && attribute != "srcdoc" && attribute != "formaction");
      if (at < html.size() && html[at] == '=') {
        require(html.substr(at, 2) == "=\"");
        const std::size_t end = html.find('"', at + 2);
        require(end != std::string_view::npos);
        std::string value(html.substr(at + 2, end - at - 2));
        std::ranges::transform(value, value.begin(), [](char c) {
          return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
        });
        if (attribute == "href" || attribute == "src") {
          require(!value.starts_with("javascript") && !value.starts_with("vbscript") &&
                  !value.starts_with("data:text") && !value.starts_with("file:"));
        }
        at = end + 1;
      }
    }
    require(at < html.size() && html[at] == '>');
  }
}

}  // namespace

// The first byte chooses what the text is taken for.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr auto kLanguages = std::to_array<std::string_view>(
      {"python", "r", "javascript", "bash", "sql", "cpp", "java", "julia", "unknown"});
  if (size == 0) {
    return 0;
  }
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 6) {
    case 0: {
      const SanitizedHtml once = sanitize_html(input);
      check(once.html);
      check(sanitize_html(once.html).html);
      break;
    }
    case 1:
      check(ansi_to_html(input));
      break;
    case 2:
      check(markdown_to_html(input));
      break;
    case 3:
      check(latex_to_mathml(input, data[0] % 2 == 0));
      break;
    case 4:
      check(highlight(input, kLanguages[data[0] % kLanguages.size()]));
      break;
    default: {
      // However it is cut, a stream becomes the same text.
      StreamText whole;
      whole.add(input);
      StreamText pieces;
      pieces.add(input.substr(0, input.size() / 3));
      pieces.add(input.substr(input.size() / 3));
      require(whole.text() == pieces.text());
      require(whole.size() + 64 >= whole.text().size() / 3);
      break;
    }
  }
  return 0;
}
