// SPDX-License-Identifier: Apache-2.0
// Ed25519: the owner of the private key signs what the journal holds; anybody with the public key
// can check that.
//
// A signature also covers a purpose, so that what was signed as one thing cannot pass for another.
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
  // 16 hexadecimal digits, for people to tell keys apart.
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
  // Reads the key in a directory; with `create`, makes it, mode 0600, if there is none. It is on
  // the disk when this returns. kNotFound if it is missing, kRefused if others can read it.
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
