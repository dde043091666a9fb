// SPDX-License-Identifier: Apache-2.0
// The plain functions, not EVP: a static program would get all providers with it.
#define OPENSSL_API_COMPAT 0x10100000L
#include "doors/e2b/tokens.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <sys/random.h>

#include <array>
#include <cerrno>
#include <cstdint>

#include "base/base64.h"
#include "doors/e2b/hex.h"

namespace glovebox::e2b {
namespace {

constexpr std::size_t kTokenBytes = 16;
constexpr std::size_t kMaxToken = 512;

}  // namespace

Result<std::string> random_hex(std::size_t bytes) {
  std::string random(bytes, '\0');
  std::size_t filled = 0;
  while (filled < bytes) {
    const ssize_t got = ::getrandom(random.data() + filled, bytes - filled, 0);
    if (got < 0 && errno != EINTR) {
      return Error::from_errno("getrandom");
    }
    filled += got > 0 ? static_cast<std::size_t>(got) : 0;
  }
  return to_hex(random);
}

Result<std::string> make_token(std::string_view tenant) {
  return token_of(tenant, GB_TRY(random_hex(kTokenBytes)));
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

std::string sha256(std::string_view bytes) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256_CTX state{};
  (void)::SHA256_Init(&state);
  (void)::SHA256_Update(&state, bytes.data(), bytes.size());
  (void)::SHA256_Final(digest.data(), &state);
  return {digest.begin(), digest.end()};
}

std::string signature_of(const SignedRequest& request, std::string_view token) {
  std::string raw = request.path + ":" + (request.writes ? "write" : "read") + ":" + request.user +
                    ":" + std::string(token);
  if (!request.expiration.empty()) {
    raw += ":" + request.expiration;
  }
  std::string text = to_base64(sha256(raw));
  text.resize(text.find_last_not_of('=') + 1);
  return "v1_" + text;
}

}  // namespace glovebox::e2b
