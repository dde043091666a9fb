// SPDX-License-Identifier: Apache-2.0
#include "mime_values.h"

#include <algorithm>
#include <string_view>

#include "base/base64.h"

namespace glovebox::jupyter {
namespace {

constexpr std::size_t kMaxTypeLength = 255;
constexpr std::int64_t kMaxFetch = 1 << 20;

bool is_json(std::string_view type) {
  return type == "application/json" || type.ends_with("+json");
}

// Like Jupyter, which sends these in base64.
bool is_binary(std::string_view type) {
  return (type.starts_with("image/") && !type.ends_with("+xml")) || type.starts_with("audio/") ||
         type.starts_with("video/") || type == "application/pdf";
}

bool is_widget(std::string_view type) {
  return type.starts_with("application/vnd.jupyter.widget-");
}

// Empty lists and lists of anything but strings stay what they are.
bool is_lines(const Json& value) {
  return value.is_array() && !value.empty() &&
         std::all_of(value.begin(), value.end(), [](const Json& line) { return line.is_string(); });
}

Json in_our_form(std::string_view type, const Json& value) {
  if (is_json(type)) {
    return value;
  }
  std::string text;
  if (is_lines(value)) {
    for (const Json& line : value) {
      text += line.get_ref<const std::string&>();
    }
  } else {
    text = value.is_string() ? value.get<std::string>() : to_text(value);
  }
  if (is_binary(type)) {
    std::erase_if(text, [](char c) { return c == '\n' || c == '\r'; });
  }
  return text;
}

}  // namespace

Json MimeValues::translate(const Json& bundle) {
  Json translated = Json::object();
  if (!bundle.is_object()) {
    return translated;
  }
  for (const auto& [type, value] : bundle.items()) {
    if (translated.size() == kMaxTypes) {
      break;
    }
    if (is_widget(type) || type.size() > kMaxTypeLength) {
      continue;
    }
    Json ours = in_our_form(type, value);
    std::string text = ours.is_string() ? ours.get<std::string>() : to_text(ours);
    translated[type] = text.size() > inline_limit_ ? keep(std::move(text)) : std::move(ours);
  }
  return translated;
}

Json MimeValues::keep(std::string bytes) {
  const std::size_t size = bytes.size();
  while (!kept_.empty() && kept_size_ + size > kMaxKept) {
    kept_size_ -= kept_.front().bytes.size();
    kept_.pop_front();
  }
  const std::string ref = "r" + std::to_string(++count_);
  if (size <= kMaxKept) {
    kept_size_ += size;
    kept_.push_back({ref, std::move(bytes)});
  }
  return {{"ref", ref}, {"size", size}};
}

Json MimeValues::fetch(const Json& request) const {
  const std::string ref = string_at(request, "ref");
  const auto found = std::find_if(kept_.begin(), kept_.end(),
                                  [&ref](const Kept& value) { return value.ref == ref; });
  if (found == kept_.end()) {
    return {{"error", "no such value, or it is no longer kept"}};
  }
  const std::int64_t offset = integer_at(request, "offset", 0);
  const std::int64_t size = integer_at(request, "size", kMaxFetch);
  if (offset < 0 || size < 0) {
    return {{"error", "offset and size must not be negative"}};
  }
  const std::string_view bytes = found->bytes;
  const std::size_t begin = std::min(static_cast<std::size_t>(offset), bytes.size());
  const auto most = static_cast<std::size_t>(std::min(size, kMaxFetch));
  return {{"base64", to_base64(bytes.substr(begin, most))}, {"size", bytes.size()}};
}

}  // namespace glovebox::jupyter
