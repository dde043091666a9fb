// SPDX-License-Identifier: Apache-2.0
// E2B's users, and the paths that start from their homes. Both users are the guest here.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "doors/transport/http.h"

namespace glovebox::e2b {

// The user that a call names: with Basic authentication, without a password. "user" when none is.
// kRefused for a name that nobody has.
Result<std::string> user_of_call(const http::Request& request);
// The same for a name that came as a parameter.
Result<std::string> checked_user(std::string_view name);

// The absolute path that a client means: "" and "~" are the home, relative paths start there.
// kInvalid for other homes and for what can be no path.
Result<std::string> resolve_path(std::string_view path);

}  // namespace glovebox::e2b
