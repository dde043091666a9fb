// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/url.h"

#include <algorithm>
#include <charconv>

namespace glovebox::e2b {
namespace {

constexpr std::size_t kMaxSegments = 16;
constexpr std::size_t kMaxParameters = 200;
constexpr std::size_t kMaxId = 64;

int hex_value(char c) {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  if (c >= 'a' && c <= 'f') {
    return c - 'a' + 10;
  }
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

}  // namespace

std::optional<std::string> percent_decode(std::string_view text, bool plus_is_space) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus_is_space) {
      decoded += ' ';
    } else if (text[i] != '%') {
      decoded += text[i];
    } else {
      if (text.size() - i < 3) {
        return std::nullopt;
      }
      const int high = hex_value(text[i + 1]);
      const int low = hex_value(text[i + 2]);
      if (high < 0 || low < 0) {
        return std::nullopt;
      }
      decoded += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  return decoded;
}

std::optional<std::map<std::string, std::string>> parse_form(std::string_view text) {
  std::map<std::string, std::string> pairs;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('&'), text.size());
    const std::string_view pair = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (pair.empty()) {
      continue;
    }
    const std::size_t equals = std::min(pair.find('='), pair.size());
    auto name = percent_decode(pair.substr(0, equals), true);
    auto value = percent_decode(pair.substr(std::min(equals + 1, pair.size())), true);
    if (!name || !value || pairs.size() >= kMaxParameters) {
      return std::nullopt;
    }
    pairs.emplace(std::move(*name), std::move(*value));
  }
  return pairs;
}

std::optional<std::string> Target::parameter(const std::string& name) const {
  const auto found = query.find(name);
  return found == query.end() ? std::nullopt : std::optional(found->second);
}

std::optional<Target> parse_target(std::string_view target) {
  const std::size_t question = std::min(target.find('?'), target.size());
  Target parsed;
  parsed.path = target.substr(0, question);
  if (!parsed.path.starts_with('/')) {
    return std::nullopt;
  }
  std::string_view rest = parsed.path;
  while (!rest.empty()) {
    rest.remove_prefix(1);
    const std::size_t end = std::min(rest.find('/'), rest.size());
    auto segment = percent_decode(rest.substr(0, end));
    if (!segment || parsed.segments.size() >= kMaxSegments) {
      return std::nullopt;
    }
    parsed.segments.push_back(std::move(*segment));
    rest.remove_prefix(end);
  }
  auto query = parse_form(target.substr(std::min(question + 1, target.size())));
  if (!query) {
    return std::nullopt;
  }
  parsed.query = std::move(*query);
  return parsed;
}

std::optional<std::uint16_t> parse_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (failure != std::errc{} || end != text.data() + text.size() || port == 0) {
    return std::nullopt;
  }
  return port;
}

bool is_sandbox_id(std::string_view text) {
  return !text.empty() && text.size() <= kMaxId && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

}  // namespace glovebox::e2b
