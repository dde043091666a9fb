// SPDX-License-Identifier: Apache-2.0
// Netlink messages (netlink(7)) in a buffer of a fixed size. They can be written at compile time,
// and between clone and exec.
#pragma once

#include <linux/netlink.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace glovebox::child {

class NetlinkBatch {
 public:
  static constexpr std::size_t kRoom = 1024;

  // A message with what `fill` adds to it.
  template <typename Fill>
  constexpr void message(std::uint16_t type, std::uint16_t flags, Fill fill) {
    const std::size_t start = size_;
    number(std::uint32_t{0});
    number(type);
    number(static_cast<std::uint16_t>(flags | NLM_F_REQUEST));
    number(std::uint32_t{0});
    number(std::uint32_t{0});
    fill();
    set(start, static_cast<std::uint32_t>(size_ - start));
  }

  // In the byte order of the machine, as netlink's own fields are.
  template <typename Number>
  constexpr void number(Number value) {
    static_assert(std::endian::native == std::endian::little);
    for (std::size_t i = 0; i < sizeof value; ++i) {
      byte(static_cast<std::uint8_t>(static_cast<std::uint64_t>(value) >> (8 * i)));
    }
  }
  constexpr void byte(std::uint8_t value) {
    bytes_[size_++] = value;
  }  // Beyond kRoom: no constant.

  template <typename Fill>
  constexpr void nested(std::uint16_t type, Fill fill) {
    attribute(static_cast<std::uint16_t>(type | NLA_F_NESTED), fill);
  }
  constexpr void text(std::uint16_t type, std::string_view value) {
    attribute(type, [&] {
      for (const char c : value) {
        byte(static_cast<std::uint8_t>(c));
      }
      byte(0);
    });
  }
  // Numbers of nftables have the byte order of the network.
  constexpr void big32(std::uint16_t type, std::uint32_t value) {
    attribute(type, [&] { number(__builtin_bswap32(value)); });
  }
  constexpr void number32(std::uint16_t type, std::uint32_t value) {
    attribute(type, [&] { number(value); });
  }
  template <std::size_t size>
  constexpr void bytes(std::uint16_t type, const std::array<std::uint8_t, size>& value) {
    attribute(type, [&] {
      for (const std::uint8_t one : value) {
        byte(one);
      }
    });
  }

  [[nodiscard]] constexpr const std::uint8_t* data() const { return bytes_.data(); }
  [[nodiscard]] constexpr std::size_t size() const { return size_; }

 private:
  template <typename Fill>
  constexpr void attribute(std::uint16_t type, Fill fill) {
    const std::size_t start = size_;
    number(std::uint16_t{0});
    number(type);
    fill();
    const auto length = static_cast<std::uint16_t>(size_ - start);
    bytes_[start] = static_cast<std::uint8_t>(length);
    bytes_[start + 1] = static_cast<std::uint8_t>(length >> 8U);
    while (size_ % NLA_ALIGNTO != 0) {
      byte(0);
    }
  }
  constexpr void set(std::size_t at, std::uint32_t value) {
    for (std::size_t i = 0; i < sizeof value; ++i) {
      bytes_[at + i] = static_cast<std::uint8_t>(value >> (8 * i));
    }
  }

  std::array<std::uint8_t, kRoom> bytes_{};
  std::size_t size_ = 0;
};

// A socket of netlink's, in the calling thread's network namespace; or a negative errno.
long open_netlink(int protocol) noexcept;

// Has the kernel do what the messages say. The last one, and only that, must ask for an answer
// (NLM_F_ACK). Zero, or a negative errno: what the kernel says about the first one that fails.
long tell_kernel(long netlink, const NetlinkBatch& batch) noexcept;

}  // namespace glovebox::child
