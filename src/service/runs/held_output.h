// SPDX-License-Identifier: Apache-2.0
// HeldOutput: the files that a dry run would copy out, held back until somebody agrees.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "spec/dry_run.h"

namespace glovebox {

class HeldOutput {
 public:
  // A directory of ours alone, which the run gets in place of the real one.
  static Result<HeldOutput> make();
  HeldOutput(HeldOutput&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  HeldOutput& operator=(HeldOutput&&) = delete;
  ~HeldOutput();  // Removes it.

  [[nodiscard]] const std::string& path() const { return path_; }

  // What the files `names`, which the run has copied out, would change in `directory`. If that path
  // is empty or nothing is there yet, all are new. Equal files are left out.
  Result<DryRun> differences(const std::vector<std::string>& names,
                             const std::string& directory) const;

  // Copies them there, by the rules of copy_out(). kConflict if `directory` is not what it was when
  // `shown` was found.
  Result<void> commit(const std::vector<std::string>& names,
                      const std::string& directory,
                      const DryRun& shown) const;

 private:
  explicit HeldOutput(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

}  // namespace glovebox
