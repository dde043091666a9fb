// SPDX-License-Identifier: Apache-2.0
// Small parts of HTTP's syntax for those who write it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace glovebox::http {

// "Not Found"; for an unknown status, a phrase that says no more than its number.
std::string_view reason_phrase(int status);

// Ignores case, as the names of headers are compared.
bool equal_names(std::string_view left, std::string_view right);

// The line before a chunk (RFC 9112, 7.1).
std::string chunk_size(std::size_t size);

}  // namespace glovebox::http
