// SPDX-License-Identifier: Apache-2.0
// LocalPackages: the directories of package files, and the indexes on sockets, from which the
// operator of a daemon lets every sandbox install. All sandboxes see them, read-only; what is
// installed stays in the workspace of the sandbox that installed it.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "service/keeper/keeper.h"
#include "service/packages/packages.h"

namespace glovebox {

// Does not change, so it is safe to use from any thread.
class LocalPackages {
 public:
  // Offers nothing.
  LocalPackages() = default;
  // Fails with kInvalid if one is not a directory, or a guest could not read it.
  static Result<LocalPackages> open(const std::vector<std::string>& sources,
                                    const std::vector<PackageIndex>& indexes);

  // Adds mounts, settings and indexes for a sandbox that is about to be made. A directory that is
  // gone by then does not keep the sandbox from being made.
  void add_to(keeper::CreateOrder& order) const;

  // What a shell in such a sandbox runs to install what `names` say ("pip:NAME", "npm:NAME", as
  // parse_packages() takes them). kUnsupported if nothing is offered that the manager of one of
  // them could install from.
  [[nodiscard]] Result<std::string> script(const std::vector<std::string>& names) const;

 private:
  [[nodiscard]] bool offers(PackageManager manager) const;

  Packages offered_;
  std::vector<PackageIndex> indexes_;
  bool has_directories_ = false;
};

}  // namespace glovebox
