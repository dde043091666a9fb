// SPDX-License-Identifier: Apache-2.0
// JSON from a peer that is not trusted: bounded before it is parsed, and read without exceptions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/json/json.h"
#include "base/result.h"

namespace glovebox::jupyter {

using Json = nlohmann::json;

// Values are written and compared by recursion, so depth is bounded. Notebooks and plots nest a
// dozen levels.
inline constexpr std::size_t kMaxJsonDepth = 100;

// Fails with kInvalid on text that is larger than `most` bytes, nested too deeply, or not JSON.
// Bytes that are not UTF-8 are replaced: kernels pass on what programs print.
Result<Json> parse_json(std::string_view text, std::size_t most);

// As parse_json, but anything other than an object is refused.
Result<Json> parse_json_object(std::string_view text, std::size_t most);

// Never fails: bytes that are not UTF-8 are replaced.
[[nodiscard]] std::string to_text(const Json& value);

// The member `key` of `object`, or the fallback if it is absent or of another type.
[[nodiscard]] std::string string_at(const Json& object,
                                    const char* key,
                                    std::string_view fallback = {});
[[nodiscard]] std::int64_t integer_at(const Json& object,
                                      const char* key,
                                      std::int64_t fallback = 0);
[[nodiscard]] bool flag_at(const Json& object, const char* key, bool fallback);

// The member `key` if it is an object, else an empty object.
[[nodiscard]] const Json& object_at(const Json& object, const char* key);

}  // namespace glovebox::jupyter
