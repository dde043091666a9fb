// SPDX-License-Identifier: Apache-2.0
#include "cli/daemon/data_directory.h"

#include <unistd.h>

#include <cstdlib>

namespace glovebox::cli {

std::string default_data_directory() {
  if (::geteuid() == 0) {
    return "/var/lib/glovebox";
  }
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here changes the environment.
  const char* const home = std::getenv("HOME");
  return std::string(home != nullptr ? home : "/tmp") + "/.glovebox";
}

std::string daemon_socket(const std::string& data_directory) {
  // No longer than "keeper.sock" beside it: a path with room for that one has room for this.
  return data_directory + "/api.sock";
}

}  // namespace glovebox::cli
