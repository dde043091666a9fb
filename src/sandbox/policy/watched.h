// SPDX-License-Identifier: Apache-2.0
// Filters that ask their listener about some calls, in place of an answer of their own
// (sandbox/call_watch.h).
#pragma once

#include <optional>
#include <string_view>

#include "sandbox/policy/policy.h"

namespace glovebox::policy {

// A call that these filters ask about.
struct WatchedCall {
  std::string_view name;
  int error = 0;  // The errno it is refused with; zero if it starts a program: then it continues.
};
// Nothing for any other call.
std::optional<WatchedCall> watched_call(int number);

// The filters of the same names, except that they ask. They must be installed with a listener:
// without one the kernel answers ENOSYS, also to calls that start programs.
Filter watched_default_filter();
Filter watched_root_filter();
Filter watched_nested_filter();
Filter watched_zygote_filter();

// For the fork of a watched zygote: leaves watched calls to the zygote's filter, and must not be
// used without that filter.
Filter watched_fork_filter();

}  // namespace glovebox::policy
