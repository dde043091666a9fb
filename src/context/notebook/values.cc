// SPDX-License-Identifier: Apache-2.0
#include "context/notebook/values.h"

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "base/text.h"
#include "context/notebook/mime.h"

namespace glovebox::notebook {
namespace {

bool is_text_mime(std::string_view mime) { return is_line_mime(mime) || mime.ends_with("+xml"); }

std::optional<std::string> from_base64(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  std::uint32_t group = 0;
  int bits = 0;
  for (const char c : text) {
    std::uint32_t digit = 0;
    if (c >= 'A' && c <= 'Z') {
      digit = static_cast<std::uint32_t>(c - 'A');
    } else if (c >= 'a' && c <= 'z') {
      digit = static_cast<std::uint32_t>(c - 'a') + 26;
    } else if (c >= '0' && c <= '9') {
      digit = static_cast<std::uint32_t>(c - '0') + 52;
    } else if (c == '+' || c == '/') {
      digit = c == '+' ? 62 : 63;
    } else if (c == '\n' || c == '\r' || c == ' ' || c == '=') {
      continue;
    } else {
      return std::nullopt;
    }
    group = (group << 6U) | digit;
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes += static_cast<char>((group >> static_cast<unsigned>(bits)) & 0xffU);
    }
  }
  return bytes;
}

}  // namespace

Event keep_inline(const Event& event) {
  Event kept = event;
  std::string left_out;
  for (auto entry = kept.data.begin(); entry != kept.data.end();) {
    // Only values of JSON types may be anything but a text.
    if (is_json_mime(entry->first) || entry->second.starts_with('"')) {
      ++entry;
      continue;
    }
    const auto reference = nlohmann::json::parse(entry->second, nullptr, false);
    std::string size;
    if (reference.is_object() && reference.contains("size") &&
        reference["size"].is_number_unsigned()) {
      size = " of " + to_string(Bytes{reference["size"].get<std::uint64_t>()});
    }
    left_out += (left_out.empty() ? "" : ", ") + printable(entry->first) + size;
    entry = kept.data.erase(entry);
  }
  if (!left_out.empty()) {
    const std::string text = text_of(kept.data, "text/plain").value_or("");
    kept.data["text/plain"] = nlohmann::json(text + (text.empty() ? "" : "\n") +
                                             "[too large to be kept: " + left_out + "]")
                                  .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
  return kept;
}

std::optional<std::string> text_of(const MimeBundle& data, std::string_view mime) {
  const auto found = data.find(std::string(mime));
  if (found == data.end()) {
    return std::nullopt;
  }
  const auto value = nlohmann::json::parse(found->second, nullptr, false);
  return value.is_string() ? std::optional(value.get<std::string>()) : std::nullopt;
}

std::optional<std::string> bytes_of(const MimeBundle& data, std::string_view mime) {
  const auto found = data.find(std::string(mime));
  if (found == data.end()) {
    return std::nullopt;
  }
  if (is_json_mime(mime)) {
    return found->second;
  }
  std::optional<std::string> text = text_of(data, mime);
  return text && !is_text_mime(mime) ? from_base64(*text) : text;
}

}  // namespace glovebox::notebook
