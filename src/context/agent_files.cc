// SPDX-License-Identifier: Apache-2.0
#include "context/agent_files.h"

#include <unistd.h>

#include <array>
#include <climits>
#include <cstdlib>
#include <vector>

#include "base/sys/installation.h"

namespace glovebox {
namespace {

Result<std::string> find_directory() {
  std::vector<std::string> candidates;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here changes the environment.
  if (const char* const named = std::getenv("GLOVEBOX_AGENTS"); named != nullptr) {
    candidates = {named};
  } else {
    for (const std::string& directory : GB_TRY(sys::installed_directories())) {
      candidates.push_back(directory + "/agents");
    }
  }
  for (const std::string& candidate : candidates) {
    std::array<char, PATH_MAX> resolved{};
    if (::access((candidate + "/python/agent.py").c_str(), R_OK) == 0 &&
        ::realpath(candidate.c_str(), resolved.data()) != nullptr) {
      return std::string(resolved.data());
    }
  }
  return Error(ErrorCode::kUnsupported, "the agents were not found in " + candidates.front(),
               "install them in /usr/libexec/glovebox/agents, or set GLOVEBOX_AGENTS to their "
               "directory");
}

}  // namespace

Result<std::string> agents_directory() {
  static const Result<std::string> kDirectory = find_directory();
  return kDirectory;
}

Result<Mount> agents_mount() {
  return Mount{.source = GB_TRY(agents_directory()), .target = kAgentsTarget};
}

}  // namespace glovebox
