// SPDX-License-Identifier: Apache-2.0
// Where the daemon's traces go: a collector that takes OTLP over HTTP.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/log.h"
#include "base/result.h"
#include "doors/transport/connect.h"
#include "doors/transport/http.h"
#include "trace/otlp.h"
#include "trace/tracer.h"

namespace glovebox {

struct TraceOptions {
  http::ServerAddress server{};
  std::string target{};       // Path on the collector; empty: no traces.
  http::Headers headers{};    // Of each request, such as a token.
  std::string authorities{};  // PEM file of the authorities to trust, for TLS; empty: the system's.
  trace::Resource resource{};
  double ratio = 1;  // The share of the traces begun here that are recorded.
};

// Reads the environment (OpenTelemetry's specification, "Environment Variables"); the command line
// takes precedence. `endpoint` is the collector's address without "/v1/traces"; empty: that of the
// environment. kInvalid for what cannot be read, and for protocols other than HTTP.
Result<TraceOptions> read_trace_options(
    const std::string& endpoint,
    const std::string& ratio,
    const std::function<std::string(const char* name)>& environment);

// Logs when the collector goes away, and when it is back. The log outlives the tracer. Null if no
// collector is named.
std::unique_ptr<trace::Tracer> start_tracer(TraceOptions options, Log& log);

// The counts as metrics, in Prometheus' text format.
std::string trace_counters_text(const trace::Tracer::Counts& counts);

}  // namespace glovebox
