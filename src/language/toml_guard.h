// SPDX-License-Identifier: Apache-2.0
// Stops texts that toml++ 3.3 must not see.
//
// That library is sound for what is nearly TOML, but in three places a hostile text makes it do
// what C++ does not define: a letter beyond ASCII where it expects none, a table header without a
// name, and dotted keys so deep that freeing them overflows the stack. The last two are found here
// first, by a scan that knows only strings and comments. The library never sees such a letter: in
// comments they are replaced, and elsewhere they are refused, since TOML can write each as
// "\\u00e9". Needed until Debian has toml++ 3.4.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace glovebox {

struct TomlFault {
  std::size_t line = 1;  // Both count from 1; columns are characters, not bytes.
  std::size_t column = 1;
  const char* what = "";
};

struct GuardedToml {
  std::optional<TomlFault> fault;
  std::string text;  // What the library may see; lines and columns are those of the original.
};

GuardedToml guard_toml(std::string_view text);

}  // namespace glovebox
