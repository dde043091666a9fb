// SPDX-License-Identifier: Apache-2.0
// A moment as text, for logs and answers.
#pragma once

#include <chrono>
#include <string>

namespace glovebox {

// RFC 3339, UTC, with milliseconds: "2026-11-23T12:00:00.250Z". Rounds down.
[[nodiscard]] std::string to_rfc3339(std::chrono::system_clock::time_point time);

// The moment that such a text names; 1970 for any other text.
[[nodiscard]] std::chrono::system_clock::time_point from_rfc3339(const std::string& text);

}  // namespace glovebox
