// SPDX-License-Identifier: Apache-2.0
// What a runner that waits is told: it has compiled its module, and runs it with these arguments
// and this environment. They come over its standard input, before what the module reads there.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace glovebox::wasm {

// The option that makes a runner wait.
inline constexpr const char* kWaitOption = "--wait";
// What it writes to its standard output once it waits, and before anything else.
inline constexpr std::string_view kWaits = "w";

struct Beginning {
  static constexpr std::size_t kMostItems = 1 << 16;
  static constexpr std::size_t kMostBytes = 1 << 20;

  std::vector<std::string> arguments{};
  std::vector<std::string> environment{};  // "NAME=value".

  // With its size (u32, as in base/wire.h) in front.
  [[nodiscard]] std::string encode() const;
  // Without it. kInvalid for what encode() does not make.
  static Result<Beginning> decode(std::string_view bytes);
};

}  // namespace glovebox::wasm
