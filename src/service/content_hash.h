// SPDX-License-Identifier: Apache-2.0
// SHA-256: over a sequence of fields (ContentHash), and over bytes alone (BytesHash).
#pragma once

#include <openssl/sha.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace glovebox {

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

// The SHA-256 of what can still be read from `fd`, alone: as sha256sum(1) prints it.
Result<std::string> hash_of_file(int fd);

}  // namespace glovebox
