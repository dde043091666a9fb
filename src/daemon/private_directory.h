// SPDX-License-Identifier: Apache-2.0
// PrivateDirectory: a data directory for as long as one process lives.
#pragma once

#include <string>
#include <utility>

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox {

class PrivateDirectory {
 public:
  // Makes a new one in $TMPDIR or /tmp, for this user alone. Removes those that killed processes
  // left behind.
  static Result<PrivateDirectory> make();
  PrivateDirectory(PrivateDirectory&& other) noexcept
      : path_(std::exchange(other.path_, {})), lock_(std::move(other.lock_)) {}
  PrivateDirectory& operator=(PrivateDirectory&&) = delete;
  ~PrivateDirectory();  // Removes it, with everything in it.

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  explicit PrivateDirectory(std::string path) : path_(std::move(path)) {}

  std::string path_;
  UniqueFd lock_;  // While it is held, nobody else removes the directory.
};

}  // namespace glovebox
