// SPDX-License-Identifier: Apache-2.0
#include "context/notebook/media.h"

#include "base/base64.h"
#include "base/json/json.h"
#include "base/text.h"
#include "context/notebook/json_bounds.h"
#include "context/notebook/markup.h"

namespace glovebox::notebook {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxValues = 5'000;
constexpr std::size_t kMaxDepth = 40;

void append_json(std::string& html, const Json& json, const std::string& label, bool open) {
  if (!json.is_structured() || json.empty()) {
    const char* const kind = json.is_string() ? "s" : json.is_number() ? "n" : "k";
    html += "<div>" + label + "<span class=\"" + kind + "\">" +
            escaped(json.dump(-1, ' ', false, Json::error_handler_t::replace)) + "</span></div>";
    return;
  }
  const bool is_object = json.is_object();
  const std::string count =
      std::to_string(json.size()) +
      (is_object ? (json.size() == 1 ? " key" : " keys") : (json.size() == 1 ? " item" : " items"));
  html += std::string("<details") + (open ? " open" : "") + "><summary>" + label +
          (is_object ? "{…} " : "[…] ") + "<small>" + count + "</small></summary>";
  std::size_t index = 0;
  for (const auto& [key, value] : json.items()) {
    const std::string name = is_object ? escaped(key) : std::to_string(index++);
    append_json(html, value, "<b>" + name + "</b>: ", false);
  }
  html += "</details>";
}

}  // namespace

std::optional<std::string> text_value(const MimeBundle& data, std::string_view mime) {
  const auto found = data.find(std::string(mime));
  if (found == data.end()) {
    return std::nullopt;
  }
  // A text has no depth: whatever does not begin with a quote is not parsed at all.
  if (!found->second.starts_with('"')) {
    return std::nullopt;
  }
  const Json json = Json::parse(found->second, nullptr, false);
  return json.is_string() ? std::optional(json.get<std::string>()) : std::nullopt;
}

std::optional<std::string> data_address(const MimeBundle& data, std::string_view mime) {
  const auto value = text_value(data, mime);
  if (!value) {
    return std::nullopt;
  }
  const auto base64 =
      mime == "image/svg+xml" ? std::optional(to_base64(*value)) : clean_base64(*value);
  return base64 && !base64->empty()
             ? std::optional("data:" + std::string(mime) + ";base64," + *base64)
             : std::nullopt;
}

std::optional<std::string> image_address(const MimeBundle& data) {
  for (const char* const mime :
       {"image/svg+xml", "image/png", "image/jpeg", "image/gif", "image/webp"}) {
    if (auto address = data_address(data, mime)) {
      return address;
    }
  }
  return std::nullopt;
}

std::string json_to_html(const std::string& text) {
  const Json json = check_json_bounds(text, kMaxDepth, kMaxValues)
                        ? Json::parse(text, nullptr, false)
                        : Json(Json::value_t::discarded);
  if (json.is_discarded()) {
    return "<pre>" + escaped(to_utf8(text)) + "</pre>";
  }
  std::string html = "<div class=\"json\">";
  append_json(html, json, "", true);
  return html + "</div>";
}

}  // namespace glovebox::notebook
