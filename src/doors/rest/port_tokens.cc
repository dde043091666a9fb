// SPDX-License-Identifier: Apache-2.0
#include "doors/rest/port_tokens.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>
#include <charconv>

#include "base/check.h"
#include "base/hex.h"

namespace glovebox::rest {
namespace {

constexpr std::size_t kMost = 256;

std::string signed_text(std::string_view head, std::string_view sandbox, std::uint16_t port) {
  return "port token|" + std::string(head) + "|" + std::string(sandbox) + "|" +
         std::to_string(port);
}

}  // namespace

std::string PortTokens::mac(std::string_view text) const {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  const auto* const bytes = reinterpret_cast<const unsigned char*>(text.data());
  GB_CHECK(::HMAC(::EVP_sha256(), signing_key_.data(), static_cast<int>(signing_key_.size()), bytes,
                  text.size(), digest.data(), &size) != nullptr);
  return to_hex({digest.data(), size});
}

std::string PortTokens::make(std::string_view key,
                             std::string_view sandbox,
                             std::uint16_t port,
                             Time expires) const {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(expires.time_since_epoch()).count();
  // Ids of keys have no dots.
  const std::string head = std::to_string(seconds) + "." + std::string(key);
  return head + "." + mac(signed_text(head, sandbox, port));
}

std::optional<std::string> PortTokens::key_of(std::string_view token,
                                              std::string_view sandbox,
                                              std::uint16_t port,
                                              Time now) const {
  const std::size_t first = token.find('.');
  const std::size_t last = token.rfind('.');
  if (token.size() > kMost || first == std::string_view::npos || first == last) {
    return std::nullopt;
  }
  const std::string wanted = mac(signed_text(token.substr(0, last), sandbox, port));
  const std::string_view given = token.substr(last + 1);
  if (given.size() != wanted.size() ||
      ::CRYPTO_memcmp(given.data(), wanted.data(), wanted.size()) != 0) {
    return std::nullopt;
  }
  std::int64_t expires = 0;
  const auto parsed = std::from_chars(token.data(), token.data() + first, expires);
  if (parsed.ptr != token.data() + first ||
      now.time_since_epoch() > std::chrono::seconds(expires)) {
    return std::nullopt;
  }
  return std::string(token.substr(first + 1, last - first - 1));
}

}  // namespace glovebox::rest
