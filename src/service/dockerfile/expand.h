// SPDX-License-Identifier: Apache-2.0
// Variables and quotes in the words of a Dockerfile.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace glovebox::dockerfile {

// The value of a variable; nothing if it is not set.
using Lookup = std::function<std::optional<std::string>(std::string_view name)>;

enum class Quotes { kRemoved, kKept };

// Replaces $NAME, ${NAME}, ${NAME:-WORD} and ${NAME:+WORD}; what is not set becomes nothing. A
// backslash takes the next character as it is, and nothing is replaced in single quotes; with
// Quotes::kKept, quotes are ordinary characters. kInvalid for a malformed word, and for a result
// of more than 64 KiB.
Result<std::string> expand(std::string_view word, const Lookup& lookup, Quotes quotes);

}  // namespace glovebox::dockerfile
