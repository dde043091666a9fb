// SPDX-License-Identifier: Apache-2.0
#include "doors/rest/port_pass.h"

#include <algorithm>

namespace glovebox::rest {
namespace {

constexpr std::string_view kParameter = "glovebox_token=";

// Calls `take` with each part between separators.
template <typename Take>
void split(std::string_view text, char separator, const Take& take) {
  while (!text.empty()) {
    const std::size_t end = text.find(separator);
    take(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
}

}  // namespace

PortPass show_port_pass(const http::Request& request, std::string_view query) {
  PortPass pass;
  if (const auto header = request.header("x-port-token")) {
    pass.token = *header;
    return pass;
  }
  // A token has no character that a query would encode.
  split(query, '&', [&pass](std::string_view part) {
    if (part.starts_with(kParameter)) {
      pass.token = part.substr(kParameter.size());
      pass.in_query = true;
    } else {
      pass.rest_of_query += (pass.rest_of_query.empty() ? "?" : "&") + std::string(part);
    }
  });
  // Other sandboxes are of the same site, so SameSite does not keep their pages from sending this
  // cookie; what they send names their origin (Fetch standard, 3.2).
  const std::string_view origin = request.header("origin").value_or("");
  const std::string_view from = origin.substr(std::min(origin.find("://") + 3, origin.size()));
  if (pass.in_query || (!origin.empty() && from != request.header("host").value_or(""))) {
    return pass;
  }
  split(request.header("cookie").value_or(""), ';', [&pass](std::string_view part) {
    part.remove_prefix(std::min(part.find_first_not_of(' '), part.size()));
    if (part.starts_with(kPortCookie) && part.substr(kPortCookie.size()).starts_with('=')) {
      pass.token = part.substr(kPortCookie.size() + 1);
    }
  });
  return pass;
}

bool carries_key(const http::Request& request) {
  // Keys have this form (service/tenants/api_key.h).
  return request.header("authorization").value_or("").starts_with("Bearer e2b_");
}

}  // namespace glovebox::rest
