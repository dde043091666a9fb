// SPDX-License-Identifier: Apache-2.0
// The plain functions, not EVP: they allocate nothing, and this is called for every record.
#define OPENSSL_API_COMPAT 0x10100000L
#include "audit/digest.h"

#include <openssl/sha.h>

#include <algorithm>
#include <array>

namespace glovebox::audit {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

}  // namespace

std::string to_hex(std::string_view bytes) {
  std::string text;
  text.reserve(2 * bytes.size());
  for (const char byte : bytes) {
    text += kDigits[static_cast<unsigned char>(byte) >> 4U];
    text += kDigits[static_cast<unsigned char>(byte) & 15U];
  }
  return text;
}

std::string from_hex(std::string_view text) {
  std::string bytes;
  if (text.size() % 2 != 0) {
    return bytes;
  }
  bytes.reserve(text.size() / 2);
  for (std::size_t at = 0; at < text.size(); at += 2) {
    const auto high = kDigits.find(text[at]);
    const auto low = kDigits.find(text[at + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) {
      return {};
    }
    bytes += static_cast<char>(high * 16 + low);
  }
  return bytes;
}

bool is_hash(std::string_view text) {
  return text.size() == kHashSize && std::ranges::all_of(text, [](char c) {
           return kDigits.find(c) != std::string_view::npos;
         });
}

std::string sha256(std::string_view bytes) {
  SHA256_CTX state{};
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  (void)::SHA256_Init(&state);
  (void)::SHA256_Update(&state, bytes.data(), bytes.size());
  (void)::SHA256_Final(digest.data(), &state);
  return to_hex({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

}  // namespace glovebox::audit
