// SPDX-License-Identifier: Apache-2.0
// What a waiting runner is told to do. It comes over the runner's standard input, before what the
// module reads there.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace glovebox::wasm {

// The option that makes a runner wait.
inline constexpr const char* kWaitOption = "--wait";

struct Beginning {
  static constexpr std::size_t kMostItems = 1 << 16;
  static constexpr std::size_t kMostBytes = 64 << 20;

  bool compiles = false;                   // Compiles and writes the result; runs nothing.
  std::vector<std::string> arguments{};    // The module, or an interpreter, is the first of them.
  std::vector<std::string> environment{};  // "NAME=value".
  // What a runner like this one has written of the same module; or nothing. Not owned.
  std::string_view compiled{};

  // With its size (u32, as in base/wire.h) in front.
  [[nodiscard]] std::string encode() const;
  // Without it. kInvalid for what encode() does not make. `compiled` is a part of `bytes`.
  static Result<Beginning> decode(std::string_view bytes);
};

}  // namespace glovebox::wasm
