// SPDX-License-Identifier: Apache-2.0
// Running one module to its end.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "sandbox/wasm/wasi.h"
#include "sandbox/wasm/wasmtime.h"

namespace glovebox::wasm {

// Makes an instance of the module and calls its _start. Returns the status to exit with; a module
// that exits by itself, or traps, ends this process: a trap is the signal that a program of the
// machine would have got for the same mistake, with the reason on standard error. `fuel` is for
// engines that count it. kInvalid for a module that is not a command, or whose imports are missing.
Result<int> run_module(const Wasmtime& api,
                       Engine* engine,
                       const Module* module,
                       Wasi& wasi,
                       std::optional<std::uint64_t> fuel);

}  // namespace glovebox::wasm
