// SPDX-License-Identifier: Apache-2.0
// Stops texts that toml++ 3.3 must not see.
//
// That library is sound for what is nearly TOML, but in three places a hostile text makes it do
// what C++ does not define: a letter beyond ASCII where a key or a blank belongs, a table header
// without a name, and dotted keys so deep that freeing them overflows the stack. None of them can
// be in a valid file, so they are found here first, by a scan that knows only strings and comments.
// Until Debian has toml++ 3.4.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace glovebox {

struct TomlFault {
  std::size_t line = 1;  // Both count from 1; columns are characters, not bytes.
  std::size_t column = 1;
  const char* what = "";
};

std::optional<TomlFault> toml_fault(std::string_view text);

}  // namespace glovebox
