// SPDX-License-Identifier: Apache-2.0
// Names of users and groups, as the sandbox's own /etc has them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>

namespace glovebox::files {

// Reads /etc/passwd and /etc/group once. libc's own way would load modules that a static program
// does not have.
class Owners {
 public:
  Owners();

  // The name, or the number if there is none.
  [[nodiscard]] std::string user(uid_t id) const;
  [[nodiscard]] std::string group(gid_t id) const;

 private:
  using Names = std::map<std::uint32_t, std::string>;
  static Names read(const char* path);
  static std::string name_of(const Names& names, std::uint32_t id);

  Names users_;
  Names groups_;
};

}  // namespace glovebox::files
