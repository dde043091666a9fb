// SPDX-License-Identifier: Apache-2.0
#include "base/sys/installation.h"

#include <unistd.h>

#include <array>
#include <cstddef>

namespace glovebox::sys {

Result<std::vector<std::string>> installed_directories() {
  std::array<char, 4096> self{};
  const ssize_t size = ::readlink("/proc/self/exe", self.data(), self.size() - 1);
  if (size <= 0) {
    return Error::from_errno("read /proc/self/exe").with_hint("mount /proc");
  }
  const std::string program(self.data(), static_cast<std::size_t>(size));
  const std::string directory = program.substr(0, program.rfind('/'));
  const std::string above = directory.empty() ? "/" : directory.substr(0, directory.rfind('/') + 1);
  return std::vector<std::string>{directory, above + "libexec/glovebox", "/usr/libexec/glovebox"};
}

std::string run_installer(const std::string& directory) {
  const bool needs_root = ::geteuid() != 0 && ::access(directory.c_str(), W_OK) != 0;
  return "run " + directory + "/install" + (needs_root ? " as root" : "");
}

}  // namespace glovebox::sys
