// SPDX-License-Identifier: Apache-2.0
#include "sandbox/spec.h"

namespace glovebox {

Environment base_environment() {
  return {
      {"PATH", std::string(kDefaultPath)},
      {"HOME", std::string(kWorkspace)},
      {"USER", "guest"},
      {"LOGNAME", "guest"},
      {"SHELL", "/bin/bash"},
      {"TMPDIR", "/tmp"},
      // Caches are no result: out of the workspace, whose changes are reported.
      {"XDG_CACHE_HOME", "/tmp/.cache"},
      {"LANG", "C.UTF-8"},
  };
}

}  // namespace glovebox
