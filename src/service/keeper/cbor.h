// SPDX-License-Identifier: Apache-2.0
// JSON values as CBOR (RFC 8949): how requests, answers and most events of the keeper are written.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace glovebox::keeper {

// What an arriving value may hold. The parser recurses, and a value of one byte becomes 16.
inline constexpr std::size_t kMostNested = 32;
inline constexpr std::size_t kMostValues = 1 << 20;

// Strings may hold any bytes.
std::string pack(const nlohmann::json& value);

// null if the bytes are not CBOR, or exceed kMostNested or kMostValues. Takes any bytes: the daemon
// that sends them may have been taken over.
nlohmann::json unpack(std::string_view bytes);

}  // namespace glovebox::keeper
