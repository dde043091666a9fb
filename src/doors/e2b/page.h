// SPDX-License-Identifier: Apache-2.0
// Pages of a list: how much of it a request asks for.
#pragma once

#include <cstddef>

#include "base/result.h"
#include "doors/e2b/url.h"

namespace glovebox::e2b {

inline constexpr std::size_t kMaxPage = 100;

// The parameter `limit`, kMaxPage when it is absent; kInvalid for what is not from 1 to that.
Result<std::size_t> page_size(const Target& target);

}  // namespace glovebox::e2b
