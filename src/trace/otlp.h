// SPDX-License-Identifier: Apache-2.0
// Spans as OTLP/HTTP sends them: an ExportTraceServiceRequest in JSON (OTLP 1.x, "JSON Protobuf
// Encoding").
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/span.h"

namespace glovebox::trace {

// Describes the sender: "service.name" and the like.
using Resource = std::vector<std::pair<std::string, std::string>>;

// Replaces bytes of texts that are not UTF-8.
[[nodiscard]] std::string to_otlp_json(const Resource& resource,
                                       std::string_view version,
                                       const std::vector<SpanRecord>& spans);

}  // namespace glovebox::trace
