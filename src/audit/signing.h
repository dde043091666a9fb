// SPDX-License-Identifier: Apache-2.0
// Ed25519: who has the private key signs what the journal holds; anybody with the public one can
// tell.
//
// A signature covers a purpose too, so that what was signed as one thing is not taken for another.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

struct evp_pkey_st;

namespace glovebox::audit {

// Values; safe to use from any thread.
class PublicKey {
 public:
  // PEM text (RFC 7468), as openssl(1) writes it. kInvalid for anything else.
  static Result<PublicKey> parse(std::string_view pem);

  // `signature` is hexadecimal.
  [[nodiscard]] bool verifies(std::string_view purpose,
                              std::string_view bytes,
                              std::string_view signature) const;
  [[nodiscard]] Result<std::string> pem() const;
  // 16 hexadecimal digits by which people tell keys apart.
  [[nodiscard]] const std::string& id() const { return id_; }

 private:
  friend class SigningKey;
  PublicKey() = default;
  static Result<PublicKey> of(std::shared_ptr<evp_pkey_st> key);

  std::shared_ptr<evp_pkey_st> key_;
  std::string id_;
};

class SigningKey {
 public:
  // Reads the key below a directory; with `create`, makes it, mode 0600, where there is none. On
  // the disk when it returns. kNotFound where it is missing, kRefused where others can read it.
  static Result<SigningKey> open(int directory, bool create);

  // Hexadecimal.
  [[nodiscard]] Result<std::string> sign(std::string_view purpose, std::string_view bytes) const;
  [[nodiscard]] const PublicKey& public_key() const { return public_; }

 private:
  SigningKey() = default;

  std::shared_ptr<evp_pkey_st> key_;
  PublicKey public_;
};

// Names of files in the journal's directory.
inline constexpr const char* kPrivateKeyFile = "key.pem";
inline constexpr const char* kPublicKeyFile = "public.pem";

}  // namespace glovebox::audit
