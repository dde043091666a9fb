// SPDX-License-Identifier: Apache-2.0
// The plain functions, not EVP: a static program would get all providers with it.
#define OPENSSL_API_COMPAT 0x10100000L
#include "service/tenants/api_key.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <sys/random.h>

#include <algorithm>
#include <cerrno>

namespace glovebox {
namespace {

constexpr std::string_view kPrefix = "e2b_";
constexpr std::string_view kDigits = "0123456789abcdef";
constexpr std::size_t kIdDigits = 16;
constexpr std::size_t kKeyDigits = 64;

}  // namespace

Result<std::string> make_api_key() {
  std::array<unsigned char, kKeyDigits / 2> bytes{};
  // Up to 256 bytes come whole once the kernel's source is ready; a signal may only end the wait.
  while (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    if (errno != EINTR) {
      return Error::from_errno("getrandom");
    }
  }
  std::string key(kPrefix);
  for (const unsigned char byte : bytes) {
    key += kDigits[byte >> 4];
    key += kDigits[byte & 15];
  }
  return key;
}

std::optional<std::string_view> id_of_api_key(std::string_view key) {
  if (key.size() != kPrefix.size() + kKeyDigits || !key.starts_with(kPrefix)) {
    return std::nullopt;
  }
  const std::string_view digits = key.substr(kPrefix.size());
  if (digits.find_first_not_of(kDigits) != std::string_view::npos) {
    return std::nullopt;
  }
  return digits.substr(0, kIdDigits);
}

ApiKeyHash hash_of_api_key(std::string_view key) {
  ApiKeyHash hash{};
  static_assert(std::tuple_size_v<ApiKeyHash> == SHA256_DIGEST_LENGTH);
  SHA256_CTX state{};
  (void)::SHA256_Init(&state);
  (void)::SHA256_Update(&state, key.data(), key.size());
  (void)::SHA256_Final(hash.data(), &state);
  return hash;
}

bool same_hash(const ApiKeyHash& left, const ApiKeyHash& right) {
  return ::CRYPTO_memcmp(left.data(), right.data(), left.size()) == 0;
}

}  // namespace glovebox
