// SPDX-License-Identifier: Apache-2.0
#include "service/keeper/changed_files.h"

#include <utility>

namespace glovebox::keeper {

Result<void> ChangedFiles::begin() {
  const std::scoped_lock lock(mutex_);
  if (!marked_) {
    GB_TRY(sandbox_.mark());
    marked_ = true;
  }
  return {};
}

void ChangedFiles::add_to(Verdict& verdict) {
  const std::scoped_lock lock(mutex_);
  auto changes = sandbox_.changed_files();
  // If this fails, the next execution begins with a new mark.
  marked_ = changes && sandbox_.mark();
  if (changes) {
    verdict.files = std::move(changes->files);
  }
  verdict.files_truncated = !changes || changes->truncated;
}

}  // namespace glovebox::keeper
