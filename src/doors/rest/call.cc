// SPDX-License-Identifier: Apache-2.0
#include "doors/rest/call.h"

#include <poll.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "doors/rest/routes.h"
#include "spec/json/error_json.h"
#include "spec/json/schema.h"

namespace glovebox::rest {
namespace {

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// For an error that does not say how long to wait.
constexpr std::chrono::seconds kUsualWait{1};

std::string usual_hint(const Call& call, ErrorCode code) {
  switch (code) {
    case ErrorCode::kNotFound:
      return "check the name or id; it may have ended, or belong to another tenant";
    case ErrorCode::kConflict:
      return "check its current state first";
    case ErrorCode::kExhausted:
      return "try again later, or request less";
    case ErrorCode::kRefused:
      return "use a key with the required permission";
    default:
      break;
  }
  return call.route == nullptr ? "see /openapi.json"
                               : "see " + std::string(call.request.method()) + " " +
                                     std::string(call.route->pattern) + " in /openapi.json";
}

}  // namespace

void Call::send(int code, std::string_view type, std::string_view body, http::Headers more) {
  more.emplace_back("Content-Type", type);
  more.emplace_back("X-Request-Id", request_id);
  (void)response.send(code, more, body);
}

void Call::send_json(int code, std::string_view document, const Json& json, http::Headers more) {
  Json whole{{"schema", schema_of(document)}};
  whole.update(json);
  send_json_text(code, text_of(whole), std::move(more));
}

void Call::send_json_text(int code, std::string_view text, http::Headers more) {
  send(code, "application/json", std::string(text) + "\n", std::move(more));
}

void Call::send_nothing() { (void)response.send(204, {{"X-Request-Id", request_id}}, ""); }

void Call::send_error(const Error& error) {
  if (oversized) {
    send_problem(413, "too_large",
                 "the body is larger than the " + std::to_string(route->body) +
                     " bytes that this route takes",
                 "send less in one request; files go through the file routes");
    return;
  }
  const int code = http_status(error.code());
  http::Headers more;
  if (code == 429 || code == 503) {
    more.emplace_back("Retry-After",
                      std::to_string(error.retry_after().value_or(kUsualWait).count()));
  }
  // The code that made the error may know no fix; here we know where to look for one.
  const bool helped = !error.hint().empty() || code >= 500;
  send_json_text(code,
                 to_json(helped ? error : Error(error).with_hint(usual_hint(*this, error.code()))),
                 std::move(more));
}

void Call::send_problem(int code,
                        std::string_view name,
                        std::string_view message,
                        std::string_view hint,
                        http::Headers more) {
  send_json(code, "error",
            {{"code", code}, {"error", name}, {"message", to_utf8(message)}, {"hint", hint}},
            std::move(more));
}

Result<void> Call::start(int code, http::Headers headers) {
  headers.emplace_back("X-Request-Id", request_id);
  return response.start(code, headers);
}

Result<void> Call::follow(int code,
                          http::Headers headers,
                          std::unique_ptr<http::PieceSource> source) {
  headers.emplace_back("X-Request-Id", request_id);
  GB_TRY(response.follow(code, headers, std::move(source)));
  return {};
}

Result<Fields> Call::fields() {
  const auto type = request.header("content-type");
  if (type && !type->starts_with("application/json") && request.content_length() != 0) {
    return Error(ErrorCode::kInvalid, "the body must be JSON",
                 "send it with Content-Type: application/json");
  }
  auto body = request.read_all(route->body);
  if (!body) {
    oversized = body.error().code() == ErrorCode::kExhausted;
    return std::move(body).error();
  }
  return Fields::parse(*std::move(body));
}

std::string Call::parameter(const char* name) const {
  const auto found = target.query.find(name);
  return found == target.query.end() ? std::string() : found->second;
}

bool Call::has_parameter(const char* name) const { return target.query.contains(name); }

Result<void> Call::only_parameters(std::initializer_list<std::string_view> names) const {
  for (const auto& [name, value] : target.query) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      std::string taken;
      for (const std::string_view each : names) {
        taken += (taken.empty() ? "" : ", ") + std::string(each);
      }
      return Error(
          ErrorCode::kInvalid, "unknown parameter '" + printable(name) + "'",
          taken.empty() ? "this route takes no parameters" : "allowed parameters: " + taken);
    }
  }
  return {};
}

Result<std::string> Call::idempotency_key() const {
  const auto key = request.header("idempotency-key");
  if (!key) {
    return std::string();
  }
  const bool fits =
      !key->empty() && key->size() <= 255 &&
      std::all_of(key->begin(), key->end(), [](char c) { return c > ' ' && c < 127; });
  if (!fits) {
    return Error(ErrorCode::kInvalid, "invalid Idempotency-Key",
                 "use 1 to 255 printable ASCII characters without spaces");
  }
  return std::string(*key);
}

bool Call::accepts(std::string_view type) const {
  const auto accept = request.header("accept");
  return accept && accept->find(type) != std::string_view::npos;
}

bool Call::has_left() const {
  pollfd gone{.fd = request.gone_fd(), .events = POLLIN, .revents = 0};
  return ::poll(&gone, 1, 0) == 1;
}

}  // namespace glovebox::rest
