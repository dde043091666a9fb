// SPDX-License-Identifier: Apache-2.0
// Verdicts and events as JSON: the public form that every door speaks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "spec/verdict.h"

namespace glovebox {

// One line without a line break. Always valid UTF-8: bytes of the guest that are none become
// U+FFFD, and `stdout_base64` or `stderr_base64` carries the truth.
std::string to_json(const Verdict& verdict);
std::string to_json(const Walls& walls);
// A list of objects.
std::string to_json(const std::vector<ConnectionRecord>& connections);

// Events, one JSON object each.
std::string started_event(std::string_view id, std::string_view phase);
std::string output_event(std::string_view stream, std::string_view bytes);
std::string result_event(const Event& event);  // kDisplay and kResult.
std::string error_event(const GuestError& error);
std::string connection_event(const ConnectionRecord& connection);
std::string verdict_event(const Verdict& verdict);

}  // namespace glovebox
