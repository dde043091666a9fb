// SPDX-License-Identifier: Apache-2.0
#include "service/local/parts_json.h"

#include <nlohmann/json.hpp>
#include <string>

#include "service/keeper/codec.h"

namespace glovebox {
namespace {

using nlohmann::json;

std::string text_in(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::vector<std::string> texts_in(const json& object, const char* name) {
  std::vector<std::string> texts;
  const auto found = object.find(name);
  if (found != object.end() && found->is_array()) {
    for (const json& text : *found) {
      texts.push_back(text.is_string() ? text.get<std::string>() : std::string());
    }
  }
  return texts;
}

}  // namespace

json parts_json(const TemplateParts& parts) {
  json layers = json::array();
  for (const TemplateParts::Layer& layer : parts.layers) {
    layers.push_back({{"manager", to_string(layer.manager)}, {"key", layer.key}});
  }
  return {{"home", parts.home},
          {"user", parts.user},
          {"root", parts.root},
          {"files", parts.files},
          {"layers", std::move(layers)},
          {"packages", parts.packages},
          {"env", keeper::to_json(parts.env)},
          {"start", parts.start},
          {"ready", parts.ready},
          {"preload", parts.preload},
          {"limits", keeper::to_json(parts.limits)}};
}

std::optional<TemplateParts> to_parts(const json& object) {
  if (!object.is_object() || text_in(object, "home").empty()) {
    return std::nullopt;
  }
  TemplateParts parts{.home = text_in(object, "home"),
                      .user = text_in(object, "user"),
                      .root = text_in(object, "root"),
                      .files = text_in(object, "files"),
                      .layers = {},
                      .packages = texts_in(object, "packages"),
                      .env = keeper::to_environment(object.value("env", json::array())),
                      .start = text_in(object, "start"),
                      .ready = text_in(object, "ready"),
                      .preload = texts_in(object, "preload"),
                      .limits = keeper::to_limit_wishes(object.value("limits", json::object()))};
  const auto layers = object.find("layers");
  if (layers != object.end() && layers->is_array()) {
    for (const json& layer : *layers) {
      if (layer.is_object()) {
        parts.layers.push_back({.manager = text_in(layer, "manager") == "npm"
                                               ? PackageManager::kNpm
                                               : PackageManager::kPip,
                                .key = text_in(layer, "key")});
      }
    }
  }
  return parts;
}

}  // namespace glovebox
