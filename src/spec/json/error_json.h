// SPDX-License-Identifier: Apache-2.0
// Errors as JSON and as a status of HTTP: the public form that every door speaks.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace glovebox {

// "not_found". Clients compare them and journals keep them: they never change.
std::string_view name_of(ErrorCode code);

// RFC 9110. What a guest did is never one of these.
int http_status(ErrorCode code);

// One line without a line break: {"schema","code","error","message","hint"}. Always valid UTF-8.
std::string to_json(const Error& error);

// The last event of a run that we could not carry out: the same with "type":"failed".
std::string failed_event(const Error& error);

}  // namespace glovebox
