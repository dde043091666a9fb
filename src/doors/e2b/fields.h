// SPDX-License-Identifier: Apache-2.0
// JSON that a client sent, read without trust: bounded nesting, and each member's type is checked.
//
// A null member counts as absent. One of the wrong type is kInvalid, and the error names it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json/json.h"
#include "base/result.h"
#include "doors/transport/http.h"

namespace glovebox::e2b {

using Json = nlohmann::json;

// An object; kInvalid for anything else, and for more than `nesting` levels. Empty text is the
// empty object.
Result<Json> parse_object(std::string_view text, int nesting = 32);

// The body of a request as an object. kExhausted when it has more than `most` bytes.
Result<Json> read_object(http::Request& request, std::size_t most);

// The member `name`, which is in lowerCamelCase, or the same in snake_case: both are valid JSON
// forms of a protobuf message. Null when it is not there.
const Json* member(const Json& object, std::string_view name);

// The same for callers that treat anything else as absent: empty if it is missing or not a string.
std::string text_of(const Json& object, std::string_view name);

Result<std::optional<std::string>> text_member(const Json& object, std::string_view name);
Result<std::optional<bool>> flag_member(const Json& object, std::string_view name);
// Whole numbers, also in a string, as protobuf writes 64 bits.
Result<std::optional<std::int64_t>> number_member(const Json& object, std::string_view name);
// Returns an empty object when it is not there.
Result<Json> object_member(const Json& object, std::string_view name);
Result<std::vector<std::string>> texts_member(const Json& object, std::string_view name);
Result<std::map<std::string, std::string>> text_map_member(const Json& object,
                                                           std::string_view name);

// kInvalid, with what the client did wrong.
Error invalid(std::string message, std::string hint = {});

// One line of JSON. Whatever the text holds, this does not throw. With `ascii`, every non-ASCII
// character is escaped.
std::string to_line(const Json& json, bool ascii = false);

}  // namespace glovebox::e2b
