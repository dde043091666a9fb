// SPDX-License-Identifier: Apache-2.0
// Secrets in requests: whatever head a guest sends, the value reaches its own host only, and what
// goes on is one request to that host, with the same body.
#include "egress/credentials.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "egress/request.h"
#include "require.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace glovebox;
  using namespace glovebox::egress;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (const auto target = CredentialTarget::parse(input.substr(0, 300))) {
    const auto again = CredentialTarget::parse(target->to_text());
    require(again && *again == *target);
  }
  if (const auto filled = fill_in(input.substr(0, 10'000), {{"A", "value"}})) {
    require(check_header_value(*filled).has_value());
  }
  if (const auto read = Credentials::decode(input)) {
    const auto again = Credentials::decode(read->encode().value());
    require(again && *again == *read);
  }
  std::size_t searched = 0;
  const auto end = http::end_of_head(input, searched);
  if (!end) {
    return 0;
  }
  const std::string value = "the real value of it";
  const Credentials credentials{
      .substitutions = {{.target = *CredentialTarget::parse("a.example"),
                         .placeholder = "placeholder_0123456789",
                         .value = value}},
      .settings = {
          {.target = *CredentialTarget::parse("a.example"), .header = "X-Key", .value = value}}};
  const CredentialFiller filler(credentials);
  for (const char* const host : {"a.example", "b.example"}) {
    const Place place = *parse_place(host, 443);
    auto parsed = parse_request_at(place, input.substr(0, *end), /*secure=*/true);
    auto* const request = std::get_if<Request>(&parsed);
    if (request == nullptr || !filler.fill(request->head, place, /*secure=*/true)) {
      continue;
    }
    const std::string onward = kept_head(*request);
    const bool ours = host[0] == 'a';
    require(onward.find(value) != std::string::npos == ours || input.find(value) != input.npos);
    std::size_t from = 0;
    require(http::end_of_head(onward, from) == onward.size());
    const auto again = http::parse_head(onward);
    const auto* const head = std::get_if<http::Head>(&again);
    require(head != nullptr);
    require(*http::find_header(head->headers, "host") == host);
    require(head->method == request->head.method && head->target == request->head.target);
    require(head->chunked == request->head.chunked);
    require(head->content_length == request->head.content_length);
    require(!ours || *http::find_header(head->headers, "x-key") == value);
  }
  return 0;
}
