// SPDX-License-Identifier: Apache-2.0
#include "doors/rest/url.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace glovebox::rest {
namespace {

constexpr std::size_t kMaxSegments = 512;
constexpr std::size_t kMaxParameters = 64;

int digit(char c) {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

Error malformed(std::string_view what) {
  return {ErrorCode::kInvalid, "malformed " + std::string(what),
          "percent-encode all characters except letters and digits"};
}

}  // namespace

std::optional<std::string> percent_decode(std::string_view text, bool plus_is_space) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      if (i + 2 >= text.size() || digit(text[i + 1]) < 0 || digit(text[i + 2]) < 0) {
        return std::nullopt;
      }
      c = static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2]));
      i += 2;
    } else if (c == '+' && plus_is_space) {
      c = ' ';
    }
    if (c == '\0') {
      return std::nullopt;
    }
    decoded += c;
  }
  return decoded;
}

Result<Target> parse_target(std::string_view text) {
  Target target;
  const std::size_t mark = text.find('?');
  target.raw_path = text.substr(0, mark);
  target.raw_query = mark == std::string_view::npos ? std::string_view() : text.substr(mark + 1);
  std::string_view path = target.raw_path;
  while (path.starts_with('/')) {
    const std::size_t end = std::min(path.find('/', 1), path.size());
    auto segment = percent_decode(path.substr(1, end - 1), false);
    if (!segment) {
      return malformed("path");
    }
    if (target.segments.size() == kMaxSegments) {
      return Error(ErrorCode::kInvalid, "the path has too many segments");
    }
    target.segments.push_back(*std::move(segment));
    path.remove_prefix(end);
  }
  std::string_view query = target.raw_query;
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    const std::string_view pair = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    if (pair.empty()) {
      continue;
    }
    const std::size_t equals = std::min(pair.find('='), pair.size());
    auto name = percent_decode(pair.substr(0, equals), true);
    auto value = percent_decode(pair.substr(std::min(equals + 1, pair.size())), true);
    if (!name || !value || target.query.size() == kMaxParameters) {
      return malformed("query");
    }
    if (!target.query.emplace(*name, *std::move(value)).second) {
      return Error(ErrorCode::kInvalid, "duplicate parameter '" + *name + "'");
    }
  }
  return target;
}

}  // namespace glovebox::rest
