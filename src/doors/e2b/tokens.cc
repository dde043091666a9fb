// SPDX-License-Identifier: Apache-2.0
// The plain functions, not EVP: a static program would get all providers with it.
#define OPENSSL_API_COMPAT 0x10100000L
#include "doors/e2b/tokens.h"

#include <openssl/crypto.h>

#include <cstdint>

#include "base/base64.h"
#include "base/digest/digest.h"
#include "base/hex.h"
#include "base/random.h"

namespace glovebox::e2b {
namespace {

constexpr std::size_t kTokenBytes = 16;
constexpr std::size_t kMaxToken = 512;

}  // namespace

std::string make_token(std::string_view tenant) {
  return token_of(tenant, random_hex(kTokenBytes));
}

std::string token_of(std::string_view tenant, std::string_view secret) {
  return to_hex(tenant) + "." + std::string(secret);
}

std::optional<std::string> tenant_of_token(std::string_view token) {
  const std::size_t dot = token.find('.');
  if (dot == std::string_view::npos || token.size() > kMaxToken) {
    return std::nullopt;
  }
  return from_hex(token.substr(0, dot));
}

bool equal_secrets(std::string_view given, std::string_view secret) {
  if (secret.empty() || given.size() != secret.size()) {
    return false;
  }
  return ::CRYPTO_memcmp(given.data(), secret.data(), secret.size()) == 0;
}

std::string signature_of(const SignedRequest& request, std::string_view token) {
  std::string raw = request.path + ":" + (request.writes ? "write" : "read") + ":" + request.user +
                    ":" + std::string(token);
  if (!request.expiration.empty()) {
    raw += ":" + request.expiration;
  }
  const Sha256 digest = sha256(raw);
  std::string text = to_base64({reinterpret_cast<const char*>(digest.data()), digest.size()});
  text.resize(text.find_last_not_of('=') + 1);
  return "v1_" + text;
}

}  // namespace glovebox::e2b
