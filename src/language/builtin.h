// SPDX-License-Identifier: Apache-2.0
// The languages that are built into the program. The build makes the table from languages/*.toml
// (language/embed.cc); everything in it is constant data, so that it costs nothing at startup.
#pragma once

#include <span>
#include <string_view>

namespace glovebox {

struct BuiltinLanguage {
  std::string_view id;
  std::string_view file;  // "languages/c.toml"
  std::span<const std::string_view> names;
  std::span<const std::string_view> extensions;
  std::span<const std::string_view> interpreters;
  std::string_view text;  // The TOML.
};

// Sorted by id.
std::span<const BuiltinLanguage> builtin_languages();

}  // namespace glovebox
