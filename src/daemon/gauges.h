// SPDX-License-Identifier: Apache-2.0
// The daemon's state at the moment, as metrics in Prometheus' text format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "service/local/local_service.h"

namespace glovebox {

struct GaugeSources {
  LocalService& service;  // Asked about all tenants, so not a guarded one.
  std::string directory;  // Of the data.
  std::size_t most_descriptors = 0;
};

// Reads the metrics, which takes milliseconds with thousands of sandboxes. `keepers` is how many
// keepers this daemon has started. Only a caller with the scope admin sees other tenants' names and
// figures. The number of time series is bounded. From any thread.
std::string gauges_text(const GaugeSources& sources, std::uint64_t keepers, const Caller& caller);

}  // namespace glovebox
