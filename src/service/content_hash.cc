// SPDX-License-Identifier: Apache-2.0
// The plain functions, not EVP: a static program would get all providers with it.
#define OPENSSL_API_COMPAT 0x10100000L
#include "service/content_hash.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <vector>

namespace glovebox {
namespace {

std::string finish(SHA256_CTX& state) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  (void)::SHA256_Final(digest.data(), &state);
  std::string text;
  for (const unsigned char byte : digest) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

}  // namespace

ContentHash::ContentHash() { (void)::SHA256_Init(&state_); }

ContentHash& ContentHash::add(std::string_view field) {
  const std::string length = std::to_string(field.size()) + ":";
  (void)::SHA256_Update(&state_, length.data(), length.size());
  (void)::SHA256_Update(&state_, field.data(), field.size());
  return *this;
}

ContentHash& ContentHash::add(std::uint64_t number) { return add(std::to_string(number)); }

std::string ContentHash::hex() { return finish(state_); }

BytesHash::BytesHash() { (void)::SHA256_Init(&state_); }

BytesHash& BytesHash::add(std::string_view bytes) {
  (void)::SHA256_Update(&state_, bytes.data(), bytes.size());
  return *this;
}

std::string BytesHash::hex() { return finish(state_); }

Result<std::string> hash_of_file(int fd) {
  BytesHash hash;
  std::vector<char> block(256 * 1024);
  for (;;) {
    const ssize_t got = ::read(fd, block.data(), block.size());
    if (got < 0) {
      if (errno == EINTR) {
        continue;
      }
      return Error::from_errno("read");
    }
    if (got == 0) {
      return hash.hex();
    }
    hash.add({block.data(), static_cast<std::size_t>(got)});
  }
}

}  // namespace glovebox
