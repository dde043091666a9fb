// SPDX-License-Identifier: Apache-2.0
// .dockerignore: which files of a directory are not part of a build.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace glovebox::dockerfile {

class IgnoreRules {
 public:
  // One pattern per line: "*", "?" and "[…]" within a name, "**" for any number of directories, "!"
  // before what is kept after all, and "#" before comments. kInvalid for more than 1,000 patterns
  // and for absurdly long ones.
  static Result<IgnoreRules> parse(std::string_view text);

  // `path` is relative, without "." and "..". The last pattern that matches it, or a directory
  // above it, decides.
  [[nodiscard]] bool ignores(std::string_view path) const;

  // Whether something below an ignored directory may be kept.
  [[nodiscard]] bool has_exceptions() const;

 private:
  struct Rule {
    std::vector<std::string> names;
    bool keeps = false;
  };
  std::vector<Rule> rules_;
};

}  // namespace glovebox::dockerfile
