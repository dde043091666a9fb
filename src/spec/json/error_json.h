// SPDX-License-Identifier: Apache-2.0
// Errors as JSON and as a status of HTTP: the public form that every door speaks.
#pragma once

#include <string>

#include "base/error.h"

namespace glovebox {

// RFC 9110. What a guest did is never one of these.
int http_status(ErrorCode code);

// One line without a line break: {"code","error","message","hint"}. Always valid UTF-8.
std::string to_json(const Error& error);

}  // namespace glovebox
