// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/request_state.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>

#include "base/base64.h"
#include "base/check.h"
#include "base/random.h"

namespace glovebox::mcp {

RequestState::RequestState() : key_(random_bytes(32)) {}

std::string RequestState::mac(std::string_view state) const {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  GB_CHECK(::HMAC(EVP_sha256(), key_.data(), static_cast<int>(key_.size()),
                  reinterpret_cast<const unsigned char*>(state.data()), state.size(), digest.data(),
                  &size) != nullptr);
  return to_base64({reinterpret_cast<const char*>(digest.data()), size});
}

std::string RequestState::sign(std::string_view state) const {
  return to_base64(state) + "." + mac(state);
}

std::optional<std::string> RequestState::open(std::string_view text) const {
  const std::size_t dot = text.find('.');
  if (dot == std::string_view::npos) {
    return std::nullopt;
  }
  auto state = from_base64(text.substr(0, dot));
  const std::string_view shown = text.substr(dot + 1);
  if (!state) {
    return std::nullopt;
  }
  const std::string expected = mac(*state);
  const bool valid = shown.size() == expected.size() &&
                     ::CRYPTO_memcmp(shown.data(), expected.data(), expected.size()) == 0;
  return valid ? state : std::nullopt;
}

}  // namespace glovebox::mcp
