// SPDX-License-Identifier: Apache-2.0
// What a request for a port shows to be let in, besides a key.
#pragma once

#include <string>
#include <string_view>

#include "doors/transport/http.h"

namespace glovebox::rest {

inline constexpr std::string_view kPortCookie = "glovebox_port";

struct PortPass {
  std::string token;          // Empty: none.
  bool in_query = false;      // It came as "glovebox_token=".
  std::string rest_of_query;  // Then: the query without it, with its question mark.
};

// Of the header X-Port-Token, else of the query, else of the cookie.
PortPass show_port_pass(const http::Request& request, std::string_view query);

// Whether its Authorization is a key of ours.
bool carries_key(const http::Request& request);

}  // namespace glovebox::rest
