// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/fields.h"

#include <charconv>

#include "spec/json/bounded_json.h"

namespace glovebox::e2b {
namespace {

constexpr std::size_t kMaxItems = 10'000;
// A build of a template may have 2,000 steps of some values each.
constexpr std::size_t kMostValues = 50'000;

std::string in_snake_case(std::string_view name) {
  std::string snake;
  for (const char c : name) {
    if (c >= 'A' && c <= 'Z') {
      snake += '_';
      snake += static_cast<char>(c - 'A' + 'a');
    } else {
      snake += c;
    }
  }
  return snake;
}

Error wrong_type(std::string_view name, std::string_view wanted) {
  return invalid("'" + std::string(name) + "' must be " + std::string(wanted));
}

}  // namespace

Error invalid(std::string message, std::string hint) {
  return {ErrorCode::kInvalid, std::move(message), std::move(hint)};
}

Result<Json> parse_object(std::string_view text, int nesting) {
  if (text.empty()) {
    return Json::object();
  }
  Json json =
      GB_TRY(parse_json(text, {.values = kMostValues, .depth = static_cast<std::size_t>(nesting)}));
  if (!json.is_object()) {
    return invalid("the body must be a JSON object");
  }
  return json;
}

Result<Json> read_object(http::Request& request, std::size_t most) {
  return parse_object(GB_TRY(request.read_all(most)));
}

const Json* member(const Json& object, std::string_view name) {
  if (!object.is_object()) {
    return nullptr;
  }
  auto found = object.find(std::string(name));
  if (found == object.end()) {
    found = object.find(in_snake_case(name));
  }
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

std::string text_of(const Json& object, std::string_view name) {
  const Json* value = member(object, name);
  return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
}

Result<std::optional<std::string>> text_member(const Json& object, std::string_view name) {
  const Json* value = member(object, name);
  if (value == nullptr) {
    return std::optional<std::string>();
  }
  if (!value->is_string()) {
    return wrong_type(name, "a string");
  }
  return std::optional(value->get<std::string>());
}

Result<std::optional<bool>> flag_member(const Json& object, std::string_view name) {
  const Json* value = member(object, name);
  if (value == nullptr) {
    return std::optional<bool>();
  }
  if (!value->is_boolean()) {
    return wrong_type(name, "true or false");
  }
  return std::optional(value->get<bool>());
}

Result<std::optional<std::int64_t>> number_member(const Json& object, std::string_view name) {
  const Json* value = member(object, name);
  if (value == nullptr) {
    return std::optional<std::int64_t>();
  }
  if (value->is_number_unsigned()) {
    const auto number = value->get<std::uint64_t>();
    if (number <= INT64_MAX) {
      return std::optional(static_cast<std::int64_t>(number));
    }
  } else if (value->is_number_integer()) {
    return std::optional(value->get<std::int64_t>());
  } else if (value->is_string()) {
    const auto text = value->get<std::string>();
    std::int64_t number = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (failure == std::errc{} && end == text.data() + text.size()) {
      return std::optional(number);
    }
  }
  return wrong_type(name, "an integer");
}

Result<Json> object_member(const Json& object, std::string_view name) {
  const Json* value = member(object, name);
  if (value == nullptr) {
    return Json::object();
  }
  if (!value->is_object()) {
    return wrong_type(name, "an object");
  }
  return *value;
}

Result<std::vector<std::string>> texts_member(const Json& object, std::string_view name) {
  const Json* value = member(object, name);
  std::vector<std::string> texts;
  if (value == nullptr) {
    return texts;
  }
  if (!value->is_array() || value->size() > kMaxItems) {
    return wrong_type(name, "a list of strings");
  }
  for (const Json& each : *value) {
    if (!each.is_string()) {
      return wrong_type(name, "a list of strings");
    }
    texts.push_back(each.get<std::string>());
  }
  return texts;
}

Result<std::map<std::string, std::string>> text_map_member(const Json& object,
                                                           std::string_view name) {
  const Json map = GB_TRY(object_member(object, name));
  std::map<std::string, std::string> texts;
  for (const auto& [key, value] : map.items()) {
    if (!value.is_string() || texts.size() >= kMaxItems) {
      return wrong_type(name, "an object of strings");
    }
    texts.emplace(key, value.get<std::string>());
  }
  return texts;
}

std::string to_line(const Json& json, bool ascii) {
  return json.dump(-1, ' ', ascii, Json::error_handler_t::replace);
}

}  // namespace glovebox::e2b
