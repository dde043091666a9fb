// SPDX-License-Identifier: Apache-2.0
// What a request for a port shows to be let in, besides a key.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "doors/transport/http.h"

namespace glovebox::rest {

struct PortPass {
  std::vector<std::string> tokens;  // Any of them may be the one.
  bool in_query = false;            // It came as "glovebox_token=".
  std::string rest_of_query;        // Then: the query without it, with its question mark.
};

// From the header X-Port-Token, else the query, else the cookie, unless another site's page made
// the browser send it.
PortPass show_port_pass(const http::Request& request, std::string_view query, bool tls);

}  // namespace glovebox::rest
