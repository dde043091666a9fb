// SPDX-License-Identifier: Apache-2.0
// SecretBox: encrypts what the database must not reveal, with keys in a file beside it.
//
// AES-256-GCM. Each sealed value names its key, has a nonce of its own, and is bound to what it
// belongs to: moved to another row, it does not open. A copy of the database alone reveals nothing.
//
// The key file is text: one "ID KEY" per line, in hex, the key in use first. More than one line
// means that a rotation is under way, or was cut short; each key still opens what it sealed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace glovebox {

inline constexpr std::size_t kSecretKeySize = 32;
inline constexpr std::size_t kSecretKeyIdSize = 8;

struct SecretKey {
  std::array<unsigned char, kSecretKeyIdSize> id{};
  std::array<unsigned char, kSecretKeySize> bytes{};

  static Result<SecretKey> random();
};

// Encrypts `value` under `key`, bound to `belongs_to`, which the result does not contain.
Result<std::string> seal(const SecretKey& key, std::string_view value, std::string_view belongs_to);

// kUnavailable if none of the keys sealed it, or if a byte of either text was changed.
Result<std::string> unseal(const std::vector<SecretKey>& keys,
                           std::string_view sealed,
                           std::string_view belongs_to);

// Whether `sealed` says that this key sealed it.
bool is_sealed_with(const SecretKey& key, std::string_view sealed);

// The key file, mode 0600. Not safe against another writer at the same time: a writer must hold
// the database's write lock.
class SecretKeyFile {
 public:
  explicit SecretKeyFile(std::string path) : path_(std::move(path)) {}

  // kNotFound if there is none; kRefused if others may read it; kInvalid if it is damaged.
  [[nodiscard]] Result<std::vector<SecretKey>> read() const;
  // Replaces the file atomically; it is on the disk when this returns.
  [[nodiscard]] Result<void> write(const std::vector<SecretKey>& keys) const;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace glovebox
