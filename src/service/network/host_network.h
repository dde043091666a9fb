// SPDX-License-Identifier: Apache-2.0
// How this host reaches the network: its name servers, and the proxy that it is behind.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "spec/egress_protocol.h"

namespace glovebox {

// The name servers of a resolv.conf(5), at most egress::Order::kMaxNameServers.
std::vector<egress::Endpoint> parse_name_servers(std::string_view resolv_conf);

// http://[USER:PASSWORD@]HOST[:PORT][/]; kInvalid for anything else.
Result<egress::Upstream> parse_upstream(std::string_view url);

// What NO_PROXY lists: names, which count for all names below them, too; addresses and blocks. A
// "*" among them makes the result empty. Anything else is left out.
std::vector<NetworkRule> parse_no_proxy(std::string_view list);

// Fills in what an order says of this host: name servers from /etc/resolv.conf, or from
// GLOVEBOX_NAME_SERVERS (ADDRESS[:PORT], with commas between); proxies from HTTP_PROXY, HTTPS_PROXY
// and NO_PROXY, lower case first. `variable` looks one up and returns nothing if it is not set.
using Variable = std::function<std::optional<std::string>(const char* name)>;
Result<void> describe_host(egress::Order& order, const Variable& variable);

}  // namespace glovebox
