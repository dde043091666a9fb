// SPDX-License-Identifier: Apache-2.0
// How modules are compiled: the same way beforehand and in the sandbox, or the one could not be
// loaded in place of the other.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "sandbox/wasm/wasmtime.h"

namespace glovebox::wasm {

enum class Mode {
  kPlain,
  kDeterministic,  // The same input gives the same output, and the work is counted as fuel.
};

// Lives as long as the process.
Engine* make_engine(const Wasmtime& api, Mode mode);

// A module in the binary or the text format, compiled with the engine. kInvalid says what is wrong
// with it.
Result<Module*> compile(const Wasmtime& api, Engine* engine, const std::string& bytes);

// The form of a module that can be loaded in place of compiling it again: by this version,
// configured the same way, on this processor.
Result<std::string> serialize(const Wasmtime& api, const Module* module);
// kInvalid for what another version or processor has compiled. Nothing else is checked: it is
// machine code, and its writer is trusted as if it could write this process's memory.
Result<Module*> deserialize(const Wasmtime& api, Engine* engine, std::string_view bytes);

}  // namespace glovebox::wasm
