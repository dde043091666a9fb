// SPDX-License-Identifier: Apache-2.0
// The files beside the runner: libwasmtime, and interpreters that were compiled at installation.
// Also how the runner says what is wrong.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "sandbox/wasm/engine.h"
#include "sandbox/wasm/wasmtime.h"

namespace glovebox::wasm {

inline constexpr std::string_view kPython = "python3";
inline constexpr const char* kLibrary = "/libwasmtime.so";

// A shell's exit code for what cannot be executed.
inline constexpr int kCannotRun = 126;

// Writes a line to standard error.
void say(std::string_view text);
// The same for an error. Returns kCannotRun.
int complain(const Error& error);

// The directory of this program, where the library and the interpreters are.
Result<std::string> own_directory();
Result<std::string> read_file(const char* path);

// The file of an interpreter, by its program's name.
std::string precompiled(const std::string& directory, std::string_view interpreter, Mode mode);
// A file that was compiled at installation is trusted like this program.
Result<Module*> load_precompiled(const Wasmtime& api, Engine* engine, const std::string& path);

}  // namespace glovebox::wasm
