// SPDX-License-Identifier: Apache-2.0
// HostGit: the caller's own git on the caller's own repository, without starting other programs.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace glovebox::cli {

// No hooks, no file monitor, no pager, no editor and no questions, whatever the repository's
// configuration says. Variables that lead git to another repository are ignored.
class HostGit {
 public:
  explicit HostGit(std::string directory) : directory_(std::move(directory)) {}

  // What git prints, at most 256 MiB. kNotFound, in git's own words, if it fails; kRefused if it
  // distrusts the repository's owner; kUnsupported if there is no git.
  [[nodiscard]] Result<std::string> ask(const std::vector<std::string>& words,
                                        std::string_view input = {},
                                        const std::map<std::string, std::string>& env = {}) const;
  // Likewise, with its output to a descriptor.
  [[nodiscard]] Result<void> run(const std::vector<std::string>& words, int output) const;

 private:
  const std::string directory_;
};

}  // namespace glovebox::cli
