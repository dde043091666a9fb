// SPDX-License-Identifier: Apache-2.0
// What a server in a sandbox gets to see of a request for its port. Every door asks here, so there
// is one list of what is not for guests.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "doors/transport/http.h"

namespace glovebox::ports {

// The cookie with a port token; the second if clients reach us by TLS: a browser takes it from no
// other host, nor from a page without TLS (RFC 6265bis, 4.1.3).
inline constexpr std::string_view kCookie = "glovebox_port";
inline constexpr std::string_view kSecureCookie = "__Host-glovebox_port";

// Calls `take` with each part of a list, without the spaces around it.
template <typename Take>
void split(std::string_view text, char separator, const Take& take) {
  while (!text.empty()) {
    const std::size_t end = text.find(separator);
    std::string_view part = text.substr(0, end);
    part.remove_prefix(std::min(part.find_first_not_of(" \t"), part.size()));
    part = part.substr(0, part.find_last_not_of(" \t") + 1);
    take(part);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
}

// Whether a key of ours appears anywhere in the text (service/tenants/api_key.h).
bool holds_key(std::string_view text);

// The head of the request for the guest: its method, `target`, and its headers without
//  - those of the connection with us, and those that Connection names (RFC 9110, 7.6.1),
//  - our tokens, our cookie, and every header that holds a key of ours.
// An authorization of the guest's own goes through. `host` replaces the client's Host.
std::string guest_head(const http::Request& request,
                       std::string_view target,
                       const std::optional<std::string>& host);

}  // namespace glovebox::ports
