// SPDX-License-Identifier: Apache-2.0
#include "spec/json/error_json.h"

#include "base/json/json.h"
#include "base/text.h"
#include "spec/json/schema.h"

namespace glovebox {
namespace {

using Json = nlohmann::ordered_json;

Json error_json(const Error& error) {
  return {{"schema", schema_of("error")},
          {"code", http_status(error.code())},
          {"error", name_of(error.code())},
          {"message", to_utf8(error.message())},
          {"hint", to_utf8(error.hint())}};
}

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string_view name_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalid:
      return "invalid";
    case ErrorCode::kNotFound:
      return "not_found";
    case ErrorCode::kConflict:
      return "conflict";
    case ErrorCode::kExhausted:
      return "exhausted";
    case ErrorCode::kUnsupported:
      return "unsupported";
    case ErrorCode::kUnavailable:
      return "unavailable";
    case ErrorCode::kRefused:
      return "refused";
    case ErrorCode::kInternal:
      return "internal";
  }
  return "internal";
}

int http_status(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalid:
      return 400;
    case ErrorCode::kNotFound:
      return 404;
    case ErrorCode::kConflict:
      return 409;
    case ErrorCode::kExhausted:
      return 429;
    case ErrorCode::kUnsupported:
      return 501;
    case ErrorCode::kUnavailable:
      return 503;
    case ErrorCode::kRefused:
      return 403;
    case ErrorCode::kInternal:
      return 500;
  }
  return 500;
}

std::string to_json(const Error& error) { return text_of(error_json(error)); }

std::string failed_event(const Error& error) {
  Json json = error_json(error);
  json["type"] = "failed";
  return text_of(json);
}

}  // namespace glovebox
