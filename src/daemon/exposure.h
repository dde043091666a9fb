// SPDX-License-Identifier: Apache-2.0
// What is unsafe about the way in which the daemon was told to listen.
#pragma once

#include <string>
#include <vector>

#include "doors/transport/http.h"

namespace glovebox {

// One line each, with what to do about it; none when all is well.
std::vector<std::string> exposure_warnings(const http::ServerOptions& options);

}  // namespace glovebox
