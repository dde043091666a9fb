// SPDX-License-Identifier: Apache-2.0
// SHA-256 as the journal's records carry it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace glovebox::audit {

inline constexpr std::size_t kHashSize = 64;  // Hexadecimal digits.

// 64 hexadecimal digits. Safe to use from any thread.
[[nodiscard]] std::string sha256(std::string_view bytes);

// Two digits a byte, in lower case.
[[nodiscard]] std::string to_hex(std::string_view bytes);
// Empty for what is no such text.
[[nodiscard]] std::string from_hex(std::string_view text);

[[nodiscard]] bool is_hash(std::string_view text);

// The hash in front of the first record.
[[nodiscard]] inline std::string no_hash() { return std::string(kHashSize, '0'); }

}  // namespace glovebox::audit
