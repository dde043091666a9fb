// SPDX-License-Identifier: Apache-2.0
// What the journal keeps of runs and cells so that `glovebox replay` can repeat them and compare.
#pragma once

#include <string_view>

#include "base/json/json.h"
#include "service/api/contexts.h"
#include "service/api/runs.h"
#include "service/api/sandboxes.h"

namespace glovebox {

// The body with which POST /v1/run asks for the same. Secrets are names in it, not values.
[[nodiscard]] nlohmann::ordered_json request_body(const RunRequest& request);

// The bodies for POST /v1/sandboxes, .../contexts and .../execute, except for what a second sandbox
// must not share or cannot have: metadata, lifetime, and of tools all but their names.
[[nodiscard]] nlohmann::ordered_json request_body(const SandboxRequest& request);
[[nodiscard]] nlohmann::ordered_json request_body(const ContextRequest& request);
[[nodiscard]] nlohmann::ordered_json request_body(const ExecuteRequest& request);

// The output, results and files of a verdict, which is a JSON object. For each stream, and for the
// results as JSON: the number of bytes, their SHA-256, and the text itself if it is short.
[[nodiscard]] nlohmann::ordered_json output_of(std::string_view verdict);

// The most that output_of() may take as JSON: two streams, results, and the names of files, of
// which JSON may make six bytes of one.
inline constexpr std::size_t kMostRecordedOutput = 512UL << 10;

}  // namespace glovebox
