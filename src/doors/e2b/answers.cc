// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/answers.h"

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

void refuse(http::Response& response, int status, std::string_view message) {
  http::Headers headers;
  if (status == 429) {
    headers.emplace_back("Retry-After", "1");
  }
  answer(response, status, {{"code", status}, {"message", to_utf8(message)}}, std::move(headers));
}

void refuse(http::Response& response, const Error& error) {
  refuse(response, http_status(error.code()), error.message());
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
