// SPDX-License-Identifier: Apache-2.0
// Bytes as hexadecimal digits, for headers and parameters that take no others.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace glovebox::e2b {

std::string to_hex(std::string_view bytes);
// Nothing for what to_hex() does not make: an odd number of digits, capitals.
std::optional<std::string> from_hex(std::string_view text);

}  // namespace glovebox::e2b
