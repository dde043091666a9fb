// SPDX-License-Identifier: Apache-2.0
// The plain functions, not EVP: they allocate nothing, and a static program would get all providers
// with EVP.
#define OPENSSL_API_COMPAT 0x10100000L
#include "base/digest/digest.h"

#include <unistd.h>

#include <cerrno>
#include <vector>

#include "base/hex.h"

namespace glovebox {
namespace {

Sha256 finish(SHA256_CTX& state) {
  Sha256 digest{};
  (void)::SHA256_Final(digest.data(), &state);
  return digest;
}

}  // namespace

Sha256 sha256(std::string_view bytes) {
  SHA256_CTX state{};
  (void)::SHA256_Init(&state);
  (void)::SHA256_Update(&state, bytes.data(), bytes.size());
  return finish(state);
}

std::string sha256_hex(std::string_view bytes) { return to_hex(sha256(bytes)); }

ContentHash::ContentHash() { (void)::SHA256_Init(&state_); }

ContentHash& ContentHash::add(std::string_view field) {
  const std::string length = std::to_string(field.size()) + ":";
  (void)::SHA256_Update(&state_, length.data(), length.size());
  (void)::SHA256_Update(&state_, field.data(), field.size());
  return *this;
}

ContentHash& ContentHash::add(std::uint64_t number) { return add(std::to_string(number)); }

std::string ContentHash::hex() { return to_hex(finish(state_)); }

BytesHash::BytesHash() { (void)::SHA256_Init(&state_); }

BytesHash& BytesHash::add(std::string_view bytes) {
  (void)::SHA256_Update(&state_, bytes.data(), bytes.size());
  return *this;
}

std::string BytesHash::hex() { return to_hex(finish(state_)); }

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
