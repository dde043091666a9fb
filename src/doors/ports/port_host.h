// SPDX-License-Identifier: Apache-2.0
// Host names that lead to a port of a sandbox.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace glovebox {

// "8000-ID.example.com:8440": the port and the sandbox that the first label of a host's name gives.
struct PortHost {
  std::uint16_t port = 0;
  std::string sandbox;
};
// Nothing for any other name. What follows a second dash in the label is ignored: older clients of
// E2B add the name of a node.
std::optional<PortHost> parse_port_host(std::string_view host);

}  // namespace glovebox
