// SPDX-License-Identifier: Apache-2.0
// What clients are told about a sandbox or a context that has ended: 410 with the reason.
#pragma once

#include <optional>

#include "doors/rest/call.h"

namespace glovebox::rest {

// The body of a 410, if that is why a call about a sandbox failed with `error`; else nothing.
std::optional<Json> describe_gone(const Call& call, const Error& error);

}  // namespace glovebox::rest
