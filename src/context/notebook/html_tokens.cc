// SPDX-License-Identifier: Apache-2.0
#include "context/notebook/html_tokens.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

#include "base/utf8.h"

namespace glovebox::notebook {
namespace {

constexpr std::size_t kMaxAttributes = 32;

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

struct Reference {
  std::string_view name;
  std::string_view text;
};

constexpr auto kReferences = std::to_array<Reference>({
    {"amp", "&"},       {"lt", "<"},    {"gt", ">"},     {"quot", "\""},  {"apos", "'"},
    {"nbsp", "\u00a0"}, {"times", "×"}, {"middot", "·"}, {"hellip", "…"}, {"mdash", "—"},
    {"ndash", "–"},     {"copy", "©"},  {"deg", "°"},    {"plusmn", "±"}, {"euro", "€"},
    {"rarr", "→"},      {"larr", "←"},  {"lsquo", "‘"},  {"rsquo", "’"},  {"ldquo", "“"},
    {"rdquo", "”"},     {"laquo", "«"}, {"raquo", "»"},  {"bull", "•"},   {"infin", "∞"},
    {"le", "≤"},        {"ge", "≥"},    {"ne", "≠"},     {"alpha", "α"},  {"beta", "β"},
    {"mu", "μ"},        {"pi", "π"},    {"sigma", "σ"},  {"check", "✓"},  {"reg", "®"},
    {"trade", "™"},
});

std::string utf8(std::uint32_t code) {
  if (code == 0 || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) {
    code = 0xFFFD;
  }
  std::string text;
  append_utf8(text, code);
  return text;
}

// What stands between "&" and ";"; nothing when it means nothing to us.
std::optional<std::string> resolve(std::string_view reference) {
  if (!reference.starts_with('#')) {
    const auto* const found = std::ranges::find(kReferences, reference, &Reference::name);
    return found == kReferences.end() ? std::nullopt : std::optional(std::string(found->text));
  }
  reference.remove_prefix(1);
  const bool is_hex = reference.starts_with('x') || reference.starts_with('X');
  reference.remove_prefix(is_hex ? 1 : 0);
  std::uint32_t code = 0;
  const char* const end = reference.data() + reference.size();
  const auto read = std::from_chars(reference.data(), end, code, is_hex ? 16 : 10);
  return read.ec == std::errc{} && read.ptr == end ? std::optional(utf8(code)) : std::nullopt;
}

std::string decoded(std::string_view text) {
  constexpr std::size_t kLongest = 10;
  std::string plain;
  plain.reserve(text.size());
  while (!text.empty()) {
    const std::size_t ampersand = std::min(text.find('&'), text.size());
    plain += text.substr(0, ampersand);
    text.remove_prefix(ampersand);
    if (text.empty()) {
      break;
    }
    const std::size_t semicolon = text.substr(0, kLongest).find(';');
    const auto character =
        semicolon == std::string_view::npos ? std::nullopt : resolve(text.substr(1, semicolon - 1));
    plain += character.value_or("&");
    text.remove_prefix(character ? semicolon + 1 : 1);
  }
  return plain;
}

}  // namespace

std::string ascii_lower(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return lower;
}

std::optional<HtmlToken> HtmlTokenizer::next() {
  while (at_ < html_.size()) {
    if (peek() != '<') {
      return read_text();
    }
    if (is_letter(peek(1)) || (peek(1) == '/' && is_letter(peek(2)))) {
      return read_tag();
    }
    if (peek(1) == '!' || peek(1) == '?' || peek(1) == '/') {
      skip_markup();
      continue;
    }
    return read_text();
  }
  return std::nullopt;
}

void HtmlTokenizer::skip_markup() {
  const bool is_comment = html_.substr(at_).starts_with("<!--");
  const std::string_view closing = is_comment ? "-->" : ">";
  const std::size_t end = html_.find(closing, at_ + 2);
  at_ = end == std::string_view::npos ? html_.size() : end + closing.size();
}

HtmlToken HtmlTokenizer::read_text() {
  // A "<" that begins no tag is a text itself.
  const std::size_t end = std::min(html_.find('<', at_ + 1), html_.size());
  HtmlToken token;
  token.text = decoded(html_.substr(at_, end - at_));
  at_ = end;
  return token;
}

HtmlToken HtmlTokenizer::read_tag() {
  HtmlToken token;
  ++at_;
  token.kind = HtmlToken::Kind::kStart;
  if (peek() == '/') {
    token.kind = HtmlToken::Kind::kEnd;
    ++at_;
  }
  const std::size_t begin = at_;
  while (at_ < html_.size() && !is_blank(peek()) && peek() != '>' && peek() != '/') {
    ++at_;
  }
  token.name = ascii_lower(html_.substr(begin, at_ - begin));
  for (skip_blanks(); at_ < html_.size() && peek() != '>'; skip_blanks()) {
    if (peek() == '/') {
      ++at_;
    } else {
      read_attribute(token);
    }
  }
  at_ = std::min(at_ + 1, html_.size());
  return token;
}

void HtmlTokenizer::read_attribute(HtmlToken& token) {
  const std::size_t begin = at_++;
  while (at_ < html_.size() && !is_blank(peek()) && peek() != '=' && peek() != '>' &&
         peek() != '/') {
    ++at_;
  }
  const std::string name = ascii_lower(html_.substr(begin, at_ - begin));
  std::string value;
  skip_blanks();
  if (peek() == '=') {
    ++at_;
    skip_blanks();
    const char quote = peek();
    if (quote == '"' || quote == '\'') {
      const std::size_t end = std::min(html_.find(quote, at_ + 1), html_.size());
      value = decoded(html_.substr(at_ + 1, end - at_ - 1));
      at_ = std::min(end + 1, html_.size());
    } else {
      const std::size_t from = at_;
      while (at_ < html_.size() && !is_blank(peek()) && peek() != '>') {
        ++at_;
      }
      value = decoded(html_.substr(from, at_ - from));
    }
  }
  const bool is_new = std::ranges::none_of(
      token.attributes, [&name](const auto& attribute) { return attribute.first == name; });
  if (is_new && token.attributes.size() < kMaxAttributes) {
    token.attributes.emplace_back(name, std::move(value));
  }
}

void HtmlTokenizer::skip_blanks() {
  while (at_ < html_.size() && is_blank(html_[at_])) {
    ++at_;
  }
}

std::string_view HtmlTokenizer::skip_element(std::string_view name) {
  const std::size_t begin = at_;
  while (at_ < html_.size()) {
    const std::size_t end = html_.find("</", at_);
    if (end == std::string_view::npos) {
      at_ = html_.size();
      break;
    }
    at_ = end + 2;
    if (ascii_lower(html_.substr(at_, name.size())) == name) {
      const std::size_t close = html_.find('>', at_);
      at_ = close == std::string_view::npos ? html_.size() : close + 1;
      return html_.substr(begin, end - begin);
    }
  }
  return html_.substr(std::min(begin, html_.size()));
}

}  // namespace glovebox::notebook
