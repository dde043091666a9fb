// SPDX-License-Identifier: Apache-2.0
#include "context/notebook/notebook.h"

#include <algorithm>

#include "base/json/json.h"

namespace glovebox::notebook {
namespace {

using Json = nlohmann::json;

Json parse_object(const std::string& text) {
  Json json = Json::parse(text, nullptr, false);
  return json.is_object() ? json : Json::object();
}

std::string text_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

Json object_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_object() ? *found : Json::object();
}

}  // namespace

About about(const Notebook& notebook) {
  const Json metadata = parse_object(notebook.metadata);
  const Json kernel = object_at(metadata, "kernelspec");
  About about{.title = text_at(metadata, "title"),
              .kernel = text_at(kernel, "display_name"),
              .language = text_at(object_at(metadata, "language_info"), "name")};
  if (about.language.empty()) {
    about.language = text_at(kernel, "language");
  }
  std::ranges::transform(about.language, about.language.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return about;
}

bool has_tag(const Cell& cell, std::string_view tag) {
  const Json metadata = parse_object(cell.metadata);
  const auto tags = metadata.find("tags");
  return tags != metadata.end() && tags->is_array() &&
         std::ranges::any_of(*tags, [tag](const Json& entry) {
           return entry.is_string() && entry.get_ref<const std::string&>() == tag;
         });
}

}  // namespace glovebox::notebook
