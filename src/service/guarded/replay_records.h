// SPDX-License-Identifier: Apache-2.0
// What the journal keeps of a run so that `glovebox replay` can repeat it and compare.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "service/api/runs.h"

namespace glovebox {

// The body with which POST /v1/run asks for the same. Secrets are names in it, not values.
[[nodiscard]] nlohmann::ordered_json request_body(const RunRequest& request);

// Of a verdict, which is a JSON object: its output and its files. Of each stream the bytes and
// their SHA-256, and the text itself where that is short.
[[nodiscard]] nlohmann::ordered_json output_of(std::string_view verdict);

// The most that output_of() may take as JSON: two streams, and the names of files, of which JSON
// may make six bytes of one.
inline constexpr std::size_t kMostRecordedOutput = 320UL << 10;

}  // namespace glovebox
