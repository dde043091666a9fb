// SPDX-License-Identifier: Apache-2.0
// Verdicts and events as JSON: the public form that every door speaks.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "spec/verdict.h"

namespace glovebox {

// One line without a line break. Always valid UTF-8: bytes of the guest that are not UTF-8 become
// U+FFFD, and `stdout_base64` or `stderr_base64` carries the original. MIME values and metadata go
// in as they are (spec/event.h).
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
// For a verdict of any kind, such as a judge's, whose text is a JSON object with members.
std::string verdict_event(std::string verdict);

// {"warden_us":2400,…}, in the order of the steps.
std::string timings_text(const std::vector<Timing>& timings);

// Whether an event of ours carries a verdict. Looks only at its end.
bool is_verdict_event(std::string_view event);
// The verdict that it carries, the bytes that verdict_event() was given; nothing for other events.
std::optional<std::string> verdict_in(std::string_view event);

}  // namespace glovebox
