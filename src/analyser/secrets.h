// SPDX-License-Identifier: Apache-2.0
// Passwords and keys that are written in a program.
#pragma once

#include <string_view>

namespace glovebox::analyser {

// Whether the text contains a key of a kind that can be recognized by its form.
bool has_token(std::string_view text);
// Whether a variable with this name would hold a secret: "db_password".
bool names_secret(std::string_view name);
// Whether a text could be a secret, and is not just an example of one.
bool may_be_secret(std::string_view text);

}  // namespace glovebox::analyser
