// SPDX-License-Identifier: Apache-2.0
#include "spec/ip_address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <cstdio>

namespace glovebox {
namespace {

// In network order, so that bit 0 is the first one of the address.
void clear_from(IpAddress& address, unsigned bits) {
  for (unsigned bit = bits; bit < address.width(); ++bit) {
    address.bytes[bit / 8] &= static_cast<unsigned char>(~(0x80U >> bit % 8));
  }
}

bool is_mapped_v4(const IpAddress& address) {
  return !address.v4 &&
         std::all_of(address.bytes.begin(), address.bytes.begin() + 10,
                     [](unsigned char byte) { return byte == 0; }) &&
         address.bytes[10] == 0xff && address.bytes[11] == 0xff;
}

}  // namespace

std::string IpAddress::to_text() const {
  std::array<char, INET6_ADDRSTRLEN> text{};
  (void)::inet_ntop(v4 ? AF_INET : AF_INET6, bytes.data(), text.data(), text.size());
  std::string whole = text.data();
  if (!v4 && whole.contains('.')) {
    // inet_ntop(3) writes ::1:1 as ::0.1.0.1, which parse() refuses.
    const auto group = [this](std::size_t at) {
      return static_cast<unsigned>(bytes[at]) << 8U | bytes[at + 1];
    };
    std::array<char, 16> groups{};
    (void)std::snprintf(groups.data(), groups.size(), "%x:%x", group(12), group(14));
    whole.resize(whole.rfind(':') + 1);
    whole += groups.data();
  }
  return whole;
}

std::optional<IpAddress> IpAddress::parse(std::string_view text) {
  const std::string terminated(text);  // inet_pton(3) wants a C string,
  if (text.size() >= INET6_ADDRSTRLEN || text.find('\0') != std::string_view::npos) {
    return std::nullopt;  // and would stop at a NUL.
  }
  IpAddress address;
  address.v4 = text.find(':') == std::string_view::npos;
  if (!address.v4 && text.find('.') != std::string_view::npos) {
    return std::nullopt;
  }
  if (::inet_pton(address.v4 ? AF_INET : AF_INET6, terminated.c_str(), address.bytes.data()) != 1 ||
      is_mapped_v4(address)) {
    return std::nullopt;
  }
  // Refuses whatever else inet_pton(3) takes: "010.1.1.1" must not be read as 8.1.1.1 by anybody.
  if (address.v4 && address.to_text() != text) {
    return std::nullopt;
  }
  return address;
}

bool IpBlock::contains(const IpBlock& other) const {
  if (other.address.v4 != address.v4 || other.bits < bits) {
    return false;
  }
  IpAddress start = other.address;
  clear_from(start, bits);
  return start == address;
}

std::string IpBlock::to_text() const {
  return address.to_text() + (bits == address.width() ? "" : "/" + std::to_string(bits));
}

std::optional<IpBlock> IpBlock::parse(std::string_view text) {
  const std::size_t slash = text.find('/');
  const auto address = IpAddress::parse(text.substr(0, slash));
  if (!address) {
    return std::nullopt;
  }
  IpBlock block{.address = *address, .bits = address->width()};
  if (slash != std::string_view::npos) {
    const std::string_view length = text.substr(slash + 1);
    const char* const end = length.data() + length.size();
    const auto [rest, failure] = std::from_chars(length.data(), end, block.bits);
    if (failure != std::errc{} || rest != end || block.bits > address->width() ||
        (length.size() > 1 && length[0] == '0')) {
      return std::nullopt;
    }
    clear_from(block.address, block.bits);
  }
  return block;
}

}  // namespace glovebox
