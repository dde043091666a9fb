// SPDX-License-Identifier: Apache-2.0
// IP addresses and blocks of them, read strictly: one spelling of each address, no surprises.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace glovebox {

// Values: any thread.
struct IpAddress {
  std::array<unsigned char, 16> bytes{};  // Of an IPv4 address the first four, the rest is zero.
  bool v4 = false;

  [[nodiscard]] unsigned width() const { return v4 ? 32 : 128; }
  [[nodiscard]] std::string to_text() const;  // RFC 5952 for IPv6.

  // Four decimal numbers without leading zeros, or IPv6 in hexadecimal (RFC 4291) without a zone.
  // IPv4 within IPv6 has no spelling: neither "::1.2.3.4" nor anything in ::ffff:0:0/96.
  static std::optional<IpAddress> parse(std::string_view text);

  friend auto operator<=>(const IpAddress&, const IpAddress&) = default;
};

// The addresses that share their first `bits` bits with `address`, whose other bits are zero.
struct IpBlock {
  IpAddress address{};
  unsigned bits = 0;

  // Whether each address of `other` is in this block.
  [[nodiscard]] bool contains(const IpBlock& other) const;
  [[nodiscard]] bool contains(const IpAddress& one) const {
    return contains(IpBlock{.address = one, .bits = one.width()});
  }
  // "10.0.0.0/8"; a single address without its length.
  [[nodiscard]] std::string to_text() const;

  // ADDRESS or ADDRESS/LENGTH. Bits beyond the length are cleared.
  static std::optional<IpBlock> parse(std::string_view text);

  friend auto operator<=>(const IpBlock&, const IpBlock&) = default;
};

}  // namespace glovebox
