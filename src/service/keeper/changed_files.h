// SPDX-License-Identifier: Apache-2.0
// ChangedFiles: which files of a living sandbox have changed, told once each.
#pragma once

#include <mutex>

#include "base/result.h"
#include "sandbox/sandbox.h"
#include "spec/verdict.h"

namespace glovebox::keeper {

// For all contexts of one sandbox, which must outlive it. What several executions, or others beside
// them, change at the same time is reported with the first that ends. Safe to use from several
// threads.
class ChangedFiles {
 public:
  explicit ChangedFiles(Sandbox& sandbox) : sandbox_(sandbox) {}

  // Call it before an execution: what is there at the first call is not a change.
  Result<void> begin();
  // Call it after an execution: adds what has changed since the last call, and says so if that is
  // not all.
  void add_to(Verdict& verdict);

 private:
  Sandbox& sandbox_;
  std::mutex mutex_;  // Held while the warden looks.
  bool marked_ = false;
};

}  // namespace glovebox::keeper
