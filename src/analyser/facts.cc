// SPDX-License-Identifier: Apache-2.0
#include "analyser/facts.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"
#include "base/text.h"

namespace glovebox::analyser {
namespace {

constexpr std::array<std::string_view, 8> kKinds = {"module", "name", "attribute", "host",
                                                    "file",   "file", "pattern",   "unparsed"};

// At most `most` bytes, and no part of a character.
std::string_view cut(std::string_view text, std::size_t most) {
  if (text.size() <= most) {
    return text;
  }
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0U) == 0x80) {
    --most;
  }
  return text.substr(0, most);
}

void append_quoted(std::string& json, std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  json += '"';
  const auto is_plain = [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; };
  if (std::ranges::all_of(text, is_plain)) {
    json += text;
    json += '"';
    return;
  }
  for (const char c : to_utf8(text)) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      json += '\\';
      json += c;
    } else if (code < 0x20) {
      json += "\\u00";
      json += kDigits[code >> 4U];
      json += kDigits[code & 15U];
    } else {
      json += c;
    }
  }
  json += '"';
}

std::string object_of(std::string_view kind, std::string_view name, Place place) {
  constexpr std::size_t kAround = 96;
  std::string json;
  json.reserve(name.size() + kAround);
  json += R"({"kind":")";
  json += kind;
  json += R"(","name":)";
  append_quoted(json, name);
  json += ",\"line\":";
  json += std::to_string(place.line);
  json += ",\"column\":";
  json += std::to_string(place.column);
  return json;
}

}  // namespace

void Facts::add(Kind kind, std::string_view name, Place place) {
  std::string json =
      object_of(kKinds.at(static_cast<std::size_t>(kind)), cut(name, kMostName), place);
  if (kind == Kind::kFileRead || kind == Kind::kFileWrite) {
    json += kind == Kind::kFileRead ? R"(,"mode":"read")" : R"(,"mode":"write")";
  }
  take(std::move(json), place);
}

void Facts::add_command(std::string_view name, const std::vector<std::string>& argv, Place place) {
  GB_CHECK(!argv.empty());
  std::string json = object_of("command", cut(name, kMostName), place) + ",\"argv\":[";
  for (std::size_t i = 0; i < argv.size() && i < kMostWords; ++i) {
    json += i == 0 ? "" : ",";
    append_quoted(json, cut(argv[i], kMostName));
  }
  take(json + "]", place);
}

void Facts::take(std::string object, Place place) {
  object += '}';
  if (full_ || seen_.contains(object)) {
    return;
  }
  if (found_.size() >= kMost || bytes_ + object.size() > kMostBytes) {
    full_ = true;
    object = object_of("unparsed", "there is too much in it to follow", place) + "}";
  }
  bytes_ += object.size();
  found_.push_back(std::move(object));
  seen_.insert(found_.back());
}

std::string Facts::json() const {
  std::string line = "[";
  line.reserve(bytes_ + found_.size() + 2);
  for (const std::string& each : found_) {
    line += line.size() == 1 ? "" : ",";
    line += each;
  }
  return line + "]";
}

}  // namespace glovebox::analyser
