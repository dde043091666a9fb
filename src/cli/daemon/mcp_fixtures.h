// SPDX-License-Identifier: Apache-2.0
// glovebox mcp --conformance-fixtures: the protocol over HTTP with the conformance suite's
// fixtures.
#pragma once

#include <string>

#include "base/result.h"

namespace glovebox::cli {

// Serves on HOST:PORT, which must be of this machine, until `stop_fd` is readable. Clients need no
// key: there is nothing behind it.
Result<void> serve_mcp_fixtures(const std::string& listen, int stop_fd);

}  // namespace glovebox::cli
