// SPDX-License-Identifier: Apache-2.0
#include "service/templates/image_config.h"

#include <utility>

#include "base/json/json.h"
#include "base/text.h"
#include "spec/json/bounded_json.h"

namespace glovebox {
namespace {

using nlohmann::json;

constexpr std::size_t kMostBytes = 48UL * 1024;
constexpr std::size_t kMostValues = 4'096;
constexpr std::size_t kMaxUser = 128;
constexpr std::size_t kMaxPath = 4'096;

Error bad(const std::string& field, const std::string& why) {
  return {ErrorCode::kInvalid, "invalid image configuration: '" + field + "' " + why};
}

// A member that is null is left out, as Docker writes it.
const json* member(const json& object, const char* name) {
  const auto found = object.find(name);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

Result<std::string> checked(const json& value, const char* name) {
  if (!value.is_string()) {
    return bad(name, "is not a string");
  }
  auto text = value.get<std::string>();
  if (text.find('\0') != std::string::npos) {
    return bad(name, "contains a NUL byte");
  }
  return text;
}

Result<std::string> text_of(const json& object, const char* name) {
  const json* const value = member(object, name);
  return value == nullptr ? Result<std::string>(std::string()) : checked(*value, name);
}

Result<std::vector<std::string>> words_of(const json& object, const char* name) {
  std::vector<std::string> words;
  const json* const list = member(object, name);
  if (list == nullptr) {
    return words;
  }
  if (!list->is_array()) {
    return bad(name, "is not a list");
  }
  for (const json& word : *list) {
    words.push_back(GB_TRY(checked(word, name)));
  }
  return words;
}

// The names of an object whose values say nothing: {"80/tcp": {}}.
Result<std::vector<std::string>> names_of(const json& object, const char* name) {
  std::vector<std::string> names;
  const json* const set = member(object, name);
  if (set == nullptr) {
    return names;
  }
  if (!set->is_object()) {
    return bad(name, "is not an object");
  }
  for (const auto& [key, value] : set->items()) {
    names.push_back(GB_TRY(checked(key, name)));
  }
  return names;
}

Result<Environment> labels_of(const json& object) {
  Environment labels;
  const json* const set = member(object, "Labels");
  if (set == nullptr) {
    return labels;
  }
  if (!set->is_object()) {
    return bad("Labels", "is not an object");
  }
  for (const auto& [key, value] : set->items()) {
    labels.emplace_back(key, GB_TRY(checked(value, "Labels")));
  }
  return labels;
}

json set_of(const std::vector<std::string>& names) {
  json set = json::object();
  for (const std::string& name : names) {
    set[name] = json::object();
  }
  return set;
}

Result<void> check_fields(const ImageConfig& config) {
  if (config.user.size() > kMaxUser || config.user.find_first_of("\n\r") != std::string::npos) {
    return bad("User", "is not the name of a user");
  }
  if (!config.directory.empty() &&
      (config.directory.front() != '/' || config.directory.size() > kMaxPath)) {
    return bad("WorkingDir", "is not an absolute path");
  }
  return check_size(config);
}

}  // namespace

std::string ImageConfig::other_than_root() const {
  const std::string name = user.substr(0, user.find(':'));
  return name == "root" || name == "0" ? std::string() : user;
}

std::vector<std::string> ImageConfig::command(const std::vector<std::string>& arguments) const {
  std::vector<std::string> words = entrypoint;
  const std::vector<std::string>& more = arguments.empty() ? cmd : arguments;
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

Result<ImageConfig> parse_image_config(const json& config) {
  ImageConfig made;
  if (config.is_null()) {
    return made;
  }
  if (!config.is_object()) {
    return Error(ErrorCode::kInvalid, "invalid image configuration: not an object");
  }
  made.user = GB_TRY(text_of(config, "User"));
  made.directory = GB_TRY(text_of(config, "WorkingDir"));
  made.entrypoint = GB_TRY(words_of(config, "Entrypoint"));
  made.cmd = GB_TRY(words_of(config, "Cmd"));
  made.ports = GB_TRY(names_of(config, "ExposedPorts"));
  made.volumes = GB_TRY(names_of(config, "Volumes"));
  made.labels = GB_TRY(labels_of(config));
  made.stop_signal = GB_TRY(text_of(config, "StopSignal"));
  made.has_healthcheck = member(config, "Healthcheck") != nullptr;
  GB_TRY(check_fields(made));
  return made;
}

Result<ImageConfig> read_image_config(std::string_view text) {
  return parse_image_config(GB_TRY(parse_json(text, {.values = kMostValues, .depth = 8})));
}

json to_json(const ImageConfig& config) {
  json object = json::object();
  const auto put = [&object](const char* name, auto&& value) {
    if (!value.empty()) {
      object[name] = std::forward<decltype(value)>(value);
    }
  };
  put("User", config.user);
  put("WorkingDir", config.directory);
  put("Entrypoint", config.entrypoint);
  put("Cmd", config.cmd);
  put("ExposedPorts", set_of(config.ports));
  put("Volumes", set_of(config.volumes));
  json labels = json::object();
  for (const auto& [name, value] : config.labels) {
    labels[name] = value;
  }
  put("Labels", std::move(labels));
  put("StopSignal", config.stop_signal);
  return object;
}

Result<void> check_size(const ImageConfig& config) {
  const std::string text = to_json(config).dump(-1, ' ', false, json::error_handler_t::replace);
  return text.size() > kMostBytes
             ? Error(ErrorCode::kInvalid, "the image's configuration is larger than 48 KiB",
                     "shorten its labels or its command")
             : Result<void>();
}

}  // namespace glovebox
