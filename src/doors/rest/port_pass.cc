// SPDX-License-Identifier: Apache-2.0
#include "doors/rest/port_pass.h"

#include <algorithm>

#include "doors/ports/guest_head.h"

namespace glovebox::rest {
namespace {

constexpr std::string_view kParameter = "glovebox_token=";
// Another host of the site may have set one of the same name.
constexpr std::size_t kMostCookies = 4;

// Other sandboxes are of the same site, so SameSite does not keep their pages from sending this
// cookie. Their requests name their origin, or say where they come from (Fetch Metadata); a link
// that a person follows is let through, and an image, a script or a frame is not.
bool comes_from_elsewhere(const http::Request& request) {
  const std::string_view origin = request.header("origin").value_or("");
  const std::string_view from = origin.substr(std::min(origin.find("://") + 3, origin.size()));
  if (!origin.empty() && from != request.header("host").value_or("")) {
    return true;
  }
  const std::string_view site = request.header("sec-fetch-site").value_or("none");
  const bool followed = request.header("sec-fetch-mode") == "navigate" &&
                        request.header("sec-fetch-dest").value_or("document") == "document";
  return site != "none" && site != "same-origin" && !followed;
}

}  // namespace

PortPass show_port_pass(const http::Request& request, std::string_view query, bool tls) {
  PortPass pass;
  if (const auto header = request.header("x-port-token")) {
    pass.tokens = {std::string(*header)};
    return pass;
  }
  // A token has no character that a query would encode.
  ports::split(query, '&', [&pass](std::string_view part) {
    if (part.starts_with(kParameter)) {
      pass.tokens = {std::string(part.substr(kParameter.size()))};
      pass.in_query = true;
    } else {
      pass.rest_of_query += (pass.rest_of_query.empty() ? "?" : "&") + std::string(part);
    }
  });
  if (pass.in_query || comes_from_elsewhere(request)) {
    return pass;
  }
  const std::string_view name = tls ? ports::kSecureCookie : ports::kCookie;
  ports::split(request.header("cookie").value_or(""), ';', [&](std::string_view part) {
    if (part.starts_with(name) && part.substr(name.size()).starts_with('=') &&
        pass.tokens.size() < kMostCookies) {
      pass.tokens.emplace_back(part.substr(name.size() + 1));
    }
  });
  return pass;
}

}  // namespace glovebox::rest
