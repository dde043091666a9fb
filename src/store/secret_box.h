// SPDX-License-Identifier: Apache-2.0
// SecretBox: encrypts what the database must not show, with keys in a file beside it.
//
// AES-256-GCM. Each sealed value names its key, has a nonce of its own, and is bound to what it
// belongs to: moved to another row it does not open. A copy of the database alone shows nothing.
//
// The key file is text: "ID KEY" a line, in hex, the key in use first. More than one line means
// that a rotation is under way, or was cut short; then each of them still opens what it sealed.
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

// The bytes of `value` and of `belongs_to`, which is not kept, under `key`.
Result<std::string> seal(const SecretKey& key, std::string_view value, std::string_view belongs_to);

// kUnavailable where none of the keys sealed it, and where a byte of either was changed.
Result<std::string> unseal(const std::vector<SecretKey>& keys,
                           std::string_view sealed,
                           std::string_view belongs_to);

// Whether `sealed` says that this key sealed it.
bool is_sealed_with(const SecretKey& key, std::string_view sealed);

// The key file, mode 0600. Not safe against another writer at the same time: whoever writes it
// holds the database's lock for writing.
class SecretKeyFile {
 public:
  explicit SecretKeyFile(std::string path) : path_(std::move(path)) {}

  // kNotFound where there is none; kRefused where others may read it; kInvalid where it is damaged.
  [[nodiscard]] Result<std::vector<SecretKey>> read() const;
  // In place of what is there, at once, and on the disk when it returns.
  [[nodiscard]] Result<void> write(const std::vector<SecretKey>& keys) const;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace glovebox
