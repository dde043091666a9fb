// SPDX-License-Identifier: Apache-2.0
// PackageSource: a directory of the host that holds packages as files: wheels and source archives
// for pip, the archives of `npm pack` for npm.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "service/packages/package_request.h"

namespace glovebox {

struct PackageFile {
  std::string name;
  std::uint64_t size = 0;
  std::string hash;
  friend auto operator<=>(const PackageFile&, const PackageFile&) = default;
};

class PackageSource {
 public:
  // Fails with kInvalid if `path` is not a directory, or is one that a sandbox could not read.
  static Result<PackageSource> open(const std::string& path);

  // Without links: what is mounted is what was checked.
  [[nodiscard]] const std::string& path() const { return path_; }

  // The files directly in it that `manager` can install, in order, with their content's hash.
  // Hashes are remembered in `memory`, a directory of ours, for as long as a file stays the same.
  [[nodiscard]] Result<std::vector<PackageFile>> files(PackageManager manager,
                                                       const std::string& memory) const;

 private:
  explicit PackageSource(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace glovebox
