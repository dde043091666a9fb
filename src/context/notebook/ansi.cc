// SPDX-License-Identifier: Apache-2.0
#include "context/notebook/ansi.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <vector>

#include "base/text.h"
#include "context/notebook/markup.h"

namespace glovebox::notebook {
namespace {

constexpr char kEscape = '\x1b';
constexpr std::size_t kMaxCodes = 32;

struct Color {
  int named = -1;  // 0 to 15, or -1 where `rgb` counts.
  std::uint32_t rgb = 0;
  friend bool operator==(const Color&, const Color&) = default;
};

struct Style {
  std::optional<Color> foreground;
  std::optional<Color> background;
  bool bold = false;
  bool faint = false;
  bool italic = false;
  bool underline = false;
  bool inverse = false;
  bool struck = false;
  friend bool operator==(const Style&, const Style&) = default;
};

// The 6x6x6 cube and the greys of xterm.
Color indexed(int index) {
  if (index < 16) {
    return {.named = index};
  }
  const auto number = static_cast<std::uint32_t>(index);
  if (number >= 232) {
    const std::uint32_t grey = 8 + 10 * (number - 232);
    return {.rgb = grey << 16 | grey << 8 | grey};
  }
  const auto level = [](std::uint32_t step) { return step == 0 ? 0U : 55U + 40U * step; };
  const std::uint32_t cube = number - 16;
  return {.rgb = level(cube / 36) << 16 | level(cube / 6 % 6) << 8 | level(cube % 6)};
}

// Reads what follows 38 or 48, "5;n" or "2;r;g;b", and moves `at` to its last code. The rest of an
// incomplete one means nothing.
std::optional<Color> extended(const std::vector<int>& codes, std::size_t& at) {
  const auto code = [&codes](std::size_t i) { return i < codes.size() ? codes[i] : -1; };
  const auto is_byte = [&code](std::size_t i) { return code(i) >= 0 && code(i) <= 255; };
  if (code(at + 1) == 5 && is_byte(at + 2)) {
    at += 2;
    return indexed(code(at));
  }
  if (code(at + 1) == 2 && is_byte(at + 2) && is_byte(at + 3) && is_byte(at + 4)) {
    std::uint32_t rgb = 0;
    for (std::size_t i = at + 2; i < at + 5; ++i) {
      rgb = rgb << 8 | static_cast<std::uint32_t>(code(i));
    }
    at += 4;
    return Color{.rgb = rgb};
  }
  at = codes.size();
  return std::nullopt;
}

void apply(Style& style, const std::vector<int>& codes) {
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const int code = codes[i];
    if (code == 0) {
      style = {};
    } else if (code == 1) {
      style.bold = true;
    } else if (code == 2) {
      style.faint = true;
    } else if (code == 3) {
      style.italic = true;
    } else if (code == 4) {
      style.underline = true;
    } else if (code == 7) {
      style.inverse = true;
    } else if (code == 9) {
      style.struck = true;
    } else if (code == 22) {
      style.bold = style.faint = false;
    } else if (code == 23) {
      style.italic = false;
    } else if (code == 24) {
      style.underline = false;
    } else if (code == 27) {
      style.inverse = false;
    } else if (code == 29) {
      style.struck = false;
    } else if (code >= 30 && code <= 37) {
      style.foreground = Color{.named = code - 30};
    } else if (code == 38) {
      style.foreground = extended(codes, i);
    } else if (code == 39) {
      style.foreground.reset();
    } else if (code >= 40 && code <= 47) {
      style.background = Color{.named = code - 40};
    } else if (code == 48) {
      style.background = extended(codes, i);
    } else if (code == 49) {
      style.background.reset();
    } else if (code >= 90 && code <= 97) {
      style.foreground = Color{.named = code - 90 + 8};
    } else if (code >= 100 && code <= 107) {
      style.background = Color{.named = code - 100 + 8};
    }
  }
}

// The codes of "1;31"; an empty one is 0. Colons separate parts of a colour as semicolons do.
std::vector<int> codes_of(std::string_view parameters) {
  constexpr int kLargest = 1'000;
  std::vector<int> codes(1, 0);
  for (const char c : parameters) {
    if (c == ';' || c == ':') {
      if (codes.size() == kMaxCodes) {
        break;
      }
      codes.push_back(0);
    } else if (c >= '0' && c <= '9') {
      codes.back() = std::min(codes.back() * 10 + (c - '0'), kLargest);
    }
  }
  return codes;
}

void add_color(std::string& classes,
               std::string& css,
               const std::optional<Color>& color,
               bool is_background,
               bool inverse) {
  if (color && color->named >= 0) {
    classes += (is_background ? " bg" : " fg") + std::to_string(color->named);
  } else if (color) {
    std::array<char, 40> text{};
    (void)std::snprintf(text.data(), text.size(), "%s:#%06x;",
                        is_background ? "background-color" : "color", color->rgb);
    css += text.data();
  } else if (inverse) {
    classes += is_background ? " bgtext" : " fgpage";
  }
}

std::string start_tag(const Style& style) {
  std::string classes;
  std::string css;
  const auto& foreground = style.inverse ? style.background : style.foreground;
  const auto& background = style.inverse ? style.foreground : style.background;
  add_color(classes, css, foreground, false, style.inverse);
  add_color(classes, css, background, true, style.inverse);
  classes += style.bold ? " b" : "";
  classes += style.faint ? " f" : "";
  classes += style.italic ? " i" : "";
  classes += style.underline ? " u" : "";
  classes += style.struck ? " x" : "";
  std::string tag = "<span";
  if (!classes.empty()) {
    tag += " class=\"" + classes.substr(1) + "\"";
  }
  if (!css.empty()) {
    tag += " style=\"" + css + "\"";
  }
  return tag + ">";
}

// Takes the parameters of an SGR sequence off the front of `text`; other bytes are left alone.
std::optional<std::string_view> take_sgr(std::string_view& text) {
  if (!text.starts_with("\x1b[")) {
    return std::nullopt;
  }
  const std::size_t end = text.find_first_not_of("0123456789;:", 2);
  if (end == std::string_view::npos || text[end] != 'm') {
    return std::nullopt;
  }
  const std::string_view parameters = text.substr(2, end - 2);
  text.remove_prefix(end + 1);
  return parameters;
}

}  // namespace

std::string ansi_to_html(std::string_view text) {
  std::string html;
  html.reserve(text.size() + text.size() / 8);
  Style style;
  AnsiStripper stripper;
  while (!text.empty()) {
    if (const auto parameters = take_sgr(text)) {
      apply(style, codes_of(*parameters));
      continue;
    }
    // Up to the next escape; one that is not SGR is for the stripper.
    const std::size_t end = std::min(text.find(kEscape, 1), text.size());
    const std::string plain = to_utf8(stripper.strip(text.substr(0, end)));
    text.remove_prefix(end);
    if (plain.empty()) {
      continue;
    }
    if (style == Style{}) {
      append_escaped(html, plain);
    } else {
      html += start_tag(style);
      append_escaped(html, plain);
      html += "</span>";
    }
  }
  return html;
}

}  // namespace glovebox::notebook
