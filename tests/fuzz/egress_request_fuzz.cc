// SPDX-License-Identifier: Apache-2.0
// Requests to the proxy: one that is taken names one place in one spelling, and what goes on to the
// server is a head that a strict reader takes for a request to that very place, with the same body.
#include "egress/request.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "doors/transport/head.h"
#include "require.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using glovebox::egress::parse_place;
  using glovebox::egress::Request;
  namespace http = glovebox::http;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  std::size_t searched = 0;
  const auto end = http::end_of_head(input, searched);
  if (!end) {
    return 0;
  }
  const auto parsed = glovebox::egress::parse_request(input.substr(0, *end));
  const Request* const request = std::get_if<Request>(&parsed);
  if (request == nullptr) {
    const int status = std::get<http::BadRequest>(parsed).status;
    require(status >= 400 && status <= 599);
    return 0;
  }
  const std::string place = request->place.to_text();
  const auto again = parse_place(place, 0);
  require(again && again->to_text() == place && again->port == request->place.port);
  require(again->address == request->place.address);
  const glovebox::egress::Upstream upstream{.host = "p", .port = 1, .credentials = "YTpi"};
  const std::string asked = glovebox::egress::tunnel_head(request->place, upstream);
  std::size_t from = 0;
  require(http::end_of_head(asked, from) == asked.size());
  if (request->connect) {
    return 0;
  }
  // Of the hundred headers that a strict reader takes, two are ours.
  if (request->head.headers.size() > 98) {
    return 0;
  }
  const std::string onward = glovebox::egress::onward_head(*request, nullptr);
  from = 0;
  require(http::end_of_head(onward, from) == onward.size());
  const auto read = http::parse_head(onward);
  const auto* const head = std::get_if<http::Head>(&read);
  require(head != nullptr);
  const auto host = parse_place(*http::find_header(head->headers, "host"), 80);
  require(host && host->to_text() == place);
  require(head->method == request->head.method && head->target == request->head.target);
  require(head->chunked == request->head.chunked);
  require(head->content_length == request->head.content_length);
  require(!head->keep_alive && !head->upgrade);
  return 0;
}
