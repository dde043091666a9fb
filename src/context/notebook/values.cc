// SPDX-License-Identifier: Apache-2.0
#include "context/notebook/values.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "base/base64.h"
#include "base/bytes.h"
#include "base/json/json.h"
#include "base/text.h"
#include "context/notebook/json_bounds.h"
#include "context/notebook/mime.h"

namespace glovebox::notebook {
namespace {

// Of a fetched value of a JSON type: as agents may send inline.
constexpr std::size_t kMaxDepth = 100;
constexpr std::size_t kMaxValues = 1'000'000;

bool is_base64(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' ||
         c == '/' || c == '=';
}

bool is_text_mime(std::string_view mime) { return is_line_mime(mime) || mime.ends_with("+xml"); }

// As an agent writes it; nothing for any other value. A guest may show an object that looks the
// same as JSON, and is then told that it is too large.
std::optional<Reference> reference_at(const std::string& mime, const std::string& value) {
  constexpr std::size_t kLongest = 200;
  if (!value.starts_with('{') || value.size() > kLongest) {
    return std::nullopt;
  }
  const auto json = nlohmann::json::parse(value, nullptr, false);
  if (!json.is_object() || json.size() != 2 || !json.contains("ref") || !json["ref"].is_string() ||
      !json.contains("size") || !json["size"].is_number_unsigned()) {
    return std::nullopt;
  }
  return Reference{mime, json["ref"].get<std::string>(), json["size"].get<std::uint64_t>()};
}

}  // namespace

std::vector<Reference> references_in(const MimeBundle& data) {
  std::vector<Reference> references;
  for (const auto& [mime, value] : data) {
    if (auto reference = reference_at(mime, value)) {
      references.push_back(std::move(*reference));
    }
  }
  return references;
}

std::optional<std::string> bytes_of_fetched(std::string fetched, std::string_view mime) {
  return is_json_mime(mime) || is_text_mime(mime) ? std::optional(std::move(fetched))
                                                  : from_base64(fetched);
}

std::optional<std::string> value_of_fetched(std::string fetched, std::string_view mime) {
  if (is_json_mime(mime)) {
    const bool fits =
        check_json_bounds(fetched, kMaxDepth, kMaxValues) && nlohmann::json::accept(fetched);
    return fits ? std::optional(std::move(fetched)) : std::nullopt;
  }
  if (!is_text_mime(mime)) {
    if (!std::ranges::all_of(fetched, is_base64)) {
      return std::nullopt;
    }
    fetched.insert(fetched.begin(), '"');
    fetched += '"';
    return fetched;
  }
  return nlohmann::json(std::move(fetched))
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void leave_out(MimeBundle& data, const std::vector<Reference>& references) {
  if (references.empty()) {
    return;
  }
  std::string names;
  for (const Reference& reference : references) {
    data.erase(reference.mime);
    names += (names.empty() ? "" : ", ") + printable(reference.mime) +
             (reference.size > 0 ? " of " + to_string(Bytes{reference.size}) : "");
  }
  const std::string text = text_of(data, "text/plain").value_or("");
  data["text/plain"] =
      nlohmann::json(text + (text.empty() ? "" : "\n") + "[too large to keep: " + names + "]")
          .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Event keep_inline(const Event& event, References references) {
  Event kept = event;
  std::vector<Reference> left_out;
  for (const auto& [mime, value] : event.data) {
    if (auto reference = reference_at(mime, value)) {
      if (references == References::kLeaveOut) {
        left_out.push_back(std::move(*reference));
      }
    } else if (!is_json_mime(mime) && !value.starts_with('"')) {
      // Only values of JSON types may be anything but a text.
      left_out.push_back({.mime = mime, .name = {}, .size = 0});
    }
  }
  leave_out(kept.data, left_out);
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
