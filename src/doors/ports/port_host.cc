// SPDX-License-Identifier: Apache-2.0
#include "doors/ports/port_host.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace glovebox {

std::optional<PortHost> parse_port_host(std::string_view host) {
  // DNS bounds a label (RFC 1035, 2.3.4).
  constexpr std::size_t kMostLabel = 63;
  const std::size_t dot = host.find('.');
  const std::string_view label = host.substr(0, dot);
  const std::size_t dash = label.find('-');
  if (dot == std::string_view::npos || dash == std::string_view::npos ||
      label.size() > kMostLabel) {
    return std::nullopt;
  }
  PortHost name;
  const auto parsed = std::from_chars(label.data(), label.data() + dash, name.port);
  const std::string_view behind = label.substr(dash + 1);
  name.sandbox = behind.substr(0, behind.find('-'));
  const bool is_id = !name.sandbox.empty() && std::ranges::all_of(name.sandbox, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z');
  });
  return parsed.ec == std::errc() && parsed.ptr == label.data() + dash && name.port > 0 && is_id
             ? std::optional(std::move(name))
             : std::nullopt;
}

}  // namespace glovebox
