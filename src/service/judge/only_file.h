// SPDX-License-Identifier: Apache-2.0
// The archive of a compiler that made one file, which most do.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace glovebox::judge {

struct OnlyFile {
  std::string name;  // Without a slash, and neither "." nor "..".
  std::uint32_t mode = 0;
  std::string_view bytes;  // Of the archive.
};

// The one regular file of a tar archive as a sandbox packs it (pax(1)), or nothing if there is
// anything else in it. The archive may be hostile: what cannot be read here with certainty is left
// to the archiver, which unpacks it inside walls.
[[nodiscard]] std::optional<OnlyFile> only_file(std::string_view archive);

}  // namespace glovebox::judge
