// SPDX-License-Identifier: Apache-2.0
// Port tokens: who shows one may use one port of one sandbox until it is over, and nothing else.
//
// They are for what cannot send a key: a page in a browser. A token is "EXPIRY.TENANT.MAC", the MAC
// being HMAC-SHA256 under a secret of this daemon's that ends with it.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace glovebox::rest {

class PortTokens {
 public:
  PortTokens();

  using Time = std::chrono::system_clock::time_point;
  [[nodiscard]] std::string make(std::string_view tenant,
                                 std::string_view sandbox,
                                 std::uint16_t port,
                                 Time expires) const;

  // The tenant for whom it was made; nothing for what is no token for this port, or is over. Takes
  // the same time wherever a MAC differs.
  [[nodiscard]] std::optional<std::string> tenant_of(std::string_view token,
                                                     std::string_view sandbox,
                                                     std::uint16_t port,
                                                     Time now) const;

 private:
  [[nodiscard]] std::string mac(std::string_view text) const;

  std::array<unsigned char, 32> secret_{};
};

}  // namespace glovebox::rest
