// SPDX-License-Identifier: Apache-2.0
// What a language file may say: the rules for single values, apart from TOML. Each returns what is
// wrong, as the end of a sentence ("'x y' is not a name"), or null.
#pragma once

#include <cstddef>
#include <string_view>

namespace glovebox {

// Bytes of a name, an extension, an interpreter.
inline constexpr std::size_t kMaxName = 32;
// Bytes of a file name, a package, a title.
inline constexpr std::size_t kMaxFileName = 64;

// No control characters. Bytes of UTF-8 are printable.
bool is_printable(std::string_view text);

const char* id_fault(std::string_view text);
const char* name_fault(std::string_view text);
const char* extension_fault(std::string_view text);
const char* interpreter_fault(std::string_view text);
const char* file_name_fault(std::string_view text);
const char* package_fault(std::string_view text);
const char* variable_fault(std::string_view text);

// The sandbox always shows /usr; a language may add its own settings and tools, never the host's
// secrets or anyone's home.
const char* mount_fault(std::string_view path);

// The first "{word}" in `text` that is not a placeholder; empty if there is none. "${word}" is the
// shell's.
std::string_view unknown_placeholder(std::string_view text);

}  // namespace glovebox
