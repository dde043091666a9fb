// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/answers.h"

#include <chrono>
#include <string>

#include "base/text.h"
#include "spec/json/error_json.h"

namespace glovebox::e2b {

void answer(http::Response& response, int status, const Json& body, http::Headers extra) {
  extra.emplace_back("Content-Type", "application/json");
  (void)response.send(status, extra, to_line(body));
}

void answer_empty(http::Response& response, int status) { (void)response.send(status, {}, ""); }

void answer_text(http::Response& response, int status, std::string_view text) {
  (void)response.send(status, {{"Content-Type", "text/plain; charset=utf-8"}}, text);
}

namespace {

// For an error that does not say how long to wait.
constexpr std::chrono::seconds kUsualWait{1};

// E2B's clients look at `code` and `message`; the hint is for the person behind them.
std::string_view usual_hint(int status) {
  switch (status) {
    case 401:
      return "send a valid API key as X-API-KEY, or the sandbox's access token";
    case 403:
      return "use a key with the required permission";
    case 404:
      return "check the name or id; it may have ended, or belong to another tenant";
    case 405:
      return "use a method that this route supports";
    case 409:
      return "check its current state first";
    case 429:
      return "try again later, or request less";
    default:
      return status < 500 ? "see docs/e2b.md for what is supported" : "";
  }
}

}  // namespace

namespace {

void refuse_until(http::Response& response,
                  int status,
                  std::string_view message,
                  std::string_view hint,
                  std::chrono::seconds wait) {
  http::Headers headers;
  if (status == 429) {
    headers.emplace_back("Retry-After", std::to_string(wait.count()));
  }
  const std::string_view told = hint.empty() ? usual_hint(status) : hint;
  answer(response, status,
         {{"code", status}, {"message", to_utf8(message)}, {"hint", to_utf8(told)}},
         std::move(headers));
}

}  // namespace

void refuse(http::Response& response, int status, std::string_view message, std::string_view hint) {
  refuse_until(response, status, message, hint, kUsualWait);
}

void refuse(http::Response& response, const Error& error) {
  refuse_until(response, http_status(error.code()), error.message(), error.hint(),
               error.retry_after().value_or(kUsualWait));
}

void refuse_traffic(http::Response& response,
                    int status,
                    std::string_view sandbox,
                    std::string_view message) {
  answer(response, status,
         {{"sandboxId", to_utf8(sandbox)}, {"message", to_utf8(message)}, {"code", status}});
}

void refuse_gone(http::Response& response, std::string_view sandbox) {
  refuse_traffic(response, 502, sandbox, "The sandbox was not found");
}

}  // namespace glovebox::e2b
