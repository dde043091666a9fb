// SPDX-License-Identifier: Apache-2.0
#include "spec/json/error_json.h"

#include <nlohmann/json.hpp>

#include "base/text.h"

namespace glovebox {
namespace {

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

}  // namespace

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

std::string to_json(const Error& error) {
  return nlohmann::ordered_json{{"code", http_status(error.code())},
                                {"error", name_of(error.code())},
                                {"message", to_utf8(error.message())},
                                {"hint", to_utf8(error.hint())}}
      .dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace glovebox
