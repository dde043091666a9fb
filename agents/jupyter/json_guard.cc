// SPDX-License-Identifier: Apache-2.0
#include "json_guard.h"

#include <algorithm>
#include <limits>

#include "base/text.h"

namespace glovebox::jupyter {
namespace {

// Counts brackets outside of strings; whether they match is the parser's business.
std::size_t depth_of(std::string_view text) {
  std::size_t depth = 0;
  std::size_t deepest = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') {
        ++i;
      } else if (c == '"') {
        in_string = false;
      }
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      deepest = std::max(deepest, ++depth);
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return deepest;
}

const Json* member(const Json& object, const char* key) {
  if (!object.is_object()) {
    return nullptr;
  }
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

}  // namespace

Result<Json> parse_json(std::string_view text, std::size_t most) {
  if (text.size() > most) {
    return Error(ErrorCode::kInvalid,
                 "JSON of " + std::to_string(text.size()) + " bytes exceeds the limit");
  }
  if (depth_of(text) > kMaxJsonDepth) {
    return Error(ErrorCode::kInvalid, "JSON is nested too deeply");
  }
  Json value = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (value.is_discarded() && !is_utf8(text)) {
    value = Json::parse(to_utf8(text), nullptr, /*allow_exceptions=*/false);
  }
  if (value.is_discarded()) {
    return Error(ErrorCode::kInvalid, "not JSON");
  }
  return value;
}

Result<Json> parse_json_object(std::string_view text, std::size_t most) {
  Json value = GB_TRY(parse_json(text, most));
  if (!value.is_object()) {
    return Error(ErrorCode::kInvalid, "not a JSON object");
  }
  return value;
}

std::string to_text(const Json& value) {
  return value.dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

std::string string_at(const Json& object, const char* key, std::string_view fallback) {
  const Json* found = member(object, key);
  return found != nullptr && found->is_string() ? found->get<std::string>() : std::string(fallback);
}

std::int64_t integer_at(const Json& object, const char* key, std::int64_t fallback) {
  const Json* found = member(object, key);
  if (found == nullptr || !found->is_number_integer()) {
    return fallback;
  }
  // An unsigned number above the signed range would come back negative.
  if (found->is_number_unsigned() &&
      found->get<std::uint64_t>() > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) {
    return fallback;
  }
  return found->get<std::int64_t>();
}

bool flag_at(const Json& object, const char* key, bool fallback) {
  const Json* found = member(object, key);
  return found != nullptr && found->is_boolean() ? found->get<bool>() : fallback;
}

const Json& object_at(const Json& object, const char* key) {
  static const Json kEmpty = Json::object();
  const Json* found = member(object, key);
  return found != nullptr && found->is_object() ? *found : kEmpty;
}

}  // namespace glovebox::jupyter
