// SPDX-License-Identifier: Apache-2.0
// Pages of a list: how much of it a request asks for.
#pragma once

#include <cstddef>

#include "base/result.h"
#include "doors/e2b/url.h"

namespace glovebox::e2b {

inline constexpr std::size_t kMaxPage = 100;

// The parameter `limit`; kMaxPage if it is absent, kInvalid if it is not from 1 to kMaxPage.
Result<std::size_t> page_size(const Target& target);

}  // namespace glovebox::e2b
