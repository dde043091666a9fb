// SPDX-License-Identifier: Apache-2.0
// Hashes as the journal's records carry them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/hex.h"

namespace glovebox::audit {

inline constexpr std::size_t kHashSize = 64;  // Hexadecimal digits.

[[nodiscard]] inline bool is_hash(std::string_view text) {
  return text.size() == kHashSize && is_hex(text);
}

// The hash in front of the first record.
[[nodiscard]] inline std::string no_hash() { return std::string(kHashSize, '0'); }

}  // namespace glovebox::audit
