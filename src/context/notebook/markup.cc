// SPDX-License-Identifier: Apache-2.0
#include "context/notebook/markup.h"

#include <algorithm>
#include <array>

namespace glovebox::notebook {
namespace {

bool is_base64(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' ||
         c == '/' || c == '=';
}

bool starts_with_ignoring_case(std::string_view text, std::string_view prefix) {
  return text.size() >= prefix.size() &&
         std::ranges::equal(text.substr(0, prefix.size()), prefix, [](char a, char b) {
           return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
         });
}

}  // namespace

void append_escaped(std::string& html, std::string_view text) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    switch (c) {
      case '&':
        html += "&amp;";
        break;
      case '<':
        html += "&lt;";
        break;
      case '>':
        html += "&gt;";
        break;
      case '"':
        html += "&quot;";
        break;
      case '\'':
        html += "&#39;";
        break;
      default:
        if ((byte >= 0x20 && byte != 0x7F) || c == '\n' || c == '\t') {
          html += c;
        }
    }
  }
}

std::string escaped(std::string_view text) {
  std::string html;
  html.reserve(text.size());
  append_escaped(html, text);
  return html;
}

std::optional<std::string> clean_base64(std::string_view text) {
  std::string clean;
  clean.reserve(text.size());
  for (const char c : text) {
    if (is_base64(c)) {
      clean += c;
    } else if (c != '\n' && c != '\r' && c != ' ') {
      return std::nullopt;
    }
  }
  return clean;
}

bool is_safe_link(std::string_view address) {
  return address.starts_with('#') || starts_with_ignoring_case(address, "https://") ||
         starts_with_ignoring_case(address, "http://") ||
         starts_with_ignoring_case(address, "mailto:");
}

bool is_image_data(std::string_view address) {
  constexpr std::array<std::string_view, 5> kPrefixes = {
      "data:image/png;base64,", "data:image/jpeg;base64,", "data:image/gif;base64,",
      "data:image/webp;base64,", "data:image/svg+xml;base64,"};
  return std::ranges::any_of(kPrefixes, [address](std::string_view prefix) {
    return starts_with_ignoring_case(address, prefix) &&
           std::ranges::all_of(address.substr(prefix.size()), is_base64);
  });
}

}  // namespace glovebox::notebook
