// SPDX-License-Identifier: Apache-2.0
// Mount: a part of the host, or of a template, shown in a sandbox.
#pragma once

#include <string>

namespace glovebox {

struct Mount {
  std::string source;  // Absolute path outside.
  std::string target;  // Absolute path inside.
  // A missing source leaves the mount out instead of failing the sandbox.
  bool optional = false;
  // The guest may not be able to reach the source by its path, because a directory above it is
  // closed to others.
  bool closed = false;
  friend bool operator==(const Mount&, const Mount&) = default;
};

}  // namespace glovebox
