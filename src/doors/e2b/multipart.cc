// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/multipart.h"

#include <algorithm>
#include <cstring>

#include "doors/e2b/url.h"

namespace glovebox::e2b {
namespace {

constexpr std::size_t kMaxBoundary = 70;  // RFC 2046, 5.1.1
constexpr std::size_t kMaxHead = 16 * 1024;
constexpr std::size_t kMaxParts = 10'000;
constexpr std::size_t kStep = 128 * 1024;

Error malformed() { return Error(ErrorCode::kInvalid, "malformed multipart body"); }

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool starts_with_any_case(std::string_view text, std::string_view prefix) {
  return text.size() >= prefix.size() &&
         std::equal(prefix.begin(), prefix.end(), text.begin(),
                    [](char a, char b) { return lower(a) == lower(b); });
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) {
    text.remove_prefix(1);
  }
  return text;
}

// The value of a parameter of a header: name="value" or name=value, behind a semicolon.
std::optional<std::string> parameter(std::string_view header, std::string_view name) {
  std::size_t at = header.find(';');
  while (at != std::string_view::npos) {
    std::string_view rest = trimmed(header.substr(at + 1));
    const std::size_t equals = rest.find_first_of("=;");
    if (equals == std::string_view::npos || rest[equals] == ';') {
      at = equals == std::string_view::npos
               ? equals
               : static_cast<std::size_t>(rest.data() - header.data()) + equals;
      continue;
    }
    const bool wanted = equals == name.size() && starts_with_any_case(rest, name);
    rest.remove_prefix(equals + 1);
    std::string value;
    std::size_t end = 0;
    if (rest.starts_with('"')) {
      for (end = 1; end < rest.size() && rest[end] != '"'; ++end) {
        const bool escaped = rest[end] == '\\' && end + 1 < rest.size() &&
                             (rest[end + 1] == '"' || rest[end + 1] == '\\');
        value += rest[escaped ? ++end : end];
      }
      if (end == rest.size()) {
        return std::nullopt;
      }
    } else {
      end = std::min(rest.find(';'), rest.size());
      value = rest.substr(0, end);
      value.resize(value.find_last_not_of(" \t") + 1);
    }
    if (wanted) {
      return value;
    }
    const auto behind = static_cast<std::size_t>(rest.data() - header.data()) + end;
    at = header.find(';', behind);
  }
  return std::nullopt;
}

// Browsers and similar clients escape only these three (WHATWG HTML, multipart/form-data encoding).
std::string unescaped(std::string text) {
  for (const auto& [escape, character] :
       {std::pair{"%22", '"'}, std::pair{"%0D", '\r'}, std::pair{"%0A", '\n'}}) {
    for (std::size_t at = text.find(escape); at != std::string::npos;
         at = text.find(escape, at + 1)) {
      text.replace(at, 3, 1, character);
    }
  }
  return text;
}

}  // namespace

std::optional<std::string> Multipart::boundary_of(std::string_view content_type) {
  if (!starts_with_any_case(content_type, "multipart/form-data")) {
    return std::nullopt;
  }
  auto boundary = parameter(content_type, "boundary");
  const bool usable = boundary && !boundary->empty() && boundary->size() <= kMaxBoundary;
  return usable ? boundary : std::nullopt;
}

Multipart::Multipart(std::string_view boundary, FileClient::Source source)
    // The first delimiter has no line break before it, unless there is a preamble.
    : source_(std::move(source)), delimiter_("\r\n--" + std::string(boundary)), buffer_("\r\n") {}

Result<bool> Multipart::fill() {
  buffer_.erase(0, start_);
  start_ = 0;
  const std::size_t have = buffer_.size();
  buffer_.resize(have + kStep);
  auto got = source_(std::span(buffer_).subspan(have));
  buffer_.resize(have + (got ? *got : 0));
  if (!got) {
    return got.error();
  }
  return *got > 0;
}

Result<std::string> Multipart::take_until(std::string_view mark, std::size_t most) {
  for (;;) {
    const std::size_t found = buffer_.find(mark, start_);
    if (found != std::string::npos && found - start_ <= most) {
      std::string taken = buffer_.substr(start_, found - start_);
      start_ = found + mark.size();
      return taken;
    }
    if (buffer_.size() - start_ > most + mark.size() || !GB_TRY(fill())) {
      return malformed();
    }
  }
}

Result<std::optional<Multipart::Part>> Multipart::next() {
  if (ended_) {
    return std::optional<Part>();
  }
  if (parts_ == 0) {
    (void)GB_TRY(take_until(delimiter_, kMaxHead));
  }
  std::vector<char> rest(in_part_ ? 16 * 1024 : 0);
  while (in_part_ && GB_TRY(read(rest)) > 0) {
  }
  // After a delimiter comes the end of its line, or the two dashes of the last one.
  while (buffer_.size() - start_ < 2) {
    if (!GB_TRY(fill())) {
      return malformed();
    }
  }
  if (buffer_.compare(start_, 2, "--") == 0) {
    ended_ = true;
    return std::optional<Part>();
  }
  if (++parts_ > kMaxParts) {
    return Error(ErrorCode::kInvalid, "too many parts");
  }
  (void)GB_TRY(take_until("\r\n", 64));
  // The search includes this line break, for a part without headers.
  start_ -= 2;
  const std::string head = GB_TRY(take_until("\r\n\r\n", kMaxHead));
  Part part;
  std::string_view lines = head;
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find("\r\n"), lines.size());
    const std::string_view line = lines.substr(0, end);
    lines.remove_prefix(std::min(end + 2, lines.size()));
    if (starts_with_any_case(line, "content-disposition:")) {
      part.name = parameter(line, "name").value_or("");
      if (auto filename = parameter(line, "filename")) {
        part.filename = unescaped(std::move(*filename));
      }
    }
  }
  in_part_ = true;
  return std::optional(std::move(part));
}

Result<std::size_t> Multipart::read(std::span<char> into) {
  if (!in_part_ || into.empty()) {
    return std::size_t{0};
  }
  for (;;) {
    const std::size_t found = buffer_.find(delimiter_, start_);
    if (found == start_) {
      start_ += delimiter_.size();
      in_part_ = false;
      return std::size_t{0};
    }
    // What might be the front of a delimiter has to wait for what follows it.
    const std::size_t sure = found != std::string::npos
                                 ? found
                                 : buffer_.size() - std::min(buffer_.size(), delimiter_.size());
    if (sure > start_) {
      const std::size_t count = std::min(sure - start_, into.size());
      std::memcpy(into.data(), buffer_.data() + start_, count);
      start_ += count;
      return count;
    }
    if (!GB_TRY(fill())) {
      return malformed();
    }
  }
}

}  // namespace glovebox::e2b
