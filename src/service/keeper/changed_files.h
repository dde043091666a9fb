// SPDX-License-Identifier: Apache-2.0
// ChangedFiles: which files of a living sandbox have changed, told once each.
#pragma once

#include <mutex>

#include "base/result.h"
#include "sandbox/sandbox.h"
#include "spec/verdict.h"

namespace glovebox::keeper {

// Of all contexts of one sandbox, which it does not outlive. What several executions change at the
// same time, or others beside them, is told with the first that ends. Safe to use from several
// threads.
class ChangedFiles {
 public:
  explicit ChangedFiles(Sandbox& sandbox) : sandbox_(sandbox) {}

  // To be called before an execution: what is there at the first is no change.
  Result<void> begin();
  // To be called after it: adds what has changed since the last call; where that cannot be told,
  // that it is not all.
  void add_to(Verdict& verdict);

 private:
  Sandbox& sandbox_;
  std::mutex mutex_;  // Held while the warden looks.
  bool marked_ = false;
};

}  // namespace glovebox::keeper
