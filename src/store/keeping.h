// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace glovebox {

// How long the written data is needed.
enum class Keeping : std::uint8_t {
  kLasting,   // As long as its file is there.
  kUntilEnd,  // Until this program ends, however it ends: no flush is worth its time.
};

}  // namespace glovebox
