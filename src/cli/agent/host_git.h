// SPDX-License-Identifier: Apache-2.0
// HostGit: the caller's own git on the caller's own repository, where it may start nothing.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace glovebox::cli {

// No hooks, no monitor of files, no pager, no editor and no questions, whatever the configuration
// of the repository says. Variables that lead git to another repository do not count.
class HostGit {
 public:
  explicit HostGit(std::string directory) : directory_(std::move(directory)) {}

  // What it prints, at most 256 MiB. kNotFound where it fails, with its own words; kUnsupported
  // where there is no git.
  [[nodiscard]] Result<std::string> ask(const std::vector<std::string>& words,
                                        std::string_view input = {},
                                        const std::map<std::string, std::string>& env = {}) const;
  // Its output goes to a descriptor.
  [[nodiscard]] Result<void> run(const std::vector<std::string>& words, int output) const;

 private:
  const std::string directory_;
};

}  // namespace glovebox::cli
