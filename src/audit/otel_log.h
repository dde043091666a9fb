// SPDX-License-Identifier: Apache-2.0
// A record as an OpenTelemetry log record, in OTLP's JSON, which the collector reads from files
// (otlpjsonfile).
#pragma once

#include <string>

#include "audit/record.h"

namespace glovebox::audit {

// One line of JSON, without its line break: a request with one log record. `line` is the record as
// the journal has it, which becomes the body, so that its hash can still be checked.
[[nodiscard]] std::string to_otel_log(const Record& record,
                                      std::string_view line,
                                      const std::string& version);

}  // namespace glovebox::audit
