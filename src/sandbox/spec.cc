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
      {"LANG", "C.UTF-8"},
  };
}

}  // namespace glovebox
