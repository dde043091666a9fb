// SPDX-License-Identifier: Apache-2.0
#include "service/tenants/api_key.h"

#include <openssl/crypto.h>

#include <algorithm>

#include "base/digest/digest.h"
#include "base/hex.h"
#include "base/random.h"

namespace glovebox {
namespace {

constexpr std::string_view kPrefix = "e2b_";
constexpr std::size_t kIdDigits = 16;
constexpr std::size_t kKeyDigits = 64;

}  // namespace

std::string make_api_key() { return std::string(kPrefix) + random_hex(kKeyDigits / 2); }

std::optional<std::string_view> id_of_api_key(std::string_view key) {
  if (key.size() != kPrefix.size() + kKeyDigits || !key.starts_with(kPrefix)) {
    return std::nullopt;
  }
  const std::string_view digits = key.substr(kPrefix.size());
  if (!is_hex(digits)) {
    return std::nullopt;
  }
  return digits.substr(0, kIdDigits);
}

ApiKeyHash hash_of_api_key(std::string_view key) { return sha256(key); }

bool same_hash(const ApiKeyHash& left, const ApiKeyHash& right) {
  return ::CRYPTO_memcmp(left.data(), right.data(), left.size()) == 0;
}

}  // namespace glovebox
