// SPDX-License-Identifier: Apache-2.0
// API keys: "e2b_" and 64 hexadecimal digits, which clients written for E2B accept as theirs.
//
// The digits are 32 bytes from the kernel. The first 8 bytes are the key's id, which is not secret:
// lists show it, and keys are found by it. The other 24 are secret. Only the SHA-256 of the whole
// key is kept: a slow hash protects what people choose, and nobody can try 2^192 keys.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace glovebox {

using ApiKeyHash = std::array<unsigned char, 32>;

std::string make_api_key();

// The id in it; nothing when the text does not have the form of a key.
std::optional<std::string_view> id_of_api_key(std::string_view key);

ApiKeyHash hash_of_api_key(std::string_view key);

// Takes the same time wherever they differ.
bool same_hash(const ApiKeyHash& left, const ApiKeyHash& right);

}  // namespace glovebox
