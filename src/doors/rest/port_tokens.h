// SPDX-License-Identifier: Apache-2.0
// Port tokens: a client that shows one may use one port of one sandbox until it expires, and
// nothing else.
//
// They are for a page in a browser, which cannot send a key. A token is "EXPIRY.KEY.MAC" with the
// id of the key that asked for it, and ends with that key. The MAC is HMAC-SHA256 under the
// daemon's signing key, so a token outlives a restart.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace glovebox::rest {

class PortTokens {
 public:
  // `signing_key` must outlive it.
  explicit PortTokens(std::string_view signing_key) : signing_key_(signing_key) {}

  using Time = std::chrono::system_clock::time_point;
  [[nodiscard]] std::string make(std::string_view key,
                                 std::string_view sandbox,
                                 std::uint16_t port,
                                 Time expires) const;

  // The id of the key for which it was made, empty for a caller that needs none; nothing if it is
  // not a token of this port, or has expired. Takes the same time wherever a MAC differs.
  [[nodiscard]] std::optional<std::string> key_of(std::string_view token,
                                                  std::string_view sandbox,
                                                  std::uint16_t port,
                                                  Time now) const;

 private:
  [[nodiscard]] std::string mac(std::string_view text) const;

  std::string_view signing_key_;
};

}  // namespace glovebox::rest
