// SPDX-License-Identifier: Apache-2.0
// Taking over changes: into the working files of a checkout, or as a commit of its own.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/agent/changes.h"
#include "cli/agent/checkout.h"

namespace glovebox::cli {

// The content of a file, or where a link leads, as it is here now; kConflict where it is no longer
// what was copied.
Result<std::string> content_here(int directory_fd,
                                 const std::string& path,
                                 const CheckoutFile& before);

// The changes that cannot be made, because somebody changed these files here meanwhile.
std::vector<LeftBehind> find_conflicts(int directory_fd,
                                       const CheckoutFiles& before,
                                       const std::vector<Change>& changes);

// Makes them, one after the other: each file is replaced as a whole, and only if it still is what
// was copied. No link is followed, nothing outside of the directory is touched. kConflict before
// anything was changed where find_conflicts() finds any; an error later says what was made.
Result<void> apply_changes(int directory_fd,
                           const CheckoutFiles& before,
                           const std::vector<Change>& changes);

// Commits them on top of checkout.commit() to a new branch, with the caller's git, which neither
// touches working files nor runs hooks or filters. Returns the commit. kConflict where the branch
// exists, kInvalid for what is not a name of a branch.
Result<std::string> commit_changes(const Checkout& checkout,
                                   const std::vector<Change>& changes,
                                   const std::string& branch,
                                   const std::string& message);

}  // namespace glovebox::cli
