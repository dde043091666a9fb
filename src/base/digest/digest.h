// SPDX-License-Identifier: Apache-2.0
// SHA-256: of bytes at once, of bytes that come in pieces (BytesHash), of a sequence of fields
// (ContentHash), and of a file.
#pragma once

#include <openssl/sha.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace glovebox {

using Sha256 = std::array<unsigned char, SHA256_DIGEST_LENGTH>;

// Allocates nothing. Any thread.
[[nodiscard]] Sha256 sha256(std::string_view bytes);
// 64 hexadecimal digits, as sha256sum(1) prints it.
[[nodiscard]] std::string sha256_hex(std::string_view bytes);

class ContentHash {
 public:
  ContentHash();

  // A field counts with its length, so that no two sequences of fields are the same bytes.
  ContentHash& add(std::string_view field);
  ContentHash& add(std::uint64_t number);

  // 64 hexadecimal digits. Nothing may be added afterwards.
  [[nodiscard]] std::string hex();

 private:
  SHA256_CTX state_{};
};

class BytesHash {
 public:
  BytesHash();

  BytesHash& add(std::string_view bytes);

  // As sha256sum(1) prints it. Nothing may be added afterwards.
  [[nodiscard]] std::string hex();

 private:
  SHA256_CTX state_{};
};

// The SHA-256 of what can still be read from `fd`, as sha256sum(1) prints it but without a name.
Result<std::string> hash_of_file(int fd);

}  // namespace glovebox
