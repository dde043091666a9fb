// SPDX-License-Identifier: Apache-2.0
// What a layer consists of, so that an incomplete or changed one is not mistaken for it.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace glovebox {

struct LayerSeal {
  std::string hash;  // Over every name with its kind, mode, size and time.
  std::uint64_t bytes = 0;
  friend bool operator==(const LayerSeal&, const LayerSeal&) = default;

  [[nodiscard]] std::string encode() const;
  static Result<LayerSeal> decode(const std::string& text);
};

// Looks at every name below `directory` without reading a file. Fails with kInvalid if something is
// neither file nor directory, or is not ours.
Result<LayerSeal> seal_of(const std::string& directory);

// Takes the right to write away from everybody, for the directory and everything below it.
Result<void> make_read_only(const std::string& directory);

}  // namespace glovebox
