// SPDX-License-Identifier: Apache-2.0
// Takes over changes: into the working files of a checkout, or as a commit.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/agent/changes.h"
#include "cli/agent/checkout.h"

namespace glovebox::cli {

// The content of a file, or where a link leads, as it is here now; kConflict if it is no longer
// what was copied.
Result<std::string> content_here(int directory_fd,
                                 const std::string& path,
                                 const CheckoutFile& before);

// The changes that cannot be made, because somebody changed these files here meanwhile.
std::vector<LeftBehind> find_conflicts(int directory_fd,
                                       const CheckoutFiles& before,
                                       const std::vector<Change>& changes);

// Makes the changes, one after the other: each file is replaced as a whole, and only if it still is
// what was copied. Follows no link, touches nothing outside of the directory. kConflict, before
// anything changes, if find_conflicts() finds any; a later error says which changes were made.
Result<void> apply_changes(int directory_fd,
                           const CheckoutFiles& before,
                           const std::vector<Change>& changes);

// Commits the changes on top of checkout.commit() to a new branch, with the caller's git, which
// neither touches working files nor runs hooks or filters. Returns the commit. kConflict if the
// branch exists, kInvalid if its name cannot be one.
Result<std::string> commit_changes(const Checkout& checkout,
                                   const std::vector<Change>& changes,
                                   const std::string& branch,
                                   const std::string& message);

}  // namespace glovebox::cli
