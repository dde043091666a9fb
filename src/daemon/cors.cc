// SPDX-License-Identifier: Apache-2.0
#include "daemon/cors.h"

#include <algorithm>

namespace glovebox {
namespace {

constexpr std::size_t kMostHeaders = 1'024;

// What a preflight asks for goes into our answer, so only names may pass.
bool is_list_of_names(std::string_view text) {
  return text.size() <= kMostHeaders && std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '-' ||
                  c == '_' || c == ',' || c == ' ';
         });
}

}  // namespace

std::string Cors::allowed(const http::Request& request) const {
  const auto origin = request.header("origin");
  for (const std::string& each : origins_) {
    if (origin && (each == "*" || each == *origin)) {
      return each;
    }
  }
  return {};
}

http::Headers Cors::headers(const http::Request& request) const {
  const std::string origin = allowed(request);
  if (origin.empty()) {
    return {};
  }
  return {{"Access-Control-Allow-Origin", origin},
          {"Access-Control-Expose-Headers",
           "Content-Range, ETag, Location, Retry-After, X-Next-Token, X-Request-Id"},
          {"Vary", "Origin"}};
}

bool Cors::answers(const http::Request& request, http::Response& response) const {
  const auto method = request.header("access-control-request-method");
  if (request.method() != "OPTIONS" || !method) {
    return false;
  }
  http::Headers headers = this->headers(request);
  if (headers.empty()) {
    return false;
  }
  headers.emplace_back("Access-Control-Allow-Methods",
                       "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS");
  const auto wanted = request.header("access-control-request-headers");
  if (wanted && is_list_of_names(*wanted)) {
    headers.emplace_back("Access-Control-Allow-Headers", *wanted);
  }
  headers.emplace_back("Access-Control-Max-Age", "600");
  (void)response.send(204, headers, "");
  return true;
}

}  // namespace glovebox
