// SPDX-License-Identifier: Apache-2.0
// The program npm_local.js, which the build puts into ours.
#pragma once

#include <string_view>

namespace glovebox {

std::string_view npm_local_text();

}  // namespace glovebox
